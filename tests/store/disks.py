"""What the store's tests share: two kinds of disk, a log that can be held, and short notations.

Both disks can be full, crash and be opened again. The file's full disk is the operating system's
limit on file size; its crash is a copy of the files as they are at that moment.
"""

import asyncio
import resource
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol

from atoll.errors import StoreError
from atoll.store.history import Limits
from atoll.store.log import Loaded, Log, Row
from atoll.store.memory import MemoryLog
from atoll.store.record import Event, Record
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Decide, Keep, Put, Remove, Store


class Conflict(StoreError):
    """What a decision says no with."""


class Disk(Protocol):
    def log(self) -> Log: ...

    def full(self): ...

    def crash(self) -> None: ...


class FileDisk:
    """A data file in a folder. After a crash it goes on in another one, as the crash left it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lives = 0
        folder.mkdir(exist_ok=True)

    @property
    def path(self) -> Path:
        return self._folder / f"life-{self._lives}.db"

    def log(self) -> SqliteLog:
        return SqliteLog(self.path)

    @contextmanager
    def full(self) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def crash(self) -> None:
        """Leave the old life, whose log must be idle, with what a killed process leaves."""
        old = self.path
        self._lives += 1
        copy_store(old, self.path)


class MemoryDisk:
    """A MemoryLog, which keeps its bytes by itself."""

    def __init__(self) -> None:
        self._log = MemoryLog()

    def log(self) -> MemoryLog:
        return self._log

    @contextmanager
    def full(self) -> Iterator[None]:
        self._log.refusal = "no space left"
        try:
            yield
        finally:
            self._log.refusal = ""

    def crash(self) -> None:
        self._log.crash()


def copy_store(source: Path, target: Path) -> None:
    """Copy a data file and its write-ahead log, open or not."""
    for suffix in ("", "-wal"):
        if source.with_name(source.name + suffix).exists():
            shutil.copyfile(
                source.with_name(source.name + suffix), target.with_name(target.name + suffix)
            )


class HeldLog:
    """A log whose appends wait before and after the disk until they are let through.

    It remembers which rows were durable, and when it was about to say so.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self.before = asyncio.Event()
        self.after = asyncio.Event()
        self.durable: dict[int, Row] = {}
        self.waiting: Sequence[Row] = ()
        self.busy = False
        self._only_one = False

    def load(self) -> Loaded:
        loaded = self._log.load()
        self.durable.update((row.revision, row) for row in loaded.rows)
        return loaded

    async def append(self, rows: Sequence[Row]) -> None:
        self.waiting = rows
        await self.before.wait()
        if self._only_one:
            self.hold()
            self.after.set()
        try:
            with self._at_work():
                await self._log.append(rows)
            self.durable.update((row.revision, row) for row in rows)
            await self.after.wait()
        finally:
            self.waiting = ()

    async def compact(self, upto: int, dead: Sequence[int]) -> None:
        with self._at_work():
            await self._log.compact(upto, dead)

    async def backup(self, path: Path) -> None:
        await self._log.backup(path)

    async def close(self) -> None:
        await self._log.close()

    def let_through(self, *, only_one: bool = False) -> None:
        self._only_one = only_one
        self.before.set()
        self.after.set()

    async def idle(self) -> None:
        """Let everybody go on who can, until they wait for this log to be let through."""
        quiet_turns = 0
        while quiet_turns < 8:
            await asyncio.sleep(0.0002 if self.busy else 0)
            quiet_turns = 0 if self.busy else quiet_turns + 1

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    def hold(self) -> None:
        self.before.clear()
        self.after.clear()


@asynccontextmanager
async def running(store: Store) -> AsyncIterator[Store]:
    """Run the store for as long as the block lasts, then close it in good order."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.run())
        yield store
        await store.close()


@asynccontextmanager
async def opened(log: Log, **limits) -> AsyncIterator[Store]:
    async with running(Store.open(log, Limits(**limits))) as store:
        yield store


def put(value: bytes | str, view: object = None) -> Decide:
    data = value.encode() if isinstance(value, str) else value

    def decide(current: Record | None, revision: int) -> Put:
        return Put(data, view)

    return decide


def remove(current: Record | None, revision: int) -> Remove | Keep:
    assert current is not None
    return Remove(current.value + b" removed")


def shown(event: Event) -> tuple[str, int, str, str | None, str]:
    """An event as a line: what, at which revision, whose, from what, to what."""
    kind = "removed" if event.removed else "changed" if event.before else "added"
    before = None if event.before is None else event.before.value.decode()
    return kind, event.revision, event.after.name, before, event.after.value.decode()
