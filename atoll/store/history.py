"""The recent past: every event since the compacted revision, in memory, shared by all watchers.

Each collection has a track: its events, addressed by positions that never shift, so that a watcher
is a cursor and needs no buffer of its own. Compaction takes the oldest events of all tracks
together, slice by slice. Time is an argument; nothing here waits, apart from handing out futures
to those who wait for the next event.
"""

import asyncio
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from math import ceil
from operator import attrgetter

from atoll.errors import Gone
from atoll.store.record import Event, Record

# What an event weighs besides its bytes: the event, its record, names and places in lists.
EVENT_OVERHEAD = 500
# Watchers this close behind the newest event find it encoded; others encode it again.
FRAMES_KEPT = 1_000
# So far behind may be who waits for names of which no event told, before going on with the others.
SLEPT_MAX = 500

revision_of = attrgetter("revision")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much history is kept, and how much is done at a time.

    Events are kept for `history_s`, unless that would take more than `history_events` or
    `history_bytes` (exceeded by one commit group at most).
    """

    history_s: float = 300.0
    history_events: int = 100_000
    history_bytes: int = 256 * 1024 * 1024
    slice_events: int = 1_000
    group_rows: int = 500
    group_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Slice:
    """The oldest events, about to be forgotten, and the rows that nobody needs without them."""

    revision: int
    count: int
    dead: list[int]


class Track:
    """The events of one collection. Position `first` is the oldest still there."""

    __slots__ = ("_slept", "_waiters", "events", "first")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.first = 0
        # By what the names begin with that they wait for.
        self._waiters: dict[str, dict[asyncio.Future[None], None]] = {}
        self._slept = 0  # events since all were woken

    @property
    def end(self) -> int:
        return self.first + len(self.events)

    def position_after(self, revision: int) -> int:
        return self.first + bisect_right(self.events, revision, key=revision_of)

    def add(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) > FRAMES_KEPT:
            self.events[-1 - FRAMES_KEPT].frames.clear()

    def drop(self, count: int) -> None:
        del self.events[:count]
        self.first += count

    def as_of(self, revision: int) -> dict[str, Record | None]:
        """What the names changed since this revision held then; None for those that were not."""
        then: dict[str, Record | None] = {}
        for event in reversed(self.events):
            if event.revision <= revision:
                break
            then[event.after.name] = event.before
        return then

    def waiter(self, prefix: str = "") -> asyncio.Future[None]:
        """What is done when events of such names have been added, and now and then without any.

        Each waiter has its own future: cancelling one must not cancel the others.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(prefix, {})[waiter] = None
        return waiter

    def forget(self, waiter: asyncio.Future[None], prefix: str = "") -> None:
        """Wait no longer."""
        waiters = self._waiters.get(prefix)
        if waiters is not None and waiters.pop(waiter, self) is None and not waiters:
            del self._waiters[prefix]

    def wake(self, count: int) -> None:
        """Let all go on who wait for one of the newest events; once per commit group of so many.

        A prefix is everything, or all up to the first slash: a namespace.
        """
        self._slept += count
        if not self._waiters:
            self._slept = 0
        elif self._slept >= SLEPT_MAX:
            self._wake_all()
        else:
            names = (event.after.name.partition("/") for event in self.events[-count:])
            self._wake(["", *dict.fromkeys(head + slash for head, slash, _ in names)])

    def wake_before(self, count: int) -> bool:
        """Let all go on if somebody may wait for whom the oldest events, so many, are not past."""
        is_needed = bool(self._waiters) and count > len(self.events) - self._slept
        if is_needed:
            self._wake_all()
        return is_needed

    def _wake_all(self) -> None:
        self._slept = 0
        self._wake([*self._waiters])

    def _wake(self, prefixes: Iterable[str]) -> None:
        for prefix in prefixes:
            for waiter in self._waiters.pop(prefix, ()):
                if not waiter.done():
                    waiter.set_result(None)


class History:
    """All tracks in one order: what came after `compacted`, up to `revision`, the newest."""

    def __init__(self, compacted: int) -> None:
        self.compacted = compacted
        self.revision = compacted
        self._events: deque[tuple[Track, Event]] = deque()
        self._bytes = 0
        # (a moment by which everything up to the revision was there, revision), one per second.
        self._ages: deque[tuple[float, int]] = deque()

    def __len__(self) -> int:
        return len(self._events)

    def add(self, track: Track, event: Event) -> None:
        assert event.revision > self.revision, "revisions increase"
        track.add(event)
        self._events.append((track, event))
        self._bytes += len(event.after.value) + EVENT_OVERHEAD
        self.revision = event.revision

    def note_time(self, now: float) -> None:
        """Say that all events added so far happened by now."""
        if not self._events:
            return
        second = ceil(now)
        if self._ages and self._ages[-1][0] >= second:
            self._ages.pop()
        self._ages.append((second, self.revision))

    def check_kept(self, revision: int) -> None:
        """Raise Gone unless everything after this revision is still there."""
        if revision < self.compacted:
            raise Gone(revision, self.compacted)

    def due(self, limits: Limits) -> float | None:
        """When the oldest events are old enough to go; None if there are none. Time starts at 0."""
        if len(self._events) > limits.history_events or self._bytes > limits.history_bytes:
            return 0.0
        return self._ages[0][0] + limits.history_s if self._events and self._ages else None

    def oldest(self, limits: Limits, now: float) -> Slice:
        """Choose what to forget next, when it is due; `drop` then forgets it."""
        aged = self._aged(limits.history_s, now)
        events_over = len(self._events) - limits.history_events
        bytes_over = self._bytes - limits.history_bytes
        chosen: list[Event] = []
        for _, event in islice(self._events, limits.slice_events):
            if event.revision > aged and events_over <= 0 and bytes_over <= 0:
                break
            chosen.append(event)
            events_over -= 1
            bytes_over -= len(event.after.value) + EVENT_OVERHEAD
        dead = [event.before.revision for event in chosen if event.before is not None]
        dead += [event.revision for event in chosen if event.removed]
        return Slice(chosen[-1].revision, len(chosen), dead)

    def wake_before(self, gone: Slice) -> bool:
        """Let those go on who wait where these events are still to come; says if there are any."""
        per_track = Counter(track for track, _ in islice(self._events, gone.count))
        woken = [track for track, count in per_track.items() if track.wake_before(count)]
        return bool(woken)

    def drop(self, gone: Slice) -> None:
        per_track: Counter[Track] = Counter()
        for _ in range(gone.count):
            track, event = self._events.popleft()
            per_track[track] += 1
            self._bytes -= len(event.after.value) + EVENT_OVERHEAD
        for track, count in per_track.items():
            track.drop(count)
        self.compacted = gone.revision
        while self._ages and self._ages[0][1] <= gone.revision:
            self._ages.popleft()

    def _aged(self, age_s: float, now: float) -> int:
        """The newest revision known to be at least this old."""
        revision = 0
        for second, reached in self._ages:
            if second + age_s > now:
                break
            revision = reached
        return revision
