"""The log as a SQLite file, written by one thread of its own.

The event loop never waits for the disk: each call runs on that thread, which alone touches the
connection. When a commit fails, its outcome is not guessed from the error: the file is opened anew,
and what recovery finds there is the answer, made durable before it is given. So a writer that is
told "not stored" can rely on it, also across a crash.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from atoll.errors import Damaged, NotDurable
from atoll.store import datafile
from atoll.store.backup import Copy
from atoll.store.lock import let_go, take_lock
from atoll.store.log import Loaded, Row

# How long to wait before looking again what became of a commit, while the file cannot be read.
SETTLE_RETRY_S = 0.5

T = TypeVar("T")


class SqliteLog:
    """Rows in one SQLite file: write-ahead log, synced at every commit, readable by the owner."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._lock: int | None = None
        self._connection: apsw.Connection | None = None
        # Whether the file says that it is in use, which it does from the first write on.
        self._marked = False
        self._newest = 0

    def load(self) -> Loaded:
        assert self._lock is None, "a log is loaded once"
        self._lock = take_lock(self._path)
        loaded = None
        try:
            loaded = self._thread.submit(self._load).result()
        finally:
            if loaded is None:
                self._let_go()
        return loaded

    async def append(self, rows: Sequence[Row]) -> None:
        refused = await self._on_thread(lambda: self._try_append(rows))
        if refused is None:
            return
        while (there := await self._on_thread(lambda: self._settle(rows))) is None:
            await asyncio.sleep(SETTLE_RETRY_S)
        if not there:
            raise NotDurable(f"the disk refused the write: {refused}")

    async def compact(self, upto: int, dead: Sequence[int]) -> None:
        refused = await self._on_thread(lambda: self._try_compact(upto, dead))
        if refused is not None:
            raise NotDurable(f"the disk refused to compact: {refused}")

    async def backup(self, path: Path) -> None:
        try:
            copy = await self._on_thread(lambda: Copy(self._open(), path))
            try:
                while not await self._on_thread(copy.step):
                    pass
                await self._on_thread(copy.finish)
            finally:
                self._thread.submit(copy.discard)
        except (apsw.Error, OSError) as error:
            raise NotDurable(f"the backup {path} was not written: {error}") from error

    async def close(self) -> None:
        if self._lock is not None:
            await self._on_thread(self._close)
            self._let_go()

    async def _on_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _let_go(self) -> None:
        self._thread.shutdown(wait=False)
        if self._lock is not None:
            let_go(self._lock)
            self._lock = None

    def _load(self) -> Loaded:
        loaded = None
        try:
            with datafile.damage_named(self._path):
                datafile.ensure_private(self._path)
                datafile.check_not_emptied(self._path)
                # Rows that a killed process wrote but did not sync may be read now. Before anybody
                # sees them they must be on the disk, or a power failure could take them back.
                datafile.sync_file(datafile.wal_of(self._path))
                loaded = self._read(self._open())
        finally:
            if loaded is None:
                self._disconnect()
        return loaded

    def _read(self, db: apsw.Connection) -> Loaded:
        new = datafile.is_empty(db)
        if new:
            datafile.create(db)
            datafile.sync_file(self._path.parent)
        meta = datafile.read_meta(db, self._path)
        datafile.check(db, self._path)
        rows = datafile.read_rows(db, self._path)
        self._newest = datafile.newest_revision(db)
        self._marked = not meta.clean
        return Loaded(
            rows=rows,
            compacted=meta.compacted,
            identity=meta.identity,
            new=new,
            clean=meta.clean,
            recovered_pages=0 if new else self._fold(db),
        )

    def _fold(self, db: apsw.Connection) -> int:
        try:
            return datafile.checkpoint(db)
        except (apsw.FullError, apsw.IOError):
            # Reading goes on without: the write-ahead log stays, and so does all that is in it.
            return 0

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = datafile.connect(self._path)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(True)

    def _try_append(self, rows: Sequence[Row]) -> apsw.Error | None:
        def insert(db: apsw.Connection) -> None:
            datafile.insert(db, rows)

        refused = self._transact(insert, by_itself=len(rows) <= datafile.INSERTED_MAX)
        if refused is None:
            self._newest = rows[-1].revision
        return refused

    def _try_compact(self, upto: int, dead: Sequence[int]) -> apsw.Error | None:
        def forget(db: apsw.Connection) -> None:
            datafile.set_meta(db, "compacted", upto)
            db.executemany("DELETE FROM log WHERE rev = ?", [(revision,) for revision in dead])

        return self._transact(forget)

    def _transact(
        self, change: Callable[[apsw.Connection], None], *, by_itself: bool = False
    ) -> apsw.Error | None:
        """Make one change, durably; or say what failed, and forget the connection it failed on.

        One statement is a transaction `by_itself`; more would have to wait for the interpreter.
        """
        try:
            db = self._open()
            if by_itself and self._marked:
                change(db)
                return None
            db.execute("BEGIN IMMEDIATE")
            if not self._marked:
                datafile.set_meta(db, "clean", 0)
            change(db)
            db.execute("COMMIT")
        except apsw.Error as refused:
            self._disconnect()
            return refused
        self._marked = True
        return None

    def _settle(self, rows: Sequence[Row]) -> bool | None:
        """Say whether the rows of a failed commit are there, for good; None if that is not known.

        A commit can fail after its last page was written, when the sync failed. Recovery takes
        such a commit for valid. It counts once its pages are in the data file itself, since a
        second sync of the same pages may succeed without having written them.
        """
        try:
            db = self._open()
            newest = datafile.newest_revision(db)
            if newest > self._newest:
                datafile.checkpoint(db)
        except apsw.Error:
            self._disconnect()
            return None
        if newest < self._newest:
            raise Damaged(f"{self._path} lost revisions {newest + 1} to {self._newest}")
        self._newest = newest
        return newest == rows[-1].revision

    def _close(self) -> None:
        """Note the orderly end. If the disk refuses that, the next start just looks closer."""
        try:
            db = self._open()
            if self._marked:
                datafile.set_meta(db, "clean", 1)
            datafile.checkpoint(db)
        except apsw.Error:
            pass
        self._disconnect()
