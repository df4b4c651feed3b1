"""What every verb is given: the parts of the server, and one call on one resource."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.admission import Hooks
from atoll.apiserver.authentication import Identity
from atoll.apiserver.catalog import Catalog
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import Query
from atoll.apiserver.resource import Resource
from atoll.apiserver.verbs.open_watches import OpenWatches
from atoll.effects import Effects
from atoll.exchange import Request
from atoll.store.store import Store

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
