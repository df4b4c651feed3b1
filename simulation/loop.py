"""asyncio as a discrete-event simulation.

Callbacks and timers come in; they run in order of due time, then of arrival. Time is an integer
number of nanoseconds and passes only when nothing is left to do now, so an hour of back-off costs
nothing. What would hang a real program is an error here: nothing left to wait for, no time
passing, a callback that fails. The loop knows no seed: it has nothing to draw.
"""

import asyncio
import heapq
import sys
import threading
import weakref
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from itertools import count
from typing import Any, TypeVar, TypeVarTuple

from simulation.birth import SimFuture, SimTask, describe_waiting
from simulation.outside import THREADS, Enclosed, OutsideReached
from simulation.trace import Trace, label_of

NS = 1_000_000_000
STEPS_PER_INSTANT_MAX = 100_000
SAMPLED_STEPS = 1_000
CANCELLED_TIMERS_MIN = 100

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
ExceptionHandler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]


class Deadlock(RuntimeError):
    """Every task waits, and nothing is scheduled that could wake one of them."""


class HotLoop(RuntimeError):
    """Callbacks go on and on while time stands still."""


class CallbackFailed(RuntimeError):
    """A callback or an unobserved task failed; on a real loop this would only be logged."""


class SimLoop(Enclosed):
    """An event loop whose every run with the same input takes the same steps."""

    def __init__(
        self, trace: Trace | None = None, steps_per_instant_max: int = STEPS_PER_INSTANT_MAX
    ) -> None:
        self.trace = trace or Trace()
        self.now_ns = 0
        # Timers wait in a heap by (due, arrival). What is due now has moved to the queue, where
        # whatever comes later is appended: together they are one order by due time and arrival.
        self._timers: list[tuple[int, int, asyncio.TimerHandle]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._arrivals = count()
        self._births = count(1)
        self._cancelled_timers = 0
        self._steps_per_instant_max = steps_per_instant_max
        self._steps_this_instant = 0
        self._busiest: Counter[str] = Counter()
        self._thread = threading.get_ident()
        self._running = self._stopping = self._closed = False
        self._failure: BaseException | None = None
        self._exception_handler: ExceptionHandler | None = None
        # In order of first use; a WeakSet would walk in the order of addresses.
        self._generators: weakref.WeakKeyDictionary[AsyncGenerator[Any, Any], None]
        self._generators = weakref.WeakKeyDictionary()
        self.dropped_generators: list[str] = []

    # Time and order.

    def time(self) -> float:
        return self.now_ns / NS

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        self._check_usable()
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        due_ns = self.now_ns + round(delay * NS)
        return self._call_at_ns(
            due_ns, asyncio.TimerHandle(due_ns / NS, callback, args, self, context)
        )

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        due_ns = round(when * NS)
        # Never early, not by half a nanosecond: who waits for a time must find that it has come.
        if due_ns / NS < when:
            due_ns += 1
        return self._call_at_ns(due_ns, asyncio.TimerHandle(when, callback, args, self, context))

    def _call_at_ns(self, due_ns: int, handle: asyncio.TimerHandle) -> asyncio.TimerHandle:
        self._check_usable()
        if due_ns <= self.now_ns:
            self._ready.append(handle)
        else:
            heapq.heappush(self._timers, (due_ns, next(self._arrivals), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Forget cancelled timers once they are the majority; each request has a deadline."""
        self._cancelled_timers += 1
        if self._cancelled_timers > max(CANCELLED_TIMERS_MIN, len(self._timers) // 2):
            # The handle itself is marked as cancelled only after this call.
            self._timers = [t for t in self._timers if t[2] is not handle and not t[2].cancelled()]
            heapq.heapify(self._timers)
            self._cancelled_timers = 0

    def _check_usable(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        if threading.get_ident() != self._thread:
            raise OutsideReached(f"another thread used the simulation's loop: {THREADS}")

    # Running.

    def step(self) -> bool:
        """Run the next callback; False if there is none, now or ever."""
        if not self._ready and not self._advance():
            return False
        handle = self._ready[0]
        if not handle.cancelled():
            label = label_of(handle._callback)  # type: ignore[attr-defined]
            # Before it is taken: what is not run now must be there when the run is wound up.
            self._count(label)
            self.trace.step(self.now_ns, label)
        self._ready.popleft()
        if not handle.cancelled():
            handle._run()
        self.raise_failure()
        return True

    def raise_failure(self) -> None:
        """Raise what a callback, or a task that nobody waited for, has failed with."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _advance(self) -> bool:
        """Move the clock to the next timer and make ready all that is due then."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            return False
        self.now_ns = self._timers[0][0]
        while self._timers and self._timers[0][0] == self.now_ns:
            self._ready.append(heapq.heappop(self._timers)[2])
        self._steps_this_instant = 0
        return True

    def _count(self, label: str) -> None:
        self._steps_this_instant += 1
        left = self._steps_per_instant_max - self._steps_this_instant
        if left == SAMPLED_STEPS:
            self._busiest.clear()
        elif left < SAMPLED_STEPS:
            self._busiest[label] += 1
        if left <= 0:
            busiest = ", ".join(f"{name} ({n})" for name, n in self._busiest.most_common(5))
            raise HotLoop(
                f"t={self.time():.3f}s: {self._steps_this_instant} steps and time stands still; "
                f"most of the last steps were of {busiest}"
            )

    def run_forever(self) -> None:
        self._run_until(lambda: self._stopping)
        self._stopping = False

    def run_until_complete(self, future: Any) -> Any:
        self._check_usable()
        task = asyncio.ensure_future(future, loop=self)
        self._run_until(task.done)
        return task.result()

    def _run_until(self, at_end: Callable[[], bool]) -> None:
        self._check_usable()
        if self._running:
            raise RuntimeError("This event loop is already running")
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._generator_begun, finalizer=self._generator_dropped)
        self._running = True
        self._steps_this_instant = 0
        asyncio._set_running_loop(self)
        try:
            while not at_end():
                if not self.step():
                    raise Deadlock(self._describe_deadlock())
        finally:
            self._running = False
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def stop(self) -> None:
        """End run_forever before its next step."""
        self._stopping = True

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        if self._running:
            raise RuntimeError("Cannot close a running event loop")
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def pending_tasks(self) -> list[SimTask]:
        """The tasks that have not ended, oldest first."""
        tasks = [task for task in asyncio.all_tasks(self) if isinstance(task, SimTask)]
        return sorted(tasks, key=lambda task: task.birth)

    def _describe_deadlock(self) -> str:
        waiting = "; ".join(map(describe_waiting, self.pending_tasks())) or "nothing"
        return f"t={self.time():.3f}s: nothing is scheduled, and these wait: {waiting}"

    # Tasks, futures and generators.

    def create_future(self) -> SimFuture:
        return SimFuture(birth=next(self._births), loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        eager_start: bool | None = None,
    ) -> asyncio.Task[T]:
        self._check_usable()
        assert not eager_start, "an eager task runs before its turn; start it the usual way"
        birth = next(self._births)
        return SimTask(coro, birth=birth, loop=self, name=name, context=context)

    def set_task_factory(self, factory: Any) -> None:
        assert factory is None, "the simulation makes its own tasks, hashed by birth"

    def get_task_factory(self) -> Any:
        return None

    def _generator_begun(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators[generator] = None

    def _generator_dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An unfinished generator was forgotten; close it as asyncio does, and remember who."""
        self._generators.pop(generator, None)
        self.dropped_generators.append(getattr(generator, "__qualname__", "a generator"))
        if not self._closed:
            self.create_task(generator.aclose(), name="close a dropped generator")

    async def shutdown_asyncgens(self) -> None:
        for generator in list(self._generators):
            await generator.aclose()

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is no executor to shut down."""

    # Failures.

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        self._exception_handler = handler

    def get_exception_handler(self) -> ExceptionHandler | None:
        return self._exception_handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._exception_handler is None:
            self.default_exception_handler(context)
        else:
            self._exception_handler(self, context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Remember the first failure; the next step raises it."""
        if self._failure is None:
            self._failure = CallbackFailed(context.get("message", "a callback failed"))
            self._failure.__cause__ = context.get("exception")

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:  # noqa: FBT001 - asyncio's signature
        """Debug mode would only add the time of day; the simulation is strict as it is."""
