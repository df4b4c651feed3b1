"""Keys and a moment each, looked at in the order of the moments.

A key has one moment at most: what it had before is forgotten. Whatever is asked costs what is
found, not what there is; the time is an argument.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
_LEFT_OVER_MOST = 64


@dataclass(slots=True)
class Deadlines(Generic[K]):
    """When something is due for whom."""

    _moments: dict[K, tuple[float, int]] = field(default_factory=dict)
    _heap: list[tuple[float, int, K]] = field(default_factory=list)
    """By moment; with some that are not what their key has any more."""
    _numbers: "count[int]" = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._moments)

    def set(self, key: K, moment: float) -> None:
        """Let a key have this moment; none if it is `inf`."""
        known = self._moments.get(key)
        if moment == inf:
            if known is not None:
                del self._moments[key]
        elif known is None or known[0] != moment:
            number = next(self._numbers)
            self._moments[key] = moment, number
            heappush(self._heap, (moment, number, key))
        if len(self._heap) > 2 * len(self._moments) + _LEFT_OVER_MOST:
            self._heap = [(*each, key) for key, each in self._moments.items()]
            heapify(self._heap)

    def first(self) -> float:
        """The earliest moment; `inf` if there is none."""
        self._clear()
        return self._heap[0][0] if self._heap else inf

    def until(self, moment: float) -> list[K]:
        """The keys whose moment has come by then, the earliest first; they keep it."""
        found = []
        while self.first() <= moment:
            found.append(heappop(self._heap))
        for each in found:
            heappush(self._heap, each)
        return [key for _, _, key in found]

    def _clear(self) -> None:
        while self._heap and self._moments.get(self._heap[0][2]) != self._heap[0][:2]:
            heappop(self._heap)
