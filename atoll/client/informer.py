"""The objects of one collection as values: each version is read once, when it comes.

A mirror and a decoder come in; values go out, by name, by what a sorter files them under, and in
pairs of before and after. The decoder is total, and is handed the value of the version before, so
that a change costs what it changed. What the values are is not known here.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from atoll.client.mirror import Key, Mirror, key_of
from atoll.model.named import Named
from atoll.wire import Wire

T = TypeVar("T")
Decode = Callable[[Wire, T | None], T]


class Informer(Generic[T]):
    """The values of a mirror's objects."""

    def __init__(self, mirror: Mirror, decode: Decode[T]) -> None:
        """Must be made before anyone else listens to the mirror: they may look here."""
        self._decode = decode
        self._values: dict[Key, tuple[Wire, T]] = {}
        self._former: tuple[Wire, T] | None = None
        """What the last change replaced or removed."""
        self._shelves: dict[Callable[[T], Iterable[Hashable]], Named[Key, Hashable]] = {}
        for wire in mirror:
            self._learn(None, wire)
        mirror.listen(self._learn)

    def get(self, namespace: str, name: str) -> T | None:
        found = self._values.get((namespace, name))
        return None if found is None else found[1]

    def __iter__(self) -> Iterator[T]:
        return iter([value for _, value in self._values.values()])

    def by(self, sorter: Callable[[T], Iterable[Hashable]], filed: Hashable) -> list[T]:
        """The values that a sorter files under this; filed once, and kept so."""
        shelves = self._shelves.get(sorter)
        if shelves is None:
            shelves = self._shelves[sorter] = Named()
            for key, (_, value) in self._values.items():
                shelves.put(key, sorter(value))
        return [self._values[key][1] for key in shelves.naming(filed)]

    def value(self, wire: Wire) -> T:
        """The value of an object of this collection that somebody is told of."""
        for held in (self._values.get(key_of(wire)), self._former):
            if held is not None and held[0] is wire:
                return held[1]
        return self._decode(wire, None)

    def _learn(self, before: Wire | None, after: Wire | None) -> None:
        key = key_of(after or before or {})
        former = self._values.pop(key, None) if after is None else self._values.get(key)
        self._former = former
        if after is not None:
            self._values[key] = after, self._decode(after, None if former is None else former[1])
        for sorter, shelves in self._shelves.items():
            shelves.put(key, () if after is None else sorter(self._values[key][1]))
