"""Who goes first when several lists work on the same: what presses more, and shares for the rest.

What presses less waits until nothing more pressing waits or is in hand, in any list where somebody
gets on. It has a share of the turns all the same, so that it gets on while something presses all
the time.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Protocol

from atoll.runtime.tallies import Tallies

_SHARES = (0.0, 1 / 8, 1 / 8, 1 / 64)
"""By level, so many turns are its own for each turn of what presses more, if something waits."""
LEVELS = len(_SHARES)
_SAVED_MOST = 4.0
_IN_HAND_S = 0.02
_CALM_S = 0.2
PATIENCE_S = 0.1
"""So long a list counts as getting on although nothing was taken from it."""


class Sharing(Protocol):
    """A list as those who share turns with it see it."""

    @property
    def name(self) -> str:
        """By which it is counted; several may have the same."""

    def __len__(self) -> int:
        """How many keys wait."""

    def at_ease(self) -> None:
        """It may be its turn."""

    def presses(self, level: int) -> bool:
        """Whether something more pressing than this level waits here, and somebody gets on."""


class Turns:
    """How many keys wait at each level, over all lists that share this; level 0 presses most.

    What is in hand presses as well, if only for a moment: most of the time it soon leads to more
    that presses, and else the time in between would go to what could have waited.
    """

    def __init__(self) -> None:
        self._waiting: list[dict[Sharing, int]] = [{} for _ in range(LEVELS)]
        """By level, the lists in which something waits, and how much."""
        self._in_hand: list[dict[object, float]] = [{} for _ in range(LEVELS)]
        self._worked_at = [-inf] * LEVELS
        self._due = [0.0] * LEVELS
        """By level, how many turns are its own by now."""
        self._lists: dict[Sharing, None] = {}
        self.tallies = Tallies()

    def depths(self) -> dict[str, int]:
        """How many keys wait now, by the names of the lists."""
        found: dict[str, int] = {}
        for each in self._lists:
            found[each.name] = found.get(each.name, 0) + len(each)
        return found

    def backlog(self) -> int:
        """How many keys wait that somebody waits for: of those that press least there may be many
        at any time.
        """
        return sum(sum(each.values()) for each in self._waiting[:-1])

    def join(self, one: Sharing) -> None:
        self._lists[one] = None

    def leave(self, one: Sharing) -> None:
        del self._lists[one]

    def count(self, one: Sharing, level: int, more: int) -> None:
        """So many more keys wait at a level of a list; below zero, so many fewer."""
        waiting = self._waiting[level]
        waiting[one] = waiting.get(one, 0) + more
        if not waiting[one]:
            del waiting[one]
        self._let_go_on(level)

    @contextmanager
    def holding(self, level: int) -> Iterator[None]:
        """Something of this level is in hand."""
        one = object()
        self._in_hand[level][one] = _clock()
        self._share(level)
        try:
            yield
        finally:
            del self._in_hand[level][one]
            self._worked_at[level] = _clock()
            self._let_go_on(level)

    def has(self, level: int) -> bool:
        """Whether it is this level's turn: nothing more pressing waits where somebody gets on."""
        if any(map(_is_fresh, self._in_hand[:level])):
            return False
        pressing = (one for waiting in self._waiting[:level] for one in waiting)
        return not any(each.presses(level) for each in pressing)

    def is_due(self, level: int) -> bool:
        """Whether a turn is this level's own, whatever presses more."""
        return self._due[level] >= 1.0

    def are_calm(self, level: int) -> bool:
        """Whether nothing more pressing than this level was worked on for a moment."""
        return max(self._worked_at[:level], default=-inf) + _CALM_S <= _clock()

    def _share(self, taken: int) -> None:
        """A turn of this level is taken; what waits and presses less comes closer to its own."""
        self._due[taken] = max(0.0, self._due[taken] - 1.0)
        for level in range(taken + 1, LEVELS):
            if self._waiting[level]:
                before = self._due[level]
                self._due[level] = min(before + _SHARES[level], _SAVED_MOST)
                if int(self._due[level]) > int(before):
                    self._poke(level)

    def _poke(self, level: int) -> None:
        """Let one list have the turn that is this level's own, and another the next."""
        waiting = self._waiting[level]
        one = next(iter(waiting))
        waiting[one] = waiting.pop(one)
        one.at_ease()

    def _let_go_on(self, level: int) -> None:
        less = self._waiting[level + 1 :]
        if any(less) and not self._waiting[level] and not _is_fresh(self._in_hand[level]):
            for one in {one: None for waiting in less for one in waiting}:
                one.at_ease()


def _is_fresh(in_hand: dict[object, float]) -> bool:
    """Whether something was taken in hand a moment ago; the last comes last."""
    return bool(in_hand) and _clock() < next(reversed(in_hand.values())) + _IN_HAND_S


def _clock() -> float:
    return asyncio.get_running_loop().time()
