"""Keys by what each of them names: the one index that all others are made of.

What a key names comes in whenever it changes; the keys that name something go out, those that were
put last come last. It costs what is put and what is found, however much there is.
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

    def put(self, key: K, values: Iterable[V] = ()) -> None:
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

    def naming(self, *values: V) -> list[K]:
        """The keys that name one of these values, each once."""
        found: dict[K, None] = {}
        for value in values:
            found |= self._by_value.get(value, {})
        return list(found)

    def __len__(self) -> int:
        """How many keys name something."""
        return len(self._values)

    def count(self, value: V) -> int:
        """How many keys name a value."""
        return len(self._by_value.get(value, ()))
