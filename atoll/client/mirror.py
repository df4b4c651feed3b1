"""A copy of a collection that follows it: listed once, then kept by watching.

Whoever reads it sees the newest state this side knows of; listeners are told of every change, with
what was before. What this side itself wrote is learnt at once, so that nobody plans on a state that
is known to be old. Who owns which field is left out: nobody reads it, and it is half of many an
object. A server that gets an object back without it keeps what it knew.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator

from atoll.client.api import ApiClient, Change, Collection, Head, Refused
from atoll.client.transport import Unreachable
from atoll.model.named import Named
from atoll.runtime.children import report_failure
from atoll.runtime.stalls import doing
from atoll.wire import Wire

Key = tuple[str, str]
Listener = Callable[[Wire | None, Wire | None], None]
Sorter = Callable[[Wire], Iterable[Hashable]]

_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_LASTED_S = 30.0


class Mirror:
    """The objects of one collection by namespace and name."""

    def __init__(self, api: ApiClient, collection: Collection) -> None:
        self.collection = collection
        self.ready = asyncio.Event()
        self._api = api
        self._objects: dict[Key, Wire] = {}
        self._listeners: list[Listener] = []
        self._reached = 0
        self._gone: set[str] = set()
        """The uids of what is known to be gone although the watch has yet to tell of it."""
        self._shelves: dict[Sorter, Named[Key, Hashable]] = {}
        self._ahead: tuple[int, float] | None = None
        """A version that was written, and when: the watch has yet to come to it."""
        self._lag_s = 0.0

    def lag_s(self) -> float:
        """How long the watch took, or takes by now, to come to something that was written."""
        if self._ahead is None:
            return self._lag_s
        return max(self._lag_s, _clock() - self._ahead[1])

    def get(self, namespace: str, name: str) -> Wire | None:
        return self._objects.get((namespace, name))

    def known(self, head: Head) -> Wire | None:
        """The object of this name, if it is known in this very version."""
        wire = self._objects.get((head.namespace, head.name))
        is_it = wire is not None and wire["metadata"]["resourceVersion"] == head.resource_version
        return wire if is_it else None

    def __iter__(self) -> Iterator[Wire]:
        return iter(list(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    def by(self, sorter: Sorter, value: Hashable) -> list[Wire]:
        """The objects that a sorter files under a value; filed once, and kept so."""
        return [self._objects[key] for key in self._filed(sorter).naming(value)]

    def count(self, sorter: Sorter, value: Hashable) -> int:
        """How many objects a sorter files under a value."""
        return self._filed(sorter).count(value)

    def _filed(self, sorter: Sorter) -> Named[Key, Hashable]:
        shelves = self._shelves.get(sorter)
        if shelves is None:
            shelves = self._shelves[sorter] = Named()
            for key, wire in self._objects.items():
                shelves.put(key, sorter(wire))
        return shelves

    def within(self, namespace: str) -> list[Wire]:
        """The objects of one namespace."""
        return self.by(_namespace, namespace)

    def listen(self, listener: Listener) -> None:
        """Be told of every change from now on, as the object before and the object after."""
        self._listeners.append(listener)

    def learn(self, wire: Wire) -> None:
        """Take in an object as the server just gave it, unless something newer is known.

        One that the watch has passed already and that is not here is gone by now.
        """
        version = _version(wire)
        if self._ahead is None and version > self._reached:
            self._ahead = version, _clock()
        if key_of(wire) in self._objects or version > self._reached:
            self._take(wire)

    def forget(self, known: Wire) -> None:
        """An object is known to be gone; what the watch still tells of its life is no news."""
        there = self._objects.get(key_of(known))
        if there is not None and _uid(there) == _uid(known):
            self._gone.add(_uid(known))
            self._drop(there)

    async def run(self) -> None:
        """Follow the collection for ever; what is refused or out of reach is tried again.

        The pauses grow while it does not last: to list anew is work for both sides.
        """
        clock, pause_s = asyncio.get_running_loop().time, _PAUSE_S
        doing("informer", self.collection.plural)
        while True:
            begun = clock()
            try:
                version = await self._list()
                while True:
                    version = await self._watch(version)
            except (Refused, Unreachable):
                if clock() - begun >= _LASTED_S:
                    pause_s = _PAUSE_S
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _list(self) -> str:
        present: set[Key] = set()
        gone = frozenset(self._gone)
        rest: str | None = None
        while rest is None or rest:
            page = await self._api.page(self.collection, rest or "")
            # All pages are of one version. Others have their turn between them.
            self._reach(int(page.version))
            rest = page.rest
            present.update(map(key_of, page.items))
            for item in page.items:
                self._take(item)
        for wire in self:
            # What was learnt from a write since then is not in the list, and is not gone either.
            if key_of(wire) not in present and _version(wire) <= self._reached:
                self._drop(wire)
        self._gone -= gone
        self.ready.set()
        return str(self._reached)

    async def _watch(self, version: str) -> str:
        async with self._api.watch(self.collection, version) as changes:
            async for change in changes:
                version = change.head.resource_version
                self._reach(int(version))
                self._follow(change)
        return version

    def _reach(self, version: int) -> None:
        self._reached = version
        if self._ahead is not None and self._ahead[0] <= version:
            self._lag_s, self._ahead = _clock() - self._ahead[1], None

    def _follow(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._follow_deletion(change.head)
        elif change.kind != "BOOKMARK" and self.known(change.head) is None:
            self._take(change.decoded())

    def _take(self, wire: Wire) -> None:
        known = self._objects.get(key_of(wire))
        is_newer = known is None or _version(known) < _version(wire)
        if is_newer and _uid(wire) not in self._gone:
            self._put(known, wire)

    def _follow_deletion(self, head: Head) -> None:
        """A deletion counts unless a younger object of the name is known already."""
        known = self._objects.get((head.namespace, head.name))
        self._gone.discard(head.uid)
        if known is not None and _uid(known) == head.uid:
            self._drop(known)

    def _drop(self, gone: Wire) -> None:
        del self._objects[key_of(gone)]
        self._tell(gone, None)

    def _put(self, before: Wire | None, after: Wire) -> None:
        after["metadata"].pop("managedFields", None)
        self._objects[key_of(after)] = after
        self._tell(before, after)

    def _tell(self, before: Wire | None, after: Wire | None) -> None:
        for sorter, shelves in self._shelves.items():
            shelves.put(key_of(after or before or {}), () if after is None else sorter(after))
        tell_each(self._listeners, before, after)


def tell_each(listeners: Iterable[Listener], before: Wire | None, after: Wire | None) -> None:
    """Tell of a change; one who fails at some odd object keeps nobody else from being told."""
    for listener in listeners:
        try:
            listener(before, after)
        except Exception as error:  # noqa: BLE001 - one bad object must not end the following
            wire = after or before or {}
            report_failure(f"{wire.get('kind')} {'/'.join(key_of(wire))}", error)


def _clock() -> float:
    return asyncio.get_running_loop().time()


def _namespace(wire: Wire) -> tuple[str]:
    return (wire["metadata"].get("namespace", ""),)


def key_of(wire: Wire) -> Key:
    """The namespace and the name of an object."""
    metadata = wire["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _uid(wire: Wire) -> str:
    uid: str = wire["metadata"].get("uid", "")
    return uid


def _version(wire: Wire) -> int:
    return int(wire["metadata"]["resourceVersion"])
