"""One run of one program under one seed.

A coroutine function and a seed come in; what it returned, the digest of its trace and the virtual
time it took go out. Clock and chance of every node come from here. A failure carries the seed that
replays it. What the program is, is not known here.
"""

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from atoll.effects import Chance, Effects
from simulation.birth import SimTask, describe_waiting
from simulation.loop import SimLoop
from simulation.trace import Trace, Write

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WIND_UP_S = 3600.0
WIND_UP_ROUNDS = 3

T = TypeVar("T")


class Leaked(RuntimeError):
    """The program ended and left tasks or generators behind that nobody waits for."""


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """What a run gave; equal traces mean that two runs did the same things in the same order."""

    value: T
    trace: str
    steps: int
    virtual_s: float


class World:
    """What a simulated program is given instead of the real clock and real chance."""

    def __init__(self, seed: int, loop: SimLoop) -> None:
        self.seed = seed
        self._loop = loop

    def effects(self, node: str, *, skew_s: float = 0.0) -> Effects:
        """The clock and chance of one node; its clock is off by the skew."""
        start = EPOCH + timedelta(seconds=skew_s)
        return Effects(
            now=lambda: start + timedelta(microseconds=self._loop.now_ns // 1000),
            chance=Chance(f"{self.seed}/{node}"),
        )

    def note(self, what: str) -> None:
        """Put a line into the trace, in the name of the task that runs now."""
        task = asyncio.current_task(self._loop)
        self._loop.trace.note(self._loop.now_ns, task.get_name() if task else "-", what)


def simulate(
    main: Callable[[World], Awaitable[T]],
    seed: int,
    *,
    write: Write | None = None,
    each_step: bool = False,
) -> Result[T]:
    """Run the program to its end in virtual time, and insist that it leaves nothing behind."""
    trace = Trace(write, each_step=each_step)
    loop = SimLoop(trace)
    with _without_gc():
        try:
            value: T = loop.run_until_complete(_start(main, World(seed, loop), loop))
            result = Result(value, trace.digest(), trace.step_count, loop.time())
            left = [*map(describe_waiting, loop.pending_tasks()), *loop.dropped_generators]
            if left:
                raise Leaked(f"left behind at the end: {'; '.join(left)}")
            _raise_unseen_failure(loop)
        except Exception as error:
            error.add_note(f"SEED={seed} after {trace.step_count} steps, t={loop.time():.6f}s")
            raise
        finally:
            _wind_up(loop)
            loop.close()
    return result


def _start(main: Callable[[World], Awaitable[T]], world: World, loop: SimLoop) -> asyncio.Task[T]:
    async def run() -> T:
        return await main(world)

    return loop.create_task(run(), name="main")


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """Keep the collector, and the finalisers it would run at odd moments, out of the run."""
    was_enabled = gc.isenabled()
    gc.disable()
    # What exists already need not be looked at when the run is searched for unseen failures.
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _wind_up(loop: SimLoop) -> None:
    """Cancel what is left, so that its `finally` runs; after a failure that is all one can do."""
    loop.set_exception_handler(lambda _loop, _context: None)
    with contextlib.suppress(RuntimeError):
        for _ in range(WIND_UP_ROUNDS):
            tasks = loop.pending_tasks()
            if tasks:
                loop.run_until_complete(_cancel(tasks))
        loop.run_until_complete(loop.shutdown_asyncgens())
    for task in loop.pending_tasks():
        task._log_destroy_pending = False  # type: ignore[attr-defined]


async def _cancel(tasks: list[SimTask]) -> None:
    for task in reversed(tasks):
        task.cancel()
    await asyncio.wait(tasks, timeout=WIND_UP_S)


def _raise_unseen_failure(loop: SimLoop) -> None:
    """A task whose failure nobody looked at says so only when it is collected."""
    gc.collect()
    loop.raise_failure()
