"""Stalls: synchronous stretches in which a task lets nobody else have the event loop, by cause.

In: the steps of tasks, from one await to the next, and collections of garbage. Out: a histogram of
those that took long, by cause: the worklist, the request or the informer that was at it, or else
whoever owns the task; and a line in the log, seldom, for one that took very long, with the key or
the path. What callbacks of the loop take is not seen, nor what is in no context of `watching`.
"""

import gc
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import inf
from types import TracebackType
from typing import Any, TypeVar

from atoll.effects import stopwatch
from atoll.instruments.counting import Histogram
from atoll.instruments.families import Family

T = TypeVar("T")
Cause = tuple[str, object]  # the label, and what it was about, for the log only

log = logging.getLogger("atoll.runtime")

STALL_S = 0.01
"""What is shorter is an ordinary step: no round is to hold the loop for longer."""
VERY_LONG_S = 1.0
_LOG_EVERY_S = 60.0
_GC = "gc"
_BUCKETS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Stalls:
    """Counts the stalls of all tasks that are started within `watching`."""

    def __init__(self, clock: Callable[[], float] = stopwatch) -> None:
        self.clock = clock
        self._histogram = Histogram(
            "atoll_event_loop_stall_seconds",
            "How long the event loop was held at a stretch, where that was over 10 ms, by cause.",
            _BUCKETS,
            "cause",
        )
        self._logged_at = -inf
        self._collecting_since = 0.0
        self._collected: deque[tuple[float, float]] = deque(maxlen=8)
        """When long collections of garbage began, and how long they took."""

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Whatever is started within is measured, and all that it starts."""
        token = _STALLS.set(self)
        gc.callbacks.append(self._collects)
        try:
            yield
        finally:
            gc.callbacks.remove(self._collects)
            _STALLS.reset(token)

    def numbers(self) -> list[Family]:
        return [self._histogram.family()]

    def note(self, begun: float, seconds: float, cause: str, about: object = None) -> None:
        """A step took long; if it was through collecting garbage, that was counted already."""
        seconds -= sum(took for since, took in self._collected if since >= begun)
        if seconds < STALL_S:
            return
        self._histogram.note(seconds, cause)
        if seconds >= VERY_LONG_S and begun >= self._logged_at + _LOG_EVERY_S:
            self._logged_at = begun
            said = {"for_s": seconds, "cause": cause, "about": about or "no key"}
            log.warning("%(cause)s held the event loop for %(for_s).2f s at %(about)s", said)

    def _collects(self, phase: str, _: object) -> None:
        if phase == "start":
            self._collecting_since = self.clock()
            return
        begun = self._collecting_since
        took = self.clock() - begun
        if took >= STALL_S:
            self.note(begun, took, _GC)
            self._collected.append((begun, took))


_STALLS: ContextVar[Stalls | None] = ContextVar("stalls", default=None)
_DOING: ContextVar[Callable[[], Cause] | None] = ContextVar("doing", default=None)


def doing(cause: str, about: object = None) -> None:
    """From now on this task is at that; what is told of it is put together only if it is told."""
    _DOING.set(partial(_as_is, cause, about))


@contextmanager
def doing_meanwhile(ask: Callable[[], Cause]) -> Iterator[None]:
    """This task is at something else for a while, of which is asked only if it stalls."""
    before = _DOING.get()
    _DOING.set(ask)
    try:
        yield
    finally:
        _DOING.set(before)


def measured(coro: Coroutine[Any, Any, T], cause: str) -> Coroutine[Any, Any, T]:
    """A coroutine whose long steps are counted for this cause, unless it says what it is doing.

    It is the coroutine itself where nobody counts.
    """
    stalls = _STALLS.get()
    return coro if stalls is None else _Measured(coro, stalls, cause)


class _Measured(Coroutine[Any, Any, T]):
    """Forwards to a coroutine, and looks how long each of its steps takes."""

    __slots__ = ("_cause", "_clock", "_coro", "_inherited", "_stalls")

    def __init__(self, coro: Coroutine[Any, Any, T], stalls: Stalls, cause: str) -> None:
        self._coro = coro
        self._stalls = stalls
        self._clock = stalls.clock
        self._cause = cause
        self._inherited = _DOING.get()  # what whoever started this is at, and this is not

    def send(self, value: Any) -> Any:
        begun = self._clock()
        try:
            return self._coro.send(value)
        finally:
            if (took := self._clock() - begun) >= STALL_S:
                self._note(begun, took)

    def throw(
        self,
        kind: Any,
        error: BaseException | object = None,
        trace: TracebackType | None = None,
    ) -> Any:
        begun = self._clock()
        try:
            if error is None and trace is None:
                return self._coro.throw(kind)
            return self._coro.throw(kind, error, trace)
        finally:
            if (took := self._clock() - begun) >= STALL_S:
                self._note(begun, took)

    def close(self) -> None:
        self._coro.close()

    def __await__(self) -> Any:
        return self._coro.__await__()

    def _note(self, begun: float, took: float) -> None:
        ask = _DOING.get()
        is_own = ask is not None and ask is not self._inherited
        cause, about = ask() if ask is not None and is_own else (self._cause, None)
        self._stalls.note(begun, took, cause, about)


def _as_is(cause: str, about: object) -> Cause:
    return cause, about
