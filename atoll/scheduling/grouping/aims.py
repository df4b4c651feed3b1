"""What makes one selection better than another: to come first in order, or to have the most room.

An aim gives a value to clusters taken from one lot; values of lots add up, and the better of two
is kept. So one pass over the lots finds the best of all selections.
"""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, TypeVar

from atoll.scheduling.grouping.ground import Ground, Lot

V = TypeVar("V")

_GROUP_BITS = 20


class Aim(Protocol[V]):
    """Values of selections."""

    @property
    def nothing(self) -> V: ...
    def of(self, lot: Lot) -> Sequence[V | None]:
        """The value of taking none, one, two, ... of a lot; None where that is not allowed."""
        ...

    def opened(self, rule: int) -> V:
        """The value of taking from one more group of a rule."""
        ...

    def plus(self, one: V, other: V) -> V: ...
    def better(self, one: V, other: V) -> V: ...


@dataclass(frozen=True, eq=False)
class InOrder:
    """First all that hold the work, then as many groups as possible, then the first in order.

    A value is one large number: a bit for every place, the first highest, and between those that
    hold the work and the others a count of groups for each rule.
    """

    ground: Ground
    nothing: int = 0

    def of(self, lot: Lot) -> list[int | None]:
        values: list[int | None] = [0]
        for place in lot.places:
            values.append((values[-1] or 0) + self._bit(place))
        return values

    def opened(self, rule: int) -> int:
        return 1 << (self._others + _GROUP_BITS * (len(self.ground.groups) - 1 - rule))

    def plus(self, one: int, other: int) -> int:
        return one + other

    def better(self, one: int, other: int) -> int:
        return max(one, other)

    def places(self, value: int) -> list[int]:
        """The places taken."""
        return [place for place in range(len(self.ground)) if value & self._bit(place)]

    @property
    def _others(self) -> int:
        return len(self.ground) - self.ground.held

    def _bit(self, place: int) -> int:
        above = _GROUP_BITS * len(self.ground.groups) if place < self.ground.held else 0
        return 1 << (len(self.ground) - 1 - place + above)


Way = tuple[int, int, int]
"""From so many to so many replicas can be placed, by taking these places (as bits)."""


@dataclass(frozen=True, eq=False)
class Roomiest:
    """The most room for the replicas needed, with these places taken in any case.

    A value is a list of ways, none better than another in both what it must and what it can hold:
    one, unless clusters have a least of replicas.
    """

    ground: Ground
    taken: frozenset[int]
    nothing: tuple[Way, ...] = ((0, 0, 0),)

    def of(self, lot: Lot) -> list[tuple[Way, ...] | None]:
        most, last = self.ground.most.tolist(), len(self.ground) - 1
        forced = [place for place in lot.places if place in self.taken]
        free = sorted(set(lot.places) - set(forced), key=lambda place: (-most[place], place))
        values: list[tuple[Way, ...] | None] = [None if forced else self.nothing]
        tops, bits, room = list[int](), 0, 0
        for count, place in enumerate(forced + free, start=1):
            insort(tops, -most[place])
            bits, room = bits | 1 << (last - place), room + most[place]
            values.append(self._ways(tops, room, bits, lot) if count >= len(forced) else None)
        return values

    def opened(self, rule: int) -> tuple[Way, ...]:
        return self.nothing

    def plus(self, one: tuple[Way, ...], other: tuple[Way, ...]) -> tuple[Way, ...]:
        if other == self.nothing:
            return one
        needed = self.ground.needed
        sums = ((a + c, min(b + d, needed), p | q) for a, b, p in one for c, d, q in other)
        return _undominated([each for each in sums if each[0] <= needed])

    def better(self, one: tuple[Way, ...], other: tuple[Way, ...]) -> tuple[Way, ...]:
        return _undominated([*one, *other])

    def best(self, value: tuple[Way, ...]) -> tuple[int, list[int]]:
        """How many replicas can be placed, and the places taken for it."""
        _, room, bits = max(value, key=lambda way: (way[1], way[2]))
        last = len(self.ground) - 1
        return room, [place for place in range(last + 1) if bits >> (last - place) & 1]

    def _ways(self, tops: list[int], room: int, bits: int, lot: Lot) -> tuple[Way, ...]:
        """By how many of those taken are used: the roomiest, whose room is given as negatives."""
        needed = self.ground.needed
        if not lot.least:
            return ((0, min(room, needed), bits),)
        rooms = accumulate(tops, initial=0)
        ways = [(lot.least * used, min(-room, needed), bits) for used, room in enumerate(rooms)]
        return _undominated([way for way in ways if way[0] <= needed])


def _undominated(ways: list[Way]) -> tuple[Way, ...]:
    """Those that no other beats in both respects; of equals the one that comes first in order."""
    if len(ways) == 1:
        return (ways[0],)
    kept: list[Way] = []
    for way in sorted(ways, key=lambda each: (each[0], -each[1], -each[2])):
        if not kept or way[1] > kept[-1][1]:
            kept.append(way)
    return tuple(kept)
