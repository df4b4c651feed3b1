"""A value beside the one it replaces, part by part: what an update leaves as it was may stay wrong.

Parts are the same part if they have the same key, or, in lists that are maps, the same map keys;
items of other lists cannot be told apart. In: both values and the JSON schema they share.
"""

from typing import Any

from atoll.apiserver.schemas.json_values import same
from atoll.wire import Wire


class Pair:
    """A new value and the old one in its place."""

    __slots__ = ("_equal", "_items", "_schema", "new", "old")

    def __init__(self, new: Any, old: Any, schema: Wire) -> None:
        self.new = new
        self.old = old
        self._schema = schema
        self._equal: bool | None = None
        self._items: dict[Any, Any] | None = None

    def key(self, name: str) -> "Pair | None":
        """The parts of this name, if both have one and the schema knows it."""
        if not (isinstance(self.new, dict) and isinstance(self.old, dict)):
            return None
        if name not in self.new or name not in self.old:
            return None
        child = (self._schema.get("properties") or {}).get(name)
        if child is None:
            child = self._schema.get("additionalProperties")
        if not isinstance(child, dict):
            return None
        return Pair(self.new[name], self.old[name], child)

    def index(self, place: int) -> "Pair | None":
        """The new item at this place, and the old one with its map keys."""
        items = self._schema.get("items")
        if not isinstance(items, dict) or not isinstance(self.new, list):
            return None
        old = self.old_item(self.new[place])
        return None if old is None else Pair(self.new[place], old, items)

    def old_item(self, item: Any) -> Any:
        """The old item with the map keys of a new one; None if there is none."""
        if self._schema.get("x-kubernetes-list-type") != "map" or not isinstance(self.old, list):
            return None
        keys = self._schema.get("x-kubernetes-list-map-keys") or []
        if self._items is None:
            self._items = {_map_key(one, keys): one for one in reversed(self.old)}
        return self._items.get(_map_key(item, keys))

    def unchanged(self) -> bool:
        """Whether the new value is the old one."""
        if self._equal is None:
            self._equal = self._is_unchanged()
        return self._equal

    def _is_unchanged(self) -> bool:
        if isinstance(self.new, dict) and isinstance(self.old, dict):
            parts = [self.key(name) for name in self.new]
            return len(self.new) == len(self.old) and all(
                part is not None and part.unchanged() for part in parts
            )
        if isinstance(self.new, list) and isinstance(self.old, list):
            if self._schema.get("x-kubernetes-list-type") != "map":
                return same(self.new, self.old)
            items = [self.index(place) for place in range(len(self.new))]
            return len(self.new) == len(self.old) and all(
                item is not None and item.unchanged() for item in items
            )
        return same(self.new, self.old)


def _map_key(item: Any, keys: list[str]) -> Any:
    if not isinstance(item, dict):
        return None
    return tuple((item.get(key).__class__, str(item.get(key))) for key in keys)
