"""How members are, told in their Clusters: probed, read and counted, one by one, for ever.

A site of the plane and one of a member are all it needs, so that an agent inside of a member does
the same as the plane does from outside. What is found becomes a status in `decide`. What
is seen of nodes and pods is kept for others to look at for as long as it is followed.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from atoll.client.api import Refused
from atoll.client.transport import Unreachable
from atoll.config import Times
from atoll.control.cluster_status.decide import SeenStatus, plan
from atoll.control.performing import LookAgain, Performer
from atoll.control.site import Site
from atoll.dialects.karmada.cluster_status.enablements import Discovered
from atoll.dialects.karmada.cluster_status.readiness import Health, Streak, seen_now
from atoll.dialects.karmada.objects import kinds
from atoll.effects import Effects, stopwatch
from atoll.members.following import Observation
from atoll.members.probing import Discovery, health, version
from atoll.runtime.children import Children

log = logging.getLogger("atoll.cluster_status")

_TRIES = 5
_AGAIN_S = 0.05


@dataclass(slots=True)
class _Watched:
    """A member, and what is remembered of it between two rounds."""

    site: Site
    observation: Observation
    discovery: Discovery
    streak: Streak | None = None
    apis: Discovered | None = None
    is_new: bool = True


class ClusterStatus:
    """Keeps the status of Clusters; one for all members of a plane, or for one that pulls."""

    def __init__(
        self,
        plane: Site,
        performer: Performer,
        effects: Effects,
        times: Times,
        *,
        observations: dict[str, Observation] | None = None,
        models: bool = True,
        took: Callable[[str, float], None] = lambda _name, _seconds: None,
    ) -> None:
        self._took = took
        self.observations = {} if observations is None else observations
        """Nodes and pods of the members that are watched, by name."""
        self._plane = plane
        self._performer = performer
        self._effects = effects
        self._times = times
        self._models = models

    async def watch(self, member: Site) -> None:
        """Keep telling how a member is, for as long as there is a way to it."""
        watched = _Watched(member, Observation(member.api, str(member)), Discovery(member.api))
        every_s = self._times.cluster_status_update_frequency
        # Members that joined together are not all asked at the same moment for ever.
        pause_s = every_s * self._effects.chance.of("cluster status").uniform(0.1, 1.0)
        self.observations[member.name] = watched.observation
        try:
            async with Children(f"nodes and pods of {member}", cause="nodes and pods") as children:
                tasks = [
                    children.spawn(each.run(), each.name) for each in watched.observation.followings
                ]
                while True:
                    begun = stopwatch()
                    await self._tell(watched)
                    self._took(member.name, stopwatch() - begun)
                    await asyncio.sleep(pause_s)
                    pause_s = every_s
                    _check(tasks)
        finally:
            if self.observations.get(member.name) is watched.observation:
                del self.observations[member.name]

    async def _tell(self, watched: _Watched) -> None:
        """One round: look at a member, and write down what is new."""
        member, now = watched.site, self._effects.now
        found = await health(member.api)
        watched.streak = seen_now(watched.streak, found, now().timestamp())
        told, apis = None, None
        if found.is_ok:
            told, apis = await version(member.api), await watched.discovery.read()
            self._note_kinds(watched, apis)
            if watched.is_new:
                await self._until_counted(watched)
                watched.is_new = False
        for _ in range(_TRIES):
            try:
                await self._write(watched, found, told, apis)
                return
            except LookAgain:
                await asyncio.sleep(_AGAIN_S)
            except (Refused, Unreachable) as problem:
                said = {"cluster": member, "err": problem}
                log.info("The status of %(cluster)s is told later: %(err)s", said)
                return

    async def _write(
        self, watched: _Watched, found: Health, told: str | None, apis: Discovered | None
    ) -> None:
        cluster = self._plane.value(kinds.CLUSTER, "", watched.site.name)
        if cluster is None or watched.streak is None:
            return
        is_counted = watched.observation.complete
        columns = watched.observation.columns
        seen = SeenStatus(
            cluster=cluster,
            health=found,
            streak=watched.streak,
            version=told,
            apis=apis,
            summary=columns.summary() if is_counted else None,
            nodes=columns.table() if is_counted else None,
            models=self._models,
        )
        for action in plan(seen, self._effects.now().timestamp(), self._times).actions:
            await self._performer.perform(action)

    async def _until_counted(self, watched: _Watched) -> None:
        """The first that is told of a member had better be whole; but not at any price."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._times.cluster_status_update_frequency):
                await watched.observation.until_complete()

    def _note_kinds(self, watched: _Watched, apis: Discovered | None) -> None:
        """Have the kinds of a member read again if it serves others than it did."""
        if apis is not None:
            if watched.apis is not None and watched.apis.kinds != apis.kinds:
                watched.site.kinds_changed.set()
            watched.apis = apis


def _check(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Following never ends; if it did, whatever ended it is raised, and all begins anew."""
    for task in tasks:
        if task.done():
            task.result()
