"""Short-lived tasks with an owner: one per connection, one per request.

A coroutine and a name come in; a task comes out. A child that fails is reported in one line of the
log, and its owner awaits or cancels those that are left before it goes away. What a child does, and
whether its failure matters to anyone else, is not known here; see `supervisor` for tasks that must
not fail.
"""

import asyncio
import logging
import traceback
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from atoll.runtime.stalls import measured

T = TypeVar("T")

log = logging.getLogger("atoll.runtime")


class Children:
    """The tasks that one owner has started and that have not ended yet, in order of birth.

    A child that is cancelled before its first step never runs, not even its `finally`; whatever
    must be released in any case belongs to the owner.
    """

    def __init__(self, owner: str, *, stop_within_s: float = 5.0, cause: str = "") -> None:
        """`cause`: as what stalls of the children count; by the name of the owner, if by none."""
        self._owner = owner
        self._cause = cause or owner
        self._stop_within_s = stop_within_s
        # A dict and not a set: a set of tasks iterates in the order of their addresses.
        self._alive: dict[asyncio.Task[Any], None] = {}

    def __len__(self) -> int:
        return len(self._alive)

    def spawn(self, coro: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Start a child; it is ours until it ends."""
        task = asyncio.get_running_loop().create_task(measured(coro, self._cause), name=name)
        self._alive[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        del self._alive[task]
        if not task.cancelled():
            error = task.exception()
            if error is not None:
                report_failure(f"{self._owner}: {task.get_name()}", error)

    async def cancel(self) -> None:
        """Cancel every child, youngest first, wait for their end, and report who did not end."""
        for task in reversed(list(self._alive)):
            task.cancel()
        if self._alive:
            await asyncio.wait(self._alive, timeout=self._stop_within_s)
        for task in self._alive:
            report_immortal(f"{self._owner}: {task.get_name()}", self._stop_within_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.cancel()


def report_failure(task: str, error: BaseException) -> None:
    """Say in one line of the log which task failed, how and where; the rest at debug level."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    said = {"task": task, "kind": type(error).__name__, "err": error, "where": where}
    log.error("%(task)s failed: %(kind)s: %(err)s%(where)s", said)
    log.debug("%(task)s failed", said, exc_info=error)


def report_immortal(task: str, waited_s: float) -> None:
    said = {"task": task, "waited_s": waited_s}
    log.error("%(task)s was cancelled and still runs after %(waited_s)g s; it is left behind", said)
