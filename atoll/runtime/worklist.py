"""What is still to be looked at: keys, each at most once, in the order in which they came.

Whoever notices a change adds a key; a worker takes keys and brings each a step closer to where it
should be. Several may work on one list; no key is ever with two of them. A key that fails comes
back after a pause, longer each time; one that is added while it is being worked on is worked on
again. Lists that share `Turns` let what is more pressing go first, in whichever list it waits or is
worked on, unless nobody there gets on; what presses less has a share of the turns all the same. Of
what presses least, much at a time waits until nothing has pressed more for a moment, though not for
long. At each level lanes take turns: a key waits in the lane of what led to it (`caused_by`), or in
its own.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from math import inf
from typing import Generic, TypeVar

from atoll.effects import stopwatch
from atoll.runtime.causes import cause, caused_by
from atoll.runtime.children import report_failure
from atoll.runtime.lanes import Lanes
from atoll.runtime.stalls import doing
from atoll.runtime.turns import LEVELS, PATIENCE_S, Turns

K = TypeVar("K", bound=Hashable)

log = logging.getLogger("atoll.runtime")

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 30.0
_PATIENT_S = (0.0, 0.0, 2.0, 20.0)
"""By level, so long much at a time waits for a calm moment."""


class Worklist(Generic[K]):
    """Keys that wait, and those that wait for a second chance.

    `passing`: failures that are nobody's fault here, and of which others tell. `few`: so many keys
    that press little are worked on in the gaps between what presses more. While there are more,
    these gaps belong to whoever else works on the same: each waits until all is calm, though the
    less long the fewer they are. `lane`: the lane that a key waits in if nothing else led to it.
    """

    def __init__(
        self,
        name: str,
        turns: Turns | None = None,
        *,
        passing: tuple[type[Exception], ...] = (),
        few: float = inf,
        lane: Callable[[K], str] = lambda _key: "",
    ) -> None:
        self.name = name
        self._few = few
        self._lane = lane
        self._passing = passing
        self._turns = turns or Turns()
        self._turns.join(self)
        self._waiting: list[Lanes[K]] = [Lanes() for _ in range(LEVELS)]
        self._busy: set[K] = set()
        self._workers = 0
        self._got_on_at = 0.0
        self._failures: dict[K, int] = {}
        self._idle: dict[asyncio.Future[None], None] = {}
        self._later: dict[tuple[K, int], asyncio.TimerHandle] = {}
        """Keys that are added by and by, each once at a level."""
        self._is_closed = False

    def close(self) -> None:
        """Forget all that waits, and take nothing more; nobody else waits for this any more."""
        self._is_closed = True
        for level, waiting in enumerate(self._waiting):
            self._turns.count(self, level, -len(waiting))
            waiting.clear()
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()
        self._turns.leave(self)

    def share(self, turns: Turns) -> None:
        """From now on let what is more pressing in other lists go first."""
        for level, waiting in enumerate(self._waiting):
            self._turns.count(self, level, -len(waiting))
            turns.count(self, level, len(waiting))
        self._turns = turns
        turns.join(self)

    def add(self, key: K, level: int = 0) -> None:
        """Have a key looked at; one that waits already does so at the more pressing level."""
        if self._is_closed:
            return
        own, since = self._lane(key), _clock()
        lane = cause() or own
        for each, waiting in enumerate(self._waiting):
            if key in waiting:
                if each <= level and (lane != own or waiting.lane(key) == own):
                    return
                level, since = min(each, level), waiting.remove(key)
                self._turns.count(self, each, -1)
        self._waiting[level].add(key, lane, since)
        self._turns.tallies.adds.add(self.name)
        self._turns.count(self, level, 1)
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
        key, level, lane = await self._next()
        begun = stopwatch()
        doing(self.name, key)
        try:
            with self._turns.holding(level), caused_by(lane):
                await work(key)
        except Exception as error:  # noqa: BLE001 - one bad key must not stop the others
            with caused_by(lane):
                self._retry(key, error)
        else:
            self._failures.pop(key, None)
            await asyncio.sleep(0)
        finally:
            self._busy.discard(key)
            self._got_on_at = _clock()
            self._turns.tallies.worked.note(stopwatch() - begun, self.name)

    async def _next(self) -> tuple[K, int, str]:
        """The most pressing key that is with nobody, its level and lane; now it is with the
        caller.
        """
        while True:
            is_waiting = False
            for level, waiting in enumerate(self._waiting):
                key = waiting.first(self._busy)
                if key is None:
                    continue
                is_waiting = True
                if self._has_turn(key, level):
                    lane = waiting.lane(key)
                    self._take(key, level)
                    return key, level, lane
            await self._wait(PATIENCE_S if is_waiting else None)

    def _take(self, key: K, level: int) -> None:
        self._got_on_at = _clock()
        since = self._waiting[level].take(key)
        self._turns.tallies.waited.note(self._got_on_at - since, self.name)
        self._busy.add(key)
        self._turns.count(self, level, -1)
        self._wake()

    def _has_turn(self, key: K, level: int) -> bool:
        if self._turns.is_due(level):
            return True
        if not self._turns.has(level):
            return False
        waiting = self._waiting[level]
        if not _PATIENT_S[level] or len(waiting) <= self._few:
            return True
        patience_s = min(len(waiting) / (self._few or 1e-9), _PATIENT_S[level])
        return _clock() >= waiting.since(key) + patience_s or self._turns.are_calm(level)

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

    def at_ease(self) -> None:
        self._wake()

    def presses(self, level: int) -> bool:
        if not any(self._waiting[:level]):
            return False
        # All at work for long: they hang, and what waits here is not helped by others waiting too.
        return len(self._busy) < self._workers or _clock() < self._got_on_at + PATIENCE_S

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


def _set(waker: asyncio.Future[None]) -> None:
    if not waker.done():
        waker.set_result(None)


def _clock() -> float:
    return asyncio.get_running_loop().time()
