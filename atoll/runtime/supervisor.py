"""The owner of what runs for as long as the process does.

Named coroutine functions come in; each runs as a task until it returns, fails or is stopped. One
that fails interrupts the owner's body and ends everything, unless it was declared restartable.
Stopping goes backwards: what was started last, and so may use the others, ends first. What the
tasks do is not known here. Not built on asyncio.TaskGroup, which cancels all its tasks at once, in
the order of their addresses, and then waits for them without a bound.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from atoll.effects import Chance
from atoll.errors import AtollError
from atoll.runtime.children import report_failure, report_immortal
from atoll.runtime.stalls import measured

log = logging.getLogger("atoll.runtime")

# Even when an earlier task has used up the time, each of the others may run its `finally`.
SHORTEST_STOP_S = 0.1

Run = Callable[[], Awaitable[object]]


class TaskFailed(AtollError):
    """A task that must not fail has failed, and its group was stopped. The cause is chained."""

    def __init__(self, task: str, error: BaseException) -> None:
        super().__init__(f"{task} failed: {type(error).__name__}: {error}")
        self.task = task


class Forsaken(AtollError):
    """A task was cancelled by someone who does not own it, so its work is undone for no reason."""


@dataclass(frozen=True, slots=True)
class Restart:
    """How long to wait before a failed task is started again: doubling, up to a longest wait.

    After `calm_s` without a failure the next wait is the first one again.
    """

    first_s: float = 0.5
    longest_s: float = 30.0
    calm_s: float = 60.0


class Supervisor:
    """Use as `async with Supervisor(...) as it`, start tasks, then `await it.until_stopped()`.

    Leaving the block stops every task, last started first, within `stop_within_s` altogether. If a
    task failed, the block is interrupted wherever it waits, and raises TaskFailed once all is down.
    """

    def __init__(self, name: str, chance: Chance, *, stop_within_s: float = 10.0) -> None:
        self._name = name
        self._chance = chance
        self._stop_within_s = stop_within_s
        # Those that run, in order of start, and how each is asked to stop.
        self._running: dict[asyncio.Task[None], Callable[[], None] | None] = {}
        self._stop_asked = asyncio.Event()
        self._failure: TaskFailed | None = None
        self._owner: asyncio.Task[object] | None = None
        self._owner_cancelling = 0
        self._interrupted = False
        self._stopping = False

    def start(
        self,
        name: str,
        run: Run,
        *,
        restart: Restart | None = None,
        ask_to_stop: Callable[[], None] | None = None,
    ) -> asyncio.Task[None]:
        """Start a task that may return, but not fail, unless `restart` says how it is retried.

        At the end it is cancelled; or, where `ask_to_stop` is given, asked first, and cancelled
        only when the time is up.
        """
        assert self._owner is not None, "start tasks inside the supervisor's `async with`"
        assert not self._stopping, f"{self._name} is stopping and starts nothing new: {name}"
        coro = _run_once(run) if restart is None else self._run_again(name, run, restart)
        coro = measured(coro, name.rstrip("0123456789 "))
        task = asyncio.get_running_loop().create_task(coro, name=name)
        self._running[task] = ask_to_stop
        task.add_done_callback(self._ended)
        return task

    def stop(self) -> None:
        """Ask for an orderly end; `until_stopped` returns."""
        self._stop_asked.set()

    async def until_stopped(self) -> None:
        await self._stop_asked.wait()

    async def _run_again(self, name: str, run: Run, restart: Restart) -> None:
        loop = asyncio.get_running_loop()
        wait_s = restart.first_s
        while True:
            started = loop.time()
            try:
                await run()
                return
            except Exception as error:  # noqa: BLE001 - whatever it was, the task runs again
                report_failure(f"{self._name}: {name}", error)
            if loop.time() - started >= restart.calm_s:
                wait_s = restart.first_s
            await asyncio.sleep(wait_s * self._chance.of(f"restart {name}").uniform(0.5, 1.0))
            wait_s = min(wait_s * 2, restart.longest_s)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        if task.cancelled():
            if self._stopping:
                return
            error: BaseException | None = Forsaken("cancelled by someone else than its owner")
        else:
            error = task.exception()
        if error is None:
            said = {"owner": self._name, "task": task.get_name()}
            log.debug("%(owner)s: %(task)s has ended", said)
            return
        report_failure(f"{self._name}: {task.get_name()}", error)
        if self._failure is None:
            self._failure = TaskFailed(f"{self._name}: {task.get_name()}", error)
            self._failure.__cause__ = error
            self._interrupt_owner()

    def _interrupt_owner(self) -> None:
        if self._owner is not None and not self._stopping:
            self._interrupted = True
            self._owner.cancel()

    async def _stop_all(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._stop_within_s
        for task, ask_to_stop in reversed(list(self._running.items())):
            await _end(task, ask_to_stop, max(SHORTEST_STOP_S, deadline - loop.time()))
        # One that ended by itself at this very moment is only not struck off yet.
        for task in (each for each in self._running if not each.done()):
            report_immortal(f"{self._name}: {task.get_name()}", self._stop_within_s)

    async def __aenter__(self) -> Self:
        self._owner = asyncio.current_task()
        assert self._owner is not None
        self._owner_cancelling = self._owner.cancelling()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        assert self._owner is not None
        self._stopping = True
        ours = self._interrupted and self._owner.uncancel() <= self._owner_cancelling
        await self._stop_all()
        if self._failure is not None:
            raise self._failure
        return ours and kind is asyncio.CancelledError


async def _run_once(run: Run) -> None:
    await run()


async def _end(
    task: asyncio.Task[None], ask_to_stop: Callable[[], None] | None, within_s: float
) -> None:
    """Ask if that was agreed, then cancel; half of the time for each."""
    if ask_to_stop is not None and not task.done():
        ask_to_stop()
        within_s /= 2
        await asyncio.wait((task,), timeout=within_s)
    if task.cancel():
        await asyncio.wait((task,), timeout=within_s)
