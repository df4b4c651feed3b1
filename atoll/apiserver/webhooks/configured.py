"""Who is configured to be asked about writes, followed in the store and kept by resource.

Webhooks and admission policies are both of two sorts, those who may change an object and those who
only judge it. A write that nobody wants to know of costs one look here.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import orjson

from atoll.apiserver.resource import Resource
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event
from atoll.wire import Wire

GROUP = "admissionregistration.k8s.io"
_KNOWN_MAX = 4096


class Wanting(Protocol):
    """One who is configured."""

    def may_want(self, versions: Sequence[Resource], /) -> bool:
        """Whether it may want to know of one resource, given in all its versions."""


One = TypeVar("One", bound=Wanting)
Sorts = tuple[tuple[One, ...], tuple[One, ...]]
"""Those who may change, and those who judge."""


class Configured(Generic[One]):
    """Those of one kind who are configured. Nobody is asked about the `exempt` groups."""

    def __init__(
        self,
        api: Api,
        collections: Iterable[str],
        exempt: Iterable[str],
        read: Callable[[], Sorts[One]],
    ) -> None:
        self._api = api
        self._collections = frozenset(collections)
        self._exempt = frozenset(exempt)
        self._read = read
        self._nobody: Sorts[One] = ((), ())
        self._is_idle = True
        self._known: dict[Resource, Sorts[One]] = {}
        self.every: Sorts[One] = self._nobody

    def load(self) -> None:
        """Know who is configured."""
        self.every = self._read()
        self._is_idle = not any(self.every)
        self._known = {}

    def follow(self, events: Sequence[Event]) -> None:
        if any(event.after.collection in self._collections for event in events):
            self.load()

    def concerns(self, resource: Resource) -> bool:
        return not self._is_idle and self.about(resource) is not self._nobody

    def about(self, resource: Resource) -> Sorts[One]:
        """Who may want to know of a resource."""
        known = self._known.get(resource)
        if known is None:
            if len(self._known) > _KNOWN_MAX:  # of definitions that have changed since
                self._known.clear()
            known = self._known[resource] = self._found(resource)
        return known

    def _found(self, resource: Resource) -> Sorts[One]:
        if resource.group in self._exempt:
            return self._nobody
        versions = self.versions(resource)
        mutating, validating = (
            tuple(one for one in sort if one.may_want(versions)) for sort in self.every
        )
        return (mutating, validating) if mutating or validating else self._nobody

    def versions(self, resource: Resource) -> list[Resource]:
        """A resource in all its versions, this one first."""
        every = self._api.catalog.index.resources
        others = [
            one for one in every if one.collection == resource.collection and one is not resource
        ]
        return [resource, *others]


def stored(api: Api, collection: str) -> list[Wire]:
    """All objects of a collection."""
    return [orjson.loads(record.value) for record in api.store.page(collection).records]
