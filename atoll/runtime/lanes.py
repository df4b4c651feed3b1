"""Whose turn it is: keys in lanes, which take turns, so that bulk in one holds up no other.

Keys come in with their lane and go out one by one. A lane that had nothing waiting goes before
those that have waited for turns already: who asks for little is served at once, and who asks for
much gets on with at least every fourth turn. Within a lane, who came first goes first. What a lane
is, is for others to say: whoever the work is for, or the one change that led to all of it.
"""

from collections.abc import Container, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_OLD_EVERY = 4
"""Of so many turns one is for lanes that had turns before, if any of them wait."""


class Lanes(Generic[K]):
    """Keys that wait, each once, and since when."""

    def __init__(self) -> None:
        self._lanes: dict[str, dict[K, float]] = {}
        self._lane_of: dict[K, str] = {}
        self._new: dict[str, None] = {}
        """Lanes that had no turn since something came to wait there, in the order they came."""
        self._old: dict[str, None] = {}
        """The others, who had no turn for longest first."""
        self._turns = 0

    def __len__(self) -> int:
        return len(self._lane_of)

    def __contains__(self, key: K) -> bool:
        return key in self._lane_of

    def __iter__(self) -> Iterator[K]:
        return iter(self._lane_of)

    def since(self, key: K) -> float:
        """Since when a key waits."""
        return self._lanes[self._lane_of[key]][key]

    def lane(self, key: K) -> str:
        """Where a key waits."""
        return self._lane_of[key]

    def add(self, key: K, lane: str, since: float) -> None:
        """Have a key wait in a lane; it must not wait yet."""
        waiting = self._lanes.get(lane)
        if waiting is None:
            waiting = self._lanes[lane] = {}
            self._new[lane] = None
        waiting[key] = since
        self._lane_of[key] = lane

    def first(self, busy: Container[K] = ()) -> K | None:
        """Whose turn it is, of those who are not busy."""
        old_first = self._turns % _OLD_EVERY == _OLD_EVERY - 1
        order = (self._old, self._new) if old_first else (self._new, self._old)
        for lanes in order:
            for lane in lanes:
                for key in self._lanes[lane]:
                    if key not in busy:
                        return key
        return None

    def take(self, key: K) -> float:
        """Let a key have its turn, and its lane wait for the next; since when it has waited."""
        self._turns += 1
        lane = self._lane_of[key]
        since = self.remove(key)
        if lane in self._lanes:
            self._new.pop(lane, None)
            self._old.pop(lane, None)
            self._old[lane] = None
        return since

    def remove(self, key: K) -> float:
        """Let a key wait no longer, without a turn; since when it has waited."""
        lane = self._lane_of.pop(key)
        waiting = self._lanes[lane]
        since = waiting.pop(key)
        if not waiting:
            del self._lanes[lane]
            self._new.pop(lane, None)
            self._old.pop(lane, None)
        return since

    def clear(self) -> None:
        """Forget all that waits."""
        for known in (self._lanes, self._lane_of, self._new, self._old):
            known.clear()
