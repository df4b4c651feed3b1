"""Keys by the values that each of them names: an index that follows what changes.

In come keys with what they name; out come the keys that name a value, in the order in which they
were told last. What keys and values are is not known here.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Named(Generic[K, V]):
    """Keys by the values that each of them names."""

    def __init__(self) -> None:
        self._by_value: dict[V, dict[K, None]] = {}
        self._values: dict[K, tuple[V, ...]] = {}

    def put(self, key: K, values: Iterable[V]) -> None:
        """Know what a key names, instead of what it named before; nothing forgets it."""
        for value in self._values.pop(key, ()):
            filed = self._by_value[value]
            del filed[key]
            if not filed:
                del self._by_value[value]
        named = tuple(dict.fromkeys(values))
        for value in named:
            self._by_value.setdefault(value, {})[key] = None
        if named:
            self._values[key] = named

    def naming(self, value: V) -> list[K]:
        """The keys that name a value."""
        return list(self._by_value.get(value, ()))

    def count(self, value: V) -> int:
        """How many keys name a value."""
        return len(self._by_value.get(value, ()))
