"""What is still to be looked at: keys, each at most once, in the order in which they came.

Whoever notices a change adds a key; a worker takes keys and brings each a step closer to where it
should be. Several may work on one list; no key is ever with two of them. A key that fails comes
back after a pause, longer each time; one that is added while it is being worked on is worked on
again. Lists that share `Turns` let what is more pressing go first, in whichever list it waits or is
worked on, unless nobody there gets on. Of what presses least, much at a time waits until nothing
has pressed more for a moment, though not for long.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Generic, Protocol, TypeVar

from atoll.effects import stopwatch
from atoll.runtime.children import report_failure
from atoll.runtime.stalls import doing
from atoll.runtime.tallies import Tallies

K = TypeVar("K", bound=Hashable)

log = logging.getLogger("atoll.runtime")

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 30.0
_LEVELS = 4
_PATIENCE_S = 0.1
_IN_HAND_S = 0.02
_TURN_AFTER_S = 1.0
_UNHURRIED = 2
"""From this level on much at a time waits for a calm moment."""
_CALM_S = 0.2
_PATIENT_S = 20.0


class _Sharing(Protocol):
    """A list as those who share turns with it see it."""

    @property
    def name(self) -> str:
        """By which it is counted; several may have the same."""

    def __len__(self) -> int:
        """How many keys wait."""

    def at_ease(self) -> None:
        """Nothing waits at some level any more."""

    def presses(self, level: int) -> bool:
        """Whether something more pressing than this level waits here, and somebody gets on."""


class Turns:
    """How many keys wait at each level, over all lists that share this; level 0 presses most.

    What is in hand presses as well, if only for a moment: most of the time it soon leads to more
    that presses, and else the time in between would go to what could have waited.
    """

    def __init__(self) -> None:
        self._waiting = [0] * _LEVELS
        self._in_hand: list[dict[object, float]] = [{} for _ in range(_LEVELS)]
        self._worked_at = [-inf] * _LEVELS
        self._lists: list[_Sharing] = []
        self.tallies = Tallies()

    def depths(self) -> dict[str, int]:
        """How many keys wait now, by the names of the lists."""
        found: dict[str, int] = {}
        for each in self._lists:
            found[each.name] = found.get(each.name, 0) + len(each)
        return found

    def join(self, one: _Sharing) -> None:
        self._lists.append(one)

    def leave(self, one: _Sharing) -> None:
        self._lists.remove(one)

    def count(self, level: int, more: int) -> None:
        self._waiting[level] += more
        self._let_go_on(level)

    @contextmanager
    def holding(self, level: int) -> Iterator[None]:
        """Something of this level is in hand."""
        one = object()
        self._in_hand[level][one] = _clock()
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
        if not any(self._waiting[:level]):
            return True
        return not any(each.presses(level) for each in self._lists)

    def are_calm(self, level: int) -> bool:
        """Whether nothing more pressing than this level was worked on for a moment."""
        return max(self._worked_at[:level], default=-inf) + _CALM_S <= _clock()

    def _let_go_on(self, level: int) -> None:
        if not self._waiting[level] and any(self._waiting) and not _is_fresh(self._in_hand[level]):
            for each in self._lists:
                each.at_ease()


class Worklist(Generic[K]):
    """Keys that wait, and those that wait for a second chance.

    `passing`: failures that are nobody's fault here, and of which others tell. `few`: so many keys
    that press little are worked on in the gaps between what presses more. While there are more,
    these gaps belong to whoever else works on the same: each waits until all is calm, though the
    less long the fewer they are.
    """

    def __init__(
        self,
        name: str,
        turns: Turns | None = None,
        *,
        passing: tuple[type[Exception], ...] = (),
        few: float = inf,
    ) -> None:
        self.name = name
        self._few = few
        self._passing = passing
        self._turns = turns or Turns()
        self._turns.join(self)
        self._waiting: list[dict[K, float]] = [{} for _ in range(_LEVELS)]
        """Keys by level, and since when they wait."""
        self._busy: set[K] = set()
        self._workers = 0
        self._got_on_at = 0.0
        self._due: float | None = None
        self._failures: dict[K, int] = {}
        self._idle: dict[asyncio.Future[None], None] = {}
        self._later: dict[tuple[K, int], asyncio.TimerHandle] = {}
        """Keys that are added by and by, each once at a level."""
        self._is_closed = False

    def close(self) -> None:
        """Forget all that waits, and take nothing more; nobody else waits for this any more."""
        self._is_closed = True
        for level, waiting in enumerate(self._waiting):
            self._turns.count(level, -len(waiting))
            waiting.clear()
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()
        self._turns.leave(self)

    def share(self, turns: Turns) -> None:
        """From now on let what is more pressing in other lists go first."""
        for level, waiting in enumerate(self._waiting):
            self._turns.count(level, -len(waiting))
            turns.count(level, len(waiting))
        self._turns = turns
        turns.join(self)

    def add(self, key: K, level: int = 0) -> None:
        """Have a key looked at; one that waits already does so at the more pressing level."""
        if self._is_closed:
            return
        since = _clock()
        for each, waiting in enumerate(self._waiting):
            if key in waiting:
                if each <= level:
                    return
                since = waiting.pop(key)
                self._turns.count(each, -1)
        self._waiting[level][key] = since
        self._turns.tallies.adds.add(self.name)
        self._turns.count(level, 1)
        self._wake()

    def add_later(self, key: K, pause_s: float, level: int = 0) -> None:
        """Add a key after a pause, unless it is going to be added sooner at this level."""
        if self._is_closed:
            return
        loop = asyncio.get_running_loop()
        due, sooner = loop.time() + pause_s, self._later.get((key, level))
        if sooner is not None:
            if sooner.when() <= due:
                return
            sooner.cancel()
        self._later[key, level] = loop.call_at(due, self._add_due, key, level)

    def _add_due(self, key: K, level: int) -> None:
        del self._later[key, level]
        self.add(key, level)

    def __len__(self) -> int:
        return sum(map(len, self._waiting))

    async def run(self, work: Callable[[K], Awaitable[None]]) -> None:
        """Work on every key that is added, one at a time, for ever."""
        self._workers += 1
        try:
            while True:
                await self._work_once(work)
        finally:
            self._workers -= 1

    async def _work_once(self, work: Callable[[K], Awaitable[None]]) -> None:
        key, level = await self._next()
        begun = stopwatch()
        doing(self.name, key)
        try:
            with self._turns.holding(level):
                await work(key)
        except Exception as error:  # noqa: BLE001 - one bad key must not stop the others
            self._retry(key, error)
        else:
            self._failures.pop(key, None)
            await asyncio.sleep(0)
        finally:
            self._busy.discard(key)
            self._got_on_at = _clock()
            self._turns.tallies.worked.note(stopwatch() - begun, self.name)

    async def _next(self) -> tuple[K, int]:
        """The most pressing key that is with nobody, and its level; now it is with the caller.

        What presses less waits for its turn, but not for ever: there may always be more. So one
        key at a time is taken out of turn.
        """
        while True:
            key, level = self._first()
            if key is not None:
                is_due = self._due is not None and self._due <= _clock()
                if is_due or self._has_turn(key, level):
                    self._due = None
                    self._got_on_at = _clock()
                    since = self._waiting[level].pop(key)
                    self._turns.tallies.waited.note(self._got_on_at - since, self.name)
                    self._busy.add(key)
                    self._turns.count(level, -1)
                    self._wake()
                    return key, level
                self._due = self._due or _clock() + _TURN_AFTER_S
            await self._wait(None if key is None else _PATIENCE_S)

    def _has_turn(self, key: K, level: int) -> bool:
        if not self._turns.has(level):
            return False
        waiting = self._waiting[level]
        if level < _UNHURRIED or len(waiting) <= self._few:
            return True
        patience_s = min(len(waiting) / self._few, _PATIENT_S) if self._few else _PATIENT_S
        return _clock() >= waiting[key] + patience_s or self._turns.are_calm(level)

    async def _wait(self, longest_s: float | None) -> None:
        """Until there may be something to do, or at most so long."""
        loop = asyncio.get_running_loop()
        waker = loop.create_future()
        self._idle[waker] = None
        timer = None if longest_s is None else loop.call_later(longest_s, _set, waker)
        try:
            await waker
        finally:
            self._idle.pop(waker, None)
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        """Let one who waits look for a key, if there are any; who takes one wakes the next."""
        if self._idle and len(self):
            waker = next(iter(self._idle))
            del self._idle[waker]
            _set(waker)

    def _first(self) -> tuple[K | None, int]:
        for level, waiting in enumerate(self._waiting):
            for key in waiting:
                if key not in self._busy:
                    return key, level
        return None, 0

    def at_ease(self) -> None:
        self._wake()

    def presses(self, level: int) -> bool:
        if not any(self._waiting[:level]):
            return False
        # All at work for long: they hang, and what waits here is not helped by others waiting too.
        return len(self._busy) < self._workers or _clock() < self._got_on_at + _PATIENCE_S

    def _retry(self, key: K, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = min(_FIRST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)
        if isinstance(error, self._passing):
            said = {"worklist": self.name, "key": key, "again_s": pause_s, "err": error}
            log.debug("%(worklist)s: %(key)s (again in %(again_s)g s): %(err)s", said)
        else:
            report_failure(f"{self.name}: {key} (again in {pause_s:g} s)", error)
        self._turns.tallies.retries.add(self.name)
        self.add_later(key, pause_s)


def _is_fresh(in_hand: dict[object, float]) -> bool:
    """Whether something was taken in hand a moment ago; the last comes last."""
    return bool(in_hand) and _clock() < next(reversed(in_hand.values())) + _IN_HAND_S


def _set(waker: asyncio.Future[None]) -> None:
    if not waker.done():
        waker.set_result(None)


def _clock() -> float:
    return asyncio.get_running_loop().time()
