"""Works and members: what is in a member, and what is reported of it.

Every member has a loop and workers of its own, so that one that hangs holds up nobody else.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from atoll.client.api import Refused, Wire
from atoll.client.mirror import Mirror
from atoll.control import patience
from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide.applying import Attempt, version_of
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.hub import CLUSTER, WORK, Hub, meant_otherwise
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.settling import Settling
from atoll.control.site import Site
from atoll.dialects.karmada import names
from atoll.dialects.karmada.cluster_access import is_leaving, is_pulled
from atoll.dialects.karmada.references import template_of, work_bindings
from atoll.dialects.karmada.works import is_going
from atoll.model.action import Action, Create, Delete, Object, Plan, Ref, Tell, Update
from atoll.runtime.children import Children

Key = tuple[str, str]

WORKERS = 4  # for each member
_REMEMBERED_S = 1800.0  # longer than any system goes on sending what is not acknowledged
_REMEMBERED_MAX = 4096


class Delivery:
    """Makes members have what Works say, and Works say what members have."""

    def __init__(self, hub: Hub, agent_of: str = "") -> None:
        """`agent_of` names the cluster that this looks after from inside, if it does."""
        self._hub = hub
        self._agent_of = agent_of
        self._attempts: dict[tuple[str, Ref], Attempt] = {}
        self._planned: dict[Key, Wire] = {}
        self._said: dict[Key, Object] = {}
        """Statuses of Works that are being written: to hear them back is no news."""
        self._settling: Settling[Key] = Settling(lambda: hub.now)
        self._loops: dict[str, Loop[Key]] = {}
        self._waiting: dict[str, dict[Key, None]] = {}
        """Works that wait until their cluster answers again."""
        self._over: dict[Key, tuple[Object, float]] = {}
        """What remains of Works that were let end here, oldest first, and when that was."""
        self._late: dict[Mirror, dict[Key, None]] = {}
        """Works that wait until what their cluster has is known."""
        self._more = asyncio.Event()
        self._controller = Controller(
            "delivery",
            self._observe,
            self._plan,
            self._refused,
            self._done,
            self._answers,
            hub.numbers.workload_took,
            None if hub.traces is None else hub.traces.delivering,
        )
        hub.hear("Work", self._work_changed)
        hub.hear("Cluster", self._cluster_changed)
        hub.hear_members(self._member_changed)
        hub.hear_connected(self._wake_all)
        hub.hear_answering(self._wake_waiting)

    async def run(self) -> None:
        """Work for every member there is and will be, each by workers of its own, for ever."""
        crews: dict[Loop[Key], list[asyncio.Task[None]]] = {}
        async with Children("delivery") as children:
            while True:
                self._more.clear()
                wanted = {loop: cluster for cluster, loop in self._loops.items()}
                for loop in [each for each in crews if each not in wanted]:
                    for task in crews.pop(loop):
                        task.cancel()
                for loop, cluster in wanted.items():
                    if loop not in crews:
                        crews[loop] = [
                            children.spawn(loop.run(), f"{cluster} {worker}")
                            for worker in range(WORKERS)
                        ]
                await self._more.wait()

    def _wake(self, key: Key, level: Level = Level.ARRIVE) -> None:
        cluster = names.cluster_of(key[0])
        if cluster is None:
            return
        loop = self._loops.get(cluster)
        if loop is None:
            hub = self._hub
            loop = Loop(
                self._controller, hub.performer, hub.turns, again=Level.REPORT, few=patience.FEW
            )
            self._loops[cluster] = loop
            self._more.set()
        loop.wake(key, level)

    def _retire(self, cluster: str) -> None:
        """End the workers of a cluster that is gone, once none of its Works is left."""
        plane = self._hub.plane
        is_there = plane.find(Ref(CLUSTER, "Cluster", "", cluster)) is not None
        if is_there or cluster not in self._loops or self._works(cluster):
            return
        self._loops.pop(cluster).close()
        self._waiting.pop(cluster, None)
        self._more.set()

    def _works(self, cluster: str) -> list[Wire]:
        mirror = self._hub.plane.mirror(self._hub.plane.collection(WORK, "Work"))
        return mirror.within(names.execution_namespace(cluster))

    def _observe(self, key: Key) -> working.SeenWork | None:
        hub = self._hub
        known = hub.plane.find(Ref(WORK, "Work", *key))
        work, name = known or self._remembered(key), names.cluster_of(key[0])
        if known is None:
            self._planned.pop(key, None)
        else:
            self._planned[key] = known
        if work is None or name is None:
            self._settling.forget(key)
            return None
        site, cluster = hub.sites.get(name), hub.plane.find(Ref(CLUSTER, "Cluster", "", name))
        if cluster is not None and name != self._agent_of and _is_served_there(cluster):
            return None
        if site is not None and _is_ready(cluster) and hub.is_silent(name):
            self._waiting.setdefault(name, {})[key] = None
            return None
        manifests = working.objects(work)
        if site is not None and not self._is_mirrored(site, manifests, key):
            return None
        refs = [Ref.of(each) for each in manifests]
        found = {ref: site.find(ref) for ref in refs} if site is not None else {}
        attempts = {ref: self._attempts.get((name, ref)) for ref in refs}
        interpreters = hub.interpreters
        return working.SeenWork(
            work=work,
            ready=_is_ready(cluster) if site is not None else None if cluster is None else False,
            retain=interpreters.retain,
            questions=Questions(interpreters.reflect, interpreters.health),
            observed={ref: each for ref, each in found.items() if each is not None},
            attempts={ref: each for ref, each in attempts.items() if each is not None},
            leaving=cluster is not None and is_leaving(cluster),
            waited=self._settling.waited(key),
            is_over=known is None,
            owners=partial(self._owners, work),
        )

    def _plan(self, seen: working.SeenWork) -> Plan:
        work = seen.work
        plan = self._settling.planned(_key(work), working.plan(seen, self._hub.now))
        for action in plan.actions:
            if isinstance(action, Update) and action.subresource:
                self._said[_key(work)] = action.object["status"]
        if seen.ready and any(map(working.is_last, plan.actions)):
            self._over[_key(work)] = working.remains(work), self._hub.now
            if len(self._over) > _REMEMBERED_MAX:
                del self._over[next(iter(self._over))]
        return plan

    def _remembered(self, key: Key) -> Object | None:
        """What remains of a Work that was let end here not long ago."""
        work, at = self._over.get(key, (None, 0.0))
        if work is not None and self._hub.now - at > _REMEMBERED_S:
            del self._over[key]
            return None
        return work

    def _owners(self, work: Object) -> list[Wire]:
        """The bindings that a Work is of, and their templates."""
        plane = self._hub.plane
        bindings = [each for each in map(plane.find, work_bindings(work)) if each is not None]
        templates = [plane.find(template_of(each)) for each in bindings]
        return bindings + [each for each in templates if each is not None]

    def _is_mirrored(self, site: Site, manifests: Sequence[Object], key: Key) -> bool:
        """Whether all that is asked about is followed; what is not, is from now on."""
        mirrors = []
        for manifest in manifests:
            ref = Ref.of(manifest)
            collection = site.directory.find(ref.api_version, ref.kind)
            if collection is None:
                problem = f"cluster {site.name} does not serve {ref.kind} of {ref.api_version}"
                self._attempts[site.name, ref] = Attempt(manifest, refusal=problem)
            else:
                mirrors.append(site.mirror(collection))
        late = [mirror for mirror in mirrors if not mirror.ready.is_set()]
        for mirror in late:
            if mirror not in self._late:
                site.children.spawn(self._wake_when_ready(mirror), "a mirror to be ready")
            self._late.setdefault(mirror, {})[key] = None
        return not late

    async def _wake_when_ready(self, mirror: Mirror) -> None:
        """Look again at all that waits for a mirror; one waits for all, as that may take long."""
        try:
            await mirror.ready.wait()
        finally:
            keys = self._late.pop(mirror, {})
        for key in keys:
            self._wake(key)

    def _answers(self, action: Action) -> bool:
        """Whether there is hope to learn what became of an action."""
        name = "" if isinstance(action, Tell) else action.at
        cluster = self._hub.plane.find(Ref(CLUSTER, "Cluster", "", name))
        return not name or (bool(_is_ready(cluster)) and not self._hub.is_silent(name))

    def _done(self, action: Action, stored: Wire | None) -> None:
        """Remember which version a member gave what was sent: what it adds itself is no drift."""
        if isinstance(action, Create | Update) and action.at and stored is not None:
            attempt = Attempt(self._asked(action), version=version_of(stored))
            self._attempts[action.at, Ref.of(action.object)] = attempt

    def _refused(self, action: Action, refusal: Refused) -> bool:
        """Note what a member refused; the same again is no news."""
        if isinstance(action, Delete) and action.at:
            self._tell_of_deletion(action, refusal)
        if not isinstance(action, Create | Update) or not action.at:
            return False
        key = (action.at, Ref.of(action.object))
        known = self._attempts.get(key)
        self._attempts[key] = Attempt(self._asked(action), refusal=str(refusal))
        return known is None or known.refusal != str(refusal)

    def _tell_of_deletion(self, action: Delete, refusal: Refused) -> None:
        """What a member does not let go of is told on the Work, which waits for it."""
        site = self._hub.sites.get(action.at)
        found = site.find(action.ref) if site is not None else None
        work = self._planned.get(_work_of(found or {}))
        if work is not None:
            message = f"cluster {action.at} refused to delete {action.ref}: {refusal}"
            told = Tell(work, working.NOT_APPLIED, message, warning=True)
            self._hub.performer.tell_later(told)

    def _asked(self, action: Create | Update) -> Object:
        """The manifest that a write to a member was made for."""
        # As it was when the write was planned: it may say something else by now.
        work = self._planned.get(_work_of(action.object)) or {}
        ref = Ref.of(action.object)
        return next((each for each in working.objects(work) if Ref.of(each) == ref), {})

    def _work_changed(self, before: Wire | None, after: Wire | None) -> None:
        if after is not None:
            if before is None:
                # New, or told again since its kind means something else: what was sent before
                # does not say any more what should be there.
                self._forget_attempts(after)
                self._over.pop(_key(after), None)
            if meant_otherwise(before, after):
                self._wake(_key(after))
            elif self._said.pop(_key(after), None) != after.get("status"):
                self._wake(_key(after), Level.REPORT)
        elif before is not None:
            self._forget_attempts(before)
            self._planned.pop(_key(before), None)
            self._said.pop(_key(before), None)
            self._retire(names.cluster_of(before["metadata"]["namespace"]) or "")

    def _forget_attempts(self, work: Wire) -> None:
        cluster = names.cluster_of(work["metadata"]["namespace"]) or ""
        for manifest in working.objects(work):
            self._attempts.pop((cluster, Ref.of(manifest)), None)

    def _cluster_changed(self, before: Wire | None, after: Wire | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        if _standing(before) != _standing(after):
            self._wake_all(name)
        if after is None:
            for key in self._ended(name):
                del self._over[key]
            self._retire(name)

    def _ended(self, name: str) -> list[Key]:
        """The Works of a cluster that were let end here."""
        space = names.execution_namespace(name)
        return [key for key in self._over if key[0] == space]

    def _wake_waiting(self, name: str) -> None:
        for key in self._waiting.pop(name, ()):
            self._wake(key)

    def _wake_all(self, name: str) -> None:
        """Look at all Works of a cluster again, also at those that are over."""
        for work in self._works(name):
            self._wake(_key(work))
        for key in self._ended(name):
            self._wake(key, Level.REPORT)

    def _member_changed(self, before: Wire | None, after: Wire | None) -> None:
        for wire in (before, after):
            key = _work_of(wire or {})
            if key[1]:
                # A Work whose object goes may end; few wait for that.
                self._wake(key, Level.SUM if self._is_going(key) else Level.REPORT)
            elif wire is not None and meant_otherwise(before, after):
                self._wake_hindered(Ref.of(wire))

    def _is_going(self, key: Key) -> bool:
        return is_going(self._hub.plane.find(Ref(WORK, "Work", *key)) or {})

    def _wake_hindered(self, ref: Ref) -> None:
        """Something that is not ours came, changed or went: it may no longer be in the way."""
        mirror = self._hub.plane.mirror(self._hub.plane.collection(WORK, "Work"))
        for work in mirror.by(_wanted, ref):
            self._wake(_key(work))


def _key(work: Object) -> Key:
    return work["metadata"]["namespace"], work["metadata"]["name"]


def _wanted(work: Wire) -> list[Ref]:
    return [Ref.of(each) for each in working.objects(work)]


def _work_of(wire: Object) -> Key:
    """The Work that an object in a member says it was made from."""
    annotations = (wire.get("metadata") or {}).get("annotations") or {}
    return annotations.get(names.WORK_NAMESPACE, ""), annotations.get(names.WORK_NAME, "")


def _is_ready(cluster: Object | None) -> bool | None:
    if cluster is None:
        return None
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _standing(cluster: Object | None) -> tuple[bool | None, bool]:
    """What counts of a cluster here: whether it is ready, and whether it is on its way out."""
    return _is_ready(cluster), cluster is not None and is_leaving(cluster)


def _is_served_there(cluster: Object) -> bool:
    """Whether an agent in the cluster looks after its Works; one that leaves silently does not."""
    return is_pulled(cluster) and not (is_leaving(cluster) and not _is_ready(cluster))
