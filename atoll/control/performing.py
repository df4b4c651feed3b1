"""Carrying out what a plan wants done: the one place where controllers write.

What the server stored is learnt at once. A write that comes too late is no error: whoever planned
it is told to look again.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

from atoll.client.api import Missing, Refused, Stale, Taken
from atoll.client.transport import Unreachable
from atoll.control.events import Events, Told
from atoll.control.levels import Level
from atoll.control.numbers import ERROR, LATE, SUCCESS, Numbers
from atoll.control.site import Site
from atoll.dialects.kubernetes.names import subdomain_faults
from atoll.effects import Chance
from atoll.errors import AtollError
from atoll.model.action import PLANE, Action, Create, Delete, Ref, Tell, Update
from atoll.runtime.causes import cause
from atoll.runtime.turns import Turns
from atoll.runtime.worklist import Worklist
from atoll.wire import Object, Wire

_NAMED_MOST = 200


class LookAgain(AtollError):
    """The world has moved on since the plan was made."""


class Performer:
    """Writes to the plane and to member clusters."""

    def __init__(
        self,
        sites: Mapping[str, Site],
        now: Callable[[], datetime],
        chance: Chance,
        turns: Turns | None = None,
        numbers: Numbers | None = None,
    ) -> None:
        self._sites = sites
        self._numbers = numbers or Numbers()
        self._now = now
        self._chance = chance
        self._events = Events()
        self._telling: Worklist[Told] = Worklist("events", turns, few=0)
        self._causes: dict[Ref, str] = {}
        """What led to each write to the plane that is under way."""
        self.writes = 0

    def cause_of(self, ref: Ref) -> str:
        """What led to a change of an object, if it is made here and now."""
        return self._causes.get(ref, "")

    async def perform(self, action: Action) -> Wire | None:
        """Do one thing, and say what was stored, if something was.

        Raises LookAgain if it was decided on a state that is gone.
        """
        about = None if isinstance(action, Tell) or action.at != PLANE else _about(action)
        if about is not None:
            self._causes[about] = cause()
        try:
            stored = await self._perform(action)
        except Exception as error:
            self._count(action, LATE if isinstance(error, LookAgain) else ERROR)
            raise
        finally:
            if about is not None:
                self._causes.pop(about, None)
        self._count(action, SUCCESS)
        return stored

    def _count(self, action: Action, result: str) -> None:
        at = PLANE if isinstance(action, Tell) else action.at
        self._numbers.wrote(action, result, at_member=at != PLANE and at in self._sites)

    async def _perform(self, action: Action) -> Wire | None:
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

    def tell_later(self, action: Tell) -> None:
        """Write an event when there is time for it."""
        if (told := self._events.add(action)) is not None:
            self._telling.add(told, Level.TELL)

    def forget(self, gone: Object) -> None:
        """An object of the plane is no more: what was told of it need not be known."""
        self._events.forget(gone["metadata"].get("uid", ""))

    async def run(self) -> None:
        """Write the events that are to be told, for ever.

        Events are for people: one that cannot be written is not worth a retry.
        """

        async def tell(told: Told) -> None:
            action = self._events.take(told)
            if action is not None:
                with suppress(Refused, Unreachable):
                    await self._tell(action)

        await self._telling.run(tell)

    def _site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            raise Unreachable(f"there is no way to cluster {name}")
        return site

    async def _create(self, action: Create) -> Wire:
        site = self._site(action.at)
        collection = site.collection(action.object["apiVersion"], action.object["kind"])
        mirror = site.mirror(collection)
        self.writes += 1
        try:
            stored = await site.api.create(collection, action.object, mirror.known)
        except Taken as taken:
            raise LookAgain(str(taken)) from taken
        mirror.learn(stored)
        return stored

    async def _update(self, action: Update) -> Wire:
        site = self._site(action.at)
        collection = site.collection(action.object["apiVersion"], action.object["kind"])
        mirror, part = site.mirror(collection), action.subresource
        # Without it the server would obey, whatever has become of the object since.
        assert action.object["metadata"].get("resourceVersion"), f"{_about(action)} as of when?"
        self.writes += 1
        try:
            stored = await site.api.replace(collection, action.object, part, mirror.known)
        except (Stale, Missing) as late:
            raise LookAgain(str(late)) from late
        if _is_last(action):
            # The answer does not say so, and whoever looks before the watch does would do it again.
            mirror.forget(dict(action.object))
        else:
            mirror.learn(stored)
        return stored

    async def _delete(self, action: Delete) -> None:
        site, ref = self._site(action.at), action.ref
        metadata = {"namespace": ref.namespace, "name": ref.name, "uid": action.uid}
        going = {"metadata": {**metadata, "resourceVersion": action.version}}
        collection = site.collection(ref.api_version, ref.kind)
        self.writes += 1
        try:
            lingering = await site.api.delete(collection, going, unchanged=True)
        except Missing:
            lingering = None
        except Stale as late:
            raise LookAgain(str(late)) from late
        mirror = site.mirror(collection)
        if lingering is None:
            mirror.forget(going)
        else:
            mirror.learn(lingering)

    async def look(self, action: Action) -> None:
        """Learn how the object of a write is, of which nobody knows whether it took effect."""
        if isinstance(action, Tell) or action.at not in self._sites:
            return
        site, ref = self._site(action.at), _about(action)
        collection = site.collection(ref.api_version, ref.kind)
        mirror = site.mirror(collection)
        known = mirror.get(ref.namespace, ref.name)
        try:
            wire = await site.api.get(collection.path(ref.namespace, ref.name))
        except Missing:
            # Not what came under this name since we asked.
            if known is not None:
                mirror.forget(known)
        else:
            mirror.learn(wire)

    async def _tell(self, action: Tell) -> None:
        site = self._site(PLANE)
        if not self._events.tell(action):
            return
        if _is_gone(site, action.about):
            self.forget(action.about)  # nobody will say again that it is
        await site.api.create(site.collection("v1", "Event"), self._event(action))

    def _event(self, action: Tell) -> Wire:
        about, ref = action.about["metadata"], Ref.of(action.about)
        moment = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        namespace = ref.namespace or "default"
        suffix = f"{self._chance.of('events').getrandbits(64):016x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{_nameable(ref.name)}.{suffix}", "namespace": namespace},
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


def _nameable(name: str) -> str:
    """A name as an event may begin with it: not all that objects have is allowed there."""
    if len(name) <= _NAMED_MOST and not subdomain_faults(name):
        return name
    return re.sub("[^a-z0-9]+", "-", name.lower())[:_NAMED_MOST].strip("-")


def _is_gone(site: Site, about: Object) -> bool:
    """Whether an object is known not to be there any more."""
    ref = Ref.of(about)
    mirror = site.mirrored(ref.api_version, ref.kind)
    known = mirror.get(ref.namespace, ref.name) if mirror is not None else about
    return known is None or known["metadata"].get("uid") != about["metadata"].get("uid")


def _is_last(action: Update) -> bool:
    """Whether an object that goes is let go of by the last who held it: then it is gone."""
    metadata = action.object["metadata"]
    is_going = metadata.get("deletionTimestamp") and metadata.get("deletionGracePeriodSeconds") == 0
    return bool(is_going) and not metadata.get("finalizers") and not action.subresource


def _about(action: Create | Update | Delete) -> Ref:
    return action.ref if isinstance(action, Delete) else Ref.of(action.object)
