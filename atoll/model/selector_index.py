"""Who selects an object, found by what is selected and not by asking everyone.

In come keys with their selectors, and objects; out come the keys that may mean an object: all that
do, and few that do not. A selector is filed by its name, or by one of the labels that it asks for,
or, if it asks for none, under its kind. Of several labels the one is taken that fewest are filed
by: one that all have in common (`part-of: shop`) would tell them apart as little as the kind.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from atoll.model.named import Named
from atoll.model.resource_selector import ResourceSelector, label_keys
from atoll.wire import Object

K = TypeVar("K", bound=Hashable)
_Place = tuple[str | None, ...]
_KIND, _NAME, _LABEL = "kind", "name", "label"


class SelectorIndex(Generic[K]):
    """Keys by what their selectors mean."""

    def __init__(self) -> None:
        self._filed: Named[K, _Place] = Named()

    def put(self, key: K, selectors: Iterable[ResourceSelector] = ()) -> None:
        """Know what a key selects, instead of what it selected before; nothing forgets it."""
        self._filed.put(key)
        self._filed.put(key, [place for each in selectors for place in self._places_for(each)])

    def candidates(self, wire: Object) -> list[K]:
        """Those that may select an object, each once."""
        return self._filed.naming(*_looked_up(wire))

    def _places_for(self, selector: ResourceSelector) -> list[_Place]:
        within = (selector.api_version, selector.kind, selector.namespace)
        if selector.name:
            return [(_NAME, *within, selector.name)]
        ways: list[list[_Place]] = [
            [(_LABEL, *within, key, value) for key, value in each] for each in selector.by_labels()
        ]
        return min(ways, key=self._crowd) if ways else [(_KIND, *within)]

    def _crowd(self, places: list[_Place]) -> int:
        return sum(map(self._filed.count, places))


def _looked_up(wire: Object) -> Iterator[_Place]:
    """Where whoever means an object is filed."""
    metadata = wire.get("metadata") or {}
    for namespace in dict.fromkeys((metadata.get("namespace") or "", "")):
        within = (wire.get("apiVersion"), wire.get("kind"), namespace)
        yield (_KIND, *within)
        yield (_NAME, *within, metadata.get("name"))
        for key, value in label_keys(wire):
            yield (_LABEL, *within, key, value)
