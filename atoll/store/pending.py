"""Writes that are decided but not yet durable, in the order of their revisions.

A write may be decided on top of another one that is still pending, so all of them fail together:
when the disk refuses a group, nothing that was queued behind it can stand. Who waits for a write
is told its outcome; nobody else sees it before.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from atoll.errors import StoreError
from atoll.store.log import Row
from atoll.store.record import Event


@dataclass(slots=True, eq=False)
class Write:
    """One pending change, and those who wait to hear what became of it."""

    event: Event
    _waiters: list[asyncio.Future[StoreError | None]] = field(default_factory=list)

    def row(self) -> Row:
        after = self.event.after
        return Row(after.revision, after.collection, after.name, self.event.removed, after.value)

    async def settled(self) -> StoreError | None:
        """Wait for the outcome: None if the write is durable and applied, else why it is not."""
        waiter: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return await waiter

    def settle(self, failure: StoreError | None) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(failure)


class Pending:
    """The queue to the disk, and the newest pending write of each name."""

    def __init__(self) -> None:
        self._queue: deque[Write] = deque()
        self._group: list[Write] = []
        self._newest: dict[tuple[str, str], Write] = {}

    def __len__(self) -> int:
        return len(self._queue) + len(self._group)

    def newest(self, collection: str, name: str) -> Write | None:
        return self._newest.get((collection, name))

    def add(self, write: Write) -> None:
        after = write.event.after
        self._queue.append(write)
        self._newest[after.collection, after.name] = write

    def take(self, rows_max: int, bytes_max: int) -> list[Write]:
        """Begin the next group: from the oldest on, within these bounds, but at least one."""
        assert not self._group, "one group at a time"
        size = 0
        while self._queue and len(self._group) < rows_max and size < bytes_max:
            write = self._queue.popleft()
            size += len(write.event.after.value)
            self._group.append(write)
        return self._group

    def succeed(self) -> None:
        """Tell that the group is durable and applied."""
        group, self._group = self._group, []
        for write in group:
            after = write.event.after
            key = (after.collection, after.name)
            if self._newest[key] is write:
                del self._newest[key]
            write.settle(None)

    def fail(self, failure: StoreError) -> None:
        """Give up the group and everything queued behind it."""
        failed = [*self._group, *self._queue]
        self._group = []
        self._queue.clear()
        self._newest.clear()
        for write in failed:
            write.settle(failure)
