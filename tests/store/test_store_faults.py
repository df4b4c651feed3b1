"""A disk that fails at any moment of a commit: the answer to the writer is always the truth.

The faults are put between SQLite and the operating system. Whatever the store was told, a copy of
the files taken right then and opened elsewhere must say the same.
"""

import asyncio

import apsw
import pytest
from disks import copy_store

from atoll.errors import NotDurable
from atoll.store import sqlite
from atoll.store.log import Row
from atoll.store.sqlite import SqliteLog


class FaultyDisk(apsw.VFS):
    """The system's files, whose writes and syncs can be made to fail."""

    def __init__(self) -> None:
        self._failing = ""
        self._error: type[apsw.Error] = apsw.IOError
        self._calls: range = range(0)
        self.struck = 0
        self._count = 0
        super().__init__("faulty", base="unix", makedefault=True)

    def xOpen(self, name, flags):  # noqa: N802 - SQLite's own name
        return FaultyFile(self, name, flags)

    def fail(self, operation: str, error: type[apsw.Error], calls: range) -> None:
        """Make these calls of an operation fail, counted from now."""
        self._failing, self._error, self._calls = operation, error, calls
        self._count = self.struck = 0

    def heal(self) -> None:
        self._failing = ""

    def strike(self, operation: str) -> None:
        if operation == self._failing:
            self._count += 1
            if self._count - 1 in self._calls:
                self.struck += 1
                raise self._error("made to fail")


class FaultyFile(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name, flags) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._kind = "log" if path.endswith("-wal") else "file"
        super().__init__("unix", name, flags)

    def xWrite(self, data, offset):  # noqa: N802
        self._disk.strike(f"write {self._kind}")
        super().xWrite(data, offset)

    def xSync(self, flags):  # noqa: N802
        self._disk.strike(f"sync {self._kind}")
        super().xSync(flags)


@pytest.fixture
def faulty():
    disk = FaultyDisk()
    yield disk
    disk.heal()
    disk.unregister()


def make_rows(first, count=3):
    return [Row(n, "pods", f"p{n}", False, b"x" * 3000) for n in range(first, first + count)]


def revisions(rows):
    return [row.revision for row in rows]


async def found_elsewhere(path, target):
    """What a process would find that opens the files as they are now."""
    copy_store(path, target)
    log = SqliteLog(target)
    found = revisions(log.load().rows)
    await log.close()
    return found


@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError], ids=["full", "io-error"])
@pytest.mark.parametrize("operation", ["write log", "sync log"])
@pytest.mark.parametrize("call", range(9))
def test_a_failed_commit_is_reported_as_what_it_is(tmp_path, faulty, operation, error, call):
    path = tmp_path / "atoll.db"

    async def main():
        log = SqliteLog(path)
        log.load()
        await log.append(make_rows(2))
        faulty.fail(operation, error, range(call, call + 1))
        try:
            await log.append(make_rows(5))
            stored = True
        except NotDurable:
            stored = False
        struck = faulty.struck
        faulty.heal()
        found = await found_elsewhere(path, tmp_path / "copy.db")
        assert found == ([2, 3, 4, 5, 6, 7] if stored else [2, 3, 4])
        following = 8 if stored else 5
        await log.append(make_rows(following))
        await log.close()
        log = SqliteLog(path)
        assert revisions(log.load().rows) == list(range(2, following + 3))
        await log.close()
        return stored, struck

    stored, struck = asyncio.run(main())
    # A commit whose pages were all written, and only the sync failed, is made durable another way.
    assert stored == (operation == "sync log" or not struck)
    assert struck or call > 0


def test_an_outcome_that_cannot_be_known_yet_is_waited_for(tmp_path, faulty, monkeypatch):
    """Neither the sync nor the data file works: the writer waits until one of them does."""
    monkeypatch.setattr(sqlite, "SETTLE_RETRY_S", 0.01)
    path = tmp_path / "atoll.db"

    async def main():
        log = SqliteLog(path)
        log.load()
        await log.append(make_rows(2))
        faulty.fail("sync log", apsw.IOError, range(1_000_000))
        append = asyncio.create_task(log.append(make_rows(5)))
        while faulty.struck < 3:
            await asyncio.sleep(0.001)
        faulty.fail("write file", apsw.IOError, range(1_000_000))
        while faulty.struck < 3:
            await asyncio.sleep(0.001)
        assert not append.done()
        faulty.heal()
        await asyncio.wait_for(append, 120)
        await log.close()
        assert revisions(SqliteLog(path).load().rows) == [2, 3, 4, 5, 6, 7]

    asyncio.run(main())


def test_a_failed_compaction_changes_nothing_and_can_be_repeated(tmp_path, faulty):
    path = tmp_path / "atoll.db"

    async def main():
        log = SqliteLog(path)
        log.load()
        await log.append(make_rows(2, 6))
        faulty.fail("write log", apsw.FullError, range(1))
        with pytest.raises(NotDurable):
            await log.compact(5, [2, 3])
        faulty.heal()
        await log.append(make_rows(8, 1))
        await log.compact(5, [2, 3])
        await log.compact(5, [2, 3])
        await log.close()
        loaded = SqliteLog(path).load()
        assert (loaded.compacted, revisions(loaded.rows)) == (5, [4, 5, 6, 7, 8])

    asyncio.run(main())
