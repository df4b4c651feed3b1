"""Carrying out what a plan wants done: the one place where controllers write.

What the server stored is learnt at once. A write that comes too late is no error: whoever planned
it is told to look again.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime

from atoll.client.api import Missing, Stale, Taken, Wire
from atoll.client.transport import Unreachable
from atoll.controllers.site import Site
from atoll.effects import Chance
from atoll.errors import AtollError
from atoll.model.action import PLANE, Action, Create, Delete, Ref, Tell, Update

_TOLD_MOST = 4096


class LookAgain(AtollError):
    """The world has moved on since the plan was made."""


class Performer:
    """Writes to the plane and to member clusters."""

    def __init__(
        self, sites: Mapping[str, Site], now: Callable[[], datetime], chance: Chance
    ) -> None:
        self._sites = sites
        self._now = now
        self._chance = chance
        self._told: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self.writes = 0

    async def perform(self, action: Action) -> Wire | None:
        """Do one thing, and say what was stored, if something was.

        Raises LookAgain if it was decided on a state that is gone.
        """
        match action:
            case Create():
                return await self._create(action)
            case Update():
                return await self._update(action)
            case Delete():
                await self._delete(action)
            case Tell():
                await self._tell(action)
        return None

    def _site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            raise Unreachable(f"there is no way to cluster {name}")
        return site

    async def _create(self, action: Create) -> Wire:
        site = self._site(action.at)
        collection = site.collection(action.object["apiVersion"], action.object["kind"])
        self.writes += 1
        try:
            stored = await site.api.create(collection, action.object)
        except Taken as taken:
            raise LookAgain(str(taken)) from taken
        site.mirror(collection).learn(stored)
        return stored

    async def _update(self, action: Update) -> Wire:
        site = self._site(action.at)
        collection = site.collection(action.object["apiVersion"], action.object["kind"])
        self.writes += 1
        try:
            stored = await site.api.replace(collection, action.object, action.subresource)
        except (Stale, Missing) as late:
            raise LookAgain(str(late)) from late
        site.mirror(collection).learn(stored)
        return stored

    async def _delete(self, action: Delete) -> None:
        site, ref = self._site(action.at), action.ref
        metadata = {"namespace": ref.namespace, "name": ref.name, "uid": action.uid}
        collection = site.collection(ref.api_version, ref.kind)
        self.writes += 1
        try:
            await site.api.delete(collection, {"metadata": metadata})
        except Missing:
            site.mirror(collection).forget(ref.namespace, ref.name)
        except Stale as late:
            raise LookAgain(str(late)) from late

    async def _tell(self, action: Tell) -> None:
        """Events are for people: one that cannot be written is not worth a retry."""
        uid = action.about["metadata"].get("uid", "")
        told = (uid, action.reason, action.message)
        if told in self._told:
            return
        self._told[told] = None
        if len(self._told) > _TOLD_MOST:
            self._told.popitem(last=False)
        site = self._site(PLANE)
        await site.api.create(site.collection("v1", "Event"), self._event(action))

    def _event(self, action: Tell) -> Wire:
        about, ref = action.about["metadata"], Ref.of(action.about)
        moment = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        namespace = ref.namespace or "default"
        suffix = f"{self._chance.of('events').getrandbits(64):016x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{ref.name[:200]}.{suffix}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": ref.api_version,
                "kind": ref.kind,
                "namespace": ref.namespace,
                "name": ref.name,
                "uid": about.get("uid", ""),
                "resourceVersion": about.get("resourceVersion", ""),
            },
            "reason": action.reason,
            "message": action.message[:1024],
            "type": "Warning" if action.warning else "Normal",
            "source": {"component": "atoll"},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }
