"""One API server as controllers see it: its kinds, and mirrors of what is looked at.

The plane is one site, every member cluster another. A mirror begins when a kind is first asked for
and is then kept until the site is closed.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, TypeVar

from atoll.client.api import ApiClient, Collection, Missing
from atoll.client.informer import Informer
from atoll.client.mirror import Listener, Mirror
from atoll.client.transport import Transport
from atoll.control.directory import Directory, Scope, all_of
from atoll.dialects.kind import Kind
from atoll.model.action import Ref
from atoll.runtime.children import Children
from atoll.wire import Wire

T = TypeVar("T")

_LOOK_AGAIN_S = 30.0


class Site:
    """A server, and what is known of it."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        children: Children,
        scope: Scope = all_of,
        kinds: Iterable[Kind[Any]] = (),
    ) -> None:
        """`kinds`: those that are read as values; all others are handed out as they are."""
        self.name = name
        self.children = children
        self.api = ApiClient(transport)
        self.directory = Directory(self.api, str(self), scope)
        self.kinds_changed = asyncio.Event()
        self._transport = transport
        self._mirrors: dict[Collection, Mirror] = {}
        self._listeners: list[Listener] = []
        self._kinds = {each.key: each for each in kinds}
        self._informers: dict[tuple[str, str], Informer[Any]] = {}

    async def read_kinds(self) -> None:
        """Learn which kinds there are; what could not be read is looked for again."""
        if not await self.directory.read():
            asyncio.get_running_loop().call_later(_LOOK_AGAIN_S, self.kinds_changed.set)

    def note_kinds(self, before: Wire | None, after: Wire | None) -> None:
        """Have the kinds read again if a definition was made, changed, served or removed."""
        is_of_kinds = (after or before or {}).get("kind") == "CustomResourceDefinition"
        if is_of_kinds and _served(before) != _served(after):
            self.kinds_changed.set()

    def mirror(self, collection: Collection) -> Mirror:
        """The mirror of a collection, begun if there was none."""
        mirror = self._mirrors.get(collection)
        if mirror is None:
            mirror = self._mirrors[collection] = Mirror(self.api, collection)
            kind = self._kinds.get((collection.api_version, collection.kind))
            if kind is not None:
                informer = Informer(mirror, kind.decode)
                self._informers[kind.key] = informer
            for listener in self._listeners:
                mirror.listen(listener)
            self.children.spawn(mirror.run(), f"{self.name}: {collection.plural}")
        return mirror

    def listen(self, listener: Listener) -> None:
        """Be told of every change of every mirror of this site."""
        self._listeners.append(listener)
        for mirror in self._mirrors.values():
            mirror.listen(listener)

    def mirrored(self, api_version: str, kind: str) -> Mirror | None:
        """The mirror of a kind, if there is one."""
        collection = self.directory.find(api_version, kind)
        return self._mirrors.get(collection) if collection else None

    def informer(self, kind: Kind[T]) -> Informer[T]:
        """The values of one of this site's own kinds, followed from now on if they were not."""
        informer = self._informers.get(kind.key)
        if informer is None:
            self.mirror(self.collection(kind.api_version, kind.kind))
            informer = self._informers[kind.key]
        return informer

    def value(self, kind: Kind[T], namespace: str, name: str) -> T | None:
        """The value of an object as far as its kind is mirrored."""
        informer: Informer[T] | None = self._informers.get(kind.key)
        return None if informer is None else informer.get(namespace, name)

    def values(self, kind: Kind[T]) -> list[T]:
        """The values of all objects of a kind as far as it is mirrored."""
        return list(self._informers.get((kind.api_version, kind.kind), ()))

    def find(self, ref: Ref) -> Wire | None:
        """An object as far as it is mirrored."""
        mirror = self.mirrored(ref.api_version, ref.kind)
        return mirror.get(ref.namespace, ref.name) if mirror else None

    def all(self, api_version: str, kind: str) -> list[Wire]:
        """All objects of a kind as far as they are mirrored."""
        mirror = self.mirrored(api_version, kind)
        return list(mirror) if mirror else []

    def collection(self, api_version: str, kind: str) -> Collection:
        """The collection of a kind, which must be served here."""
        found = self.directory.find(api_version, kind)
        if found is None:
            self.kinds_changed.set()  # it may be new
            raise Missing(404, {"message": f"{self} does not serve {kind} of {api_version}"})
        return found

    def __str__(self) -> str:
        return f"cluster {self.name}" if self.name else "the plane"

    def lag_s(self) -> float:
        """By how much the mirror lags that lags most."""
        return max((each.lag_s() for each in self._mirrors.values()), default=0.0)

    async def all_ready(self) -> None:
        """Wait until every mirror has what was there, also those that begin meanwhile."""
        while late := [each for each in self._mirrors.values() if not each.ready.is_set()]:
            await late[0].ready.wait()

    async def follow(self, api_version: str, kind: str) -> Mirror:
        """The mirror of a kind, once it has what was there."""
        mirror = self.mirror(self.collection(api_version, kind))
        await mirror.ready.wait()
        return mirror

    async def close(self) -> None:
        """End all that was begun here, and let go of the connections."""
        await self.children.cancel()
        await self._transport.close()


def _served(definition: Wire | None) -> Any:
    """What says which kinds a definition brings, and whether they are served."""
    if definition is None:
        return None
    return definition.get("spec"), (definition.get("status") or {}).get("conditions")
