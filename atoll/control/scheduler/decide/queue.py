"""What waits to be scheduled, and in which order. Time comes with every call.

Keys come in with their priority and lane; the next to look at comes out: the highest priority
first, of equal ones lanes take turns, and in a lane comes first who waits longest. Who failed backs
off, from 1 s doubling to 10 s; who found no room waits until clusters change, 5 minutes at most. A
key that was handed out is not handed out again until its outcome is told. What is done with a key,
and what a key is, is for others to know.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from atoll.model.decision import Verdict
from atoll.runtime.lanes import Lanes

BACK_OFF_FIRST, BACK_OFF_MOST = 1.0, 10.0
WAIT_MOST = 300.0

K = TypeVar("K", bound=Hashable)


class _Rank(NamedTuple):
    priority: int
    lane: str


@dataclass(slots=True)
class _Entry(Generic[K]):
    """One wait of a key: from `due` on it may be taken, unless another wait replaced this one."""

    key: K
    rank: _Rank
    due: float
    for_room: bool = False
    dropped: bool = False


@dataclass(slots=True)
class Queue(Generic[K]):
    """Who waits. Without `by_priority` all count alike."""

    by_priority: bool = False
    _ready: dict[int, Lanes[K]] = field(default_factory=dict)
    """By what counts of the priority, who may be taken now."""
    _later: list[tuple[float, int, _Entry[K]]] = field(default_factory=list)
    _waiting: dict[K, _Entry[K]] = field(default_factory=dict)
    _for_room: dict[K, None] = field(default_factory=dict)
    _taken: dict[K, _Rank] = field(default_factory=dict)
    _again: dict[K, _Entry[K]] = field(default_factory=dict)
    """Added while taken."""
    _failures: dict[K, tuple[int, float]] = field(default_factory=dict)
    """How often a key failed in a row, and until when it backs off."""
    _places: Iterator[int] = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: K) -> bool:
        """Whether a key has yet to find its place: it waits, or found none when it was tried."""
        return key in self._waiting or key in self._failures

    def add(self, key: K, priority: int, now: float, lane: str = "") -> None:
        """Let a key be looked at, at once; one that waits already keeps its place."""
        rank = _Rank(priority, lane)
        if key in self._taken:
            first = self._again.get(key)
            self._again[key] = _Entry(key, rank, first.due if first else now)
            return
        waiting = self._waiting.get(key)
        since = waiting.due if waiting and waiting.due < now else now
        self._wait(_Entry(key, rank, since), now)

    def add_later(self, key: K, priority: int, due: float, now: float, lane: str = "") -> None:
        """Let a key be looked at then, unless it waits already."""
        if key not in self._waiting and key not in self._taken:
            self._wait(_Entry(key, _Rank(priority, lane), due), now)

    def cluster_changed(self, key: K, priority: int, now: float, lane: str = "") -> None:
        """Let a key be looked at since a cluster changed: who backs off does so to the end."""
        _, until = self._failures.get(key, (0, now))
        if key in self._taken or until <= now:
            self.add(key, priority, now, lane)
        else:
            self._wait(_Entry(key, _Rank(priority, lane), until), now)

    def take(self, key: K, now: float) -> bool:
        """Take this very key, out of turn, if it waits and may be looked at by now."""
        entry = self._waiting.get(key)
        if entry is None or entry.due > now:
            return False
        self._drop(entry)
        self._taken[key] = entry.rank
        return True

    def next(self, now: float) -> K | None:
        """Take the key to look at now, if there is one."""
        self._ripen(now)
        for level in sorted(self._ready, reverse=True):
            key = self._ready[level].first()
            if key is not None:
                self._ready[level].take(key)
                entry = self._waiting[key]
                self._drop(entry)
                self._taken[key] = entry.rank
                return key
        return None

    def lane(self, key: K) -> str:
        """In which lane a key waited that is taken."""
        return self._taken[key].lane

    def wake(self, now: float) -> float | None:
        """When to ask for the next again, if nothing is added until then."""
        self._ripen(now)
        while self._later and self._later[0][-1].dropped:
            heappop(self._later)
        if self._ready:
            return now
        return self._later[0][0] if self._later else None

    def failed(self, key: K, reason: Verdict, now: float) -> None:
        """Tell that a key that was taken found no place, and why: it comes again later.

        Where no cluster fits at all there is no use in trying again before something changes.
        """
        rank = self._taken.pop(key)
        times, _ = self._failures.get(key, (0, now))
        until = now + min(BACK_OFF_MOST, BACK_OFF_FIRST * 2 ** min(times, 10))
        self._failures[key] = (times + 1, until)
        again = self._again.pop(key, None)
        if again is not None:
            self._wait(again, now)
        elif reason is Verdict.UNSCHEDULABLE:
            self._wait(_Entry(key, rank, now + WAIT_MOST, for_room=True), now)
        elif reason is not Verdict.NO_CLUSTER_FIT:
            self._wait(_Entry(key, rank, until), now)

    def succeeded(self, key: K, now: float) -> None:
        """Tell that a key that was taken is done with."""
        del self._taken[key]
        self._failures.pop(key, None)
        again = self._again.pop(key, None)
        if again is not None:
            self._wait(again, now)

    def put_back(self, key: K, now: float) -> None:
        """Tell that nothing could be said yet of a key that was taken: it comes again at once."""
        rank = self._taken.pop(key)
        again = self._again.pop(key, None)
        self._wait(again or _Entry(key, rank, now), now)

    def forget(self, key: K) -> None:
        """Forget a key that is no more; if it is taken, its outcome is still to be told."""
        waiting = self._waiting.get(key)
        if waiting is not None:
            self._drop(waiting)
        self._again.pop(key, None)
        self._failures.pop(key, None)

    @property
    def waits_for_room(self) -> bool:
        """Whether somebody would be glad of room in a cluster."""
        return bool(self._for_room)

    def wants_room(self) -> list[K]:
        """Who would be glad of room in a cluster."""
        return [*self._for_room]

    def counts(self, now: float) -> dict[str, int]:
        """How many wait to be looked at now, back off, and wait for room, by Karmada's words."""
        found = {"active": 0, "backoff": 0, "unschedulable": 0}
        for entry in self._waiting.values():
            late = "unschedulable" if entry.for_room else "backoff"
            found["active" if entry.due <= now else late] += 1
        return found

    def _wait(self, entry: _Entry[K], now: float) -> None:
        before = self._waiting.get(entry.key)
        if before is not None and (before.rank, before.due, before.for_room) == (
            *(entry.rank, entry.due, entry.for_room),
        ):
            return
        if before is not None:
            self._drop(before)
        self._waiting[entry.key] = entry
        if entry.for_room:
            self._for_room[entry.key] = None
        if entry.due <= now:
            self._make_ready(entry)
        else:
            heappush(self._later, (entry.due, next(self._places), entry))

    def _level(self, entry: _Entry[K]) -> int:
        return entry.rank.priority if self.by_priority else 0

    def _make_ready(self, entry: _Entry[K]) -> None:
        ready = self._ready.setdefault(self._level(entry), Lanes())
        ready.add(entry.key, entry.rank.lane, entry.due)

    def _drop(self, entry: _Entry[K]) -> None:
        """Let a key wait no longer."""
        entry.dropped = True
        del self._waiting[entry.key]
        self._for_room.pop(entry.key, None)
        level = self._level(entry)
        ready = self._ready.get(level)
        if ready is not None and entry.key in ready:
            ready.remove(entry.key)
        if not ready:
            self._ready.pop(level, None)

    def _ripen(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            *_, entry = heappop(self._later)
            if not entry.dropped:
                self._make_ready(entry)
