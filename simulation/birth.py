"""Tasks and futures that are told apart by their order of birth instead of their address.

asyncio keeps tasks in sets (TaskGroup cancels its tasks in set order, `wait` and `all_tasks` build
sets). A task's usual hash is its address, so any unrelated allocation changes the order in which
such a set is walked. Hashed by birth number, the same history always gives the same order.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any


class SimFuture(asyncio.Future[Any]):
    """A future hashed by its birth number."""

    def __init__(self, *, birth: int, loop: asyncio.AbstractEventLoop) -> None:
        self.birth = birth
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.birth

    def __eq__(self, other: object) -> bool:
        return self is other


class SimTask(asyncio.Task[Any]):
    """A task hashed by its birth number, and named by it where nobody gave it a name."""

    def __init__(
        self,
        coro: Generator[Any, None, Any] | Coroutine[Any, Any, Any],
        *,
        birth: int,
        loop: asyncio.AbstractEventLoop,
        name: str | None = None,
        context: Context | None = None,
    ) -> None:
        # First, because asyncio puts the task into a set while it is being made.
        self.birth = birth
        # asyncio counts unnamed tasks per process, so that a second run would have other names.
        super().__init__(coro, loop=loop, name=name or f"task-{birth}", context=context)

    def __hash__(self) -> int:
        return self.birth

    def __eq__(self, other: object) -> bool:
        return self is other


def describe_waiting(task: SimTask) -> str:
    """Say which task this is and at which line of which file it waits."""
    awaiting: Any = task.get_coro()
    where = ""
    while awaiting is not None:
        frame = getattr(awaiting, "cr_frame", None) or getattr(awaiting, "ag_frame", None)
        if frame is not None:
            where = f" at {frame.f_code.co_filename}:{frame.f_lineno}"
        awaiting = getattr(awaiting, "cr_await", None) or getattr(awaiting, "ag_await", None)
    return f"{task.get_name()}{where}"
