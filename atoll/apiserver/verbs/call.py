"""What every verb is given: the parts of the server, and one call on one resource.

Watches are known by collection, so that they end when it is no longer served.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.admission import Hooks
from atoll.apiserver.authentication import Identity
from atoll.apiserver.catalog import Catalog
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import Query
from atoll.apiserver.resource import Resource
from atoll.apiserver.status import too_many_requests
from atoll.config import USUAL_REQUESTS
from atoll.effects import Effects
from atoll.exchange import Request
from atoll.store.store import Store


class Endable(Protocol):
    """A watch that can be told to end."""

    def end(self) -> None:
        """End cleanly, soon."""


class OpenWatches:
    """All open watches; dicts keep them in order."""

    def __init__(self) -> None:
        self.per_user_max = USUAL_REQUESTS.max_watches_per_user
        self._by_collection: dict[str, dict[Endable, None]] = {}
        self._by_user: dict[str, int] = {}

    def check(self, user: str) -> None:
        """ApiError 429 if this user watches as much as one may; "" is whom nothing limits."""
        if user and self._by_user.get(user, 0) >= self.per_user_max:
            raise too_many_requests()

    def add(self, collection: str, watch: Endable, user: str) -> None:
        self._by_collection.setdefault(collection, {})[watch] = None
        self._by_user[user] = self._by_user.get(user, 0) + 1

    def discard(self, collection: str, watch: Endable, user: str) -> None:
        left = self._by_user.get(user, 0) - 1
        if left > 0:
            self._by_user[user] = left
        else:
            self._by_user.pop(user, None)
        watches = self._by_collection.get(collection, {})
        watches.pop(watch, None)
        if not watches:
            self._by_collection.pop(collection, None)

    def counts(self) -> dict[str, int]:
        """How many there are of each collection."""
        return {name: len(watches) for name, watches in self._by_collection.items()}

    def end(self, collection: str) -> None:
        """Let every watch of this collection end: its resource is no longer served."""
        for watch in list(self._by_collection.get(collection, {})):
            watch.end()


Convert = Callable[[Resource, Sequence[dict[str, Any]], str], Awaitable[list[dict[str, Any]]]]
"""Has the webhook of a custom resource convert objects to a version."""


async def _nobody_converts(*_: object) -> list[dict[str, Any]]:
    raise AssertionError("a server that has conversion webhooks is put together with them")


@dataclass(slots=True)
class Api:
    """The parts that verbs work on. Hooks are set once, by who puts the parts together."""

    store: Store
    catalog: Catalog
    effects: Effects
    signing: Signing
    hooks: Hooks = field(default_factory=Hooks)
    watches: OpenWatches = field(default_factory=OpenWatches)
    convert: Convert = _nobody_converts

    def now(self) -> datetime:
        return self.effects.now()

    def timestamp(self) -> str:
        return rfc3339(self.effects.now())


@dataclass(slots=True)
class Call:
    """One request, understood: which resource, whose, and what else was said.

    `warnings` is filled while the call is served and ends up in the response's headers. Nothing
    else changes; it is not frozen because there is one for every request.
    """

    request: Request
    resource: Resource
    identity: Identity
    query: Query = field(default_factory=dict)
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)

    def key(self, name: str = "") -> str:
        """The object's name in its collection."""
        return object_key(self.resource, self.namespace, name or self.name)

    def on(self, subresource: str) -> "Call":
        return replace(self, subresource=subresource)


def object_key(resource: Resource, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if resource.namespaced else name
