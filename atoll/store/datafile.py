"""One SQLite file that holds a store: its schema, how it is opened, checked and read.

A file is trusted only if it is ours, of a format we know, sound by SQLite's own check, and if the
checksum of every row is right; otherwise Damaged says what is wrong, and nothing was changed.
Everything here blocks, and is called from the log's own thread or from a command.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import apsw

from atoll.errors import Damaged, UsageError
from atoll.store.log import FIRST_REVISION, Row

FORMAT = 1
APPLICATION_ID = 0x41544F4C
# Above this SQLite's own check would take seconds. What is read is checked in any case.
CHECKED_BYTES_MAX = 1024 * 1024 * 1024
# The write-ahead log is folded into the file once it has this many pages.
CHECKPOINT_PAGES = 4_000

# No index: live objects are found in memory, and rows die by their primary key.
_SCHEMA = """
CREATE TABLE log(
    rev INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL,
    removed INTEGER NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE meta(
    key TEXT PRIMARY KEY, value ANY NOT NULL, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""
# So many rows are inserted by one statement, which is a transaction by itself if it is alone.
INSERTED_MAX = 32
_INSERTS = [
    "INSERT INTO log(rev, collection, name, removed, value, crc) VALUES"
    + ", ".join(["(?, ?, ?, ?, ?, ?)"] * count)
    for count in range(INSERTED_MAX + 1)
]


@dataclass(frozen=True, slots=True)
class Meta:
    """What the file says of itself. `clean` is false from the first write to an orderly close."""

    identity: str
    compacted: int
    clean: bool


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn what SQLite says into Damaged, or UsageError where the file itself may be sound."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise Damaged(f"{path} is damaged: {error}") from error
    except (apsw.CantOpenError, apsw.PermissionsError, apsw.ReadOnlyError) as error:
        raise UsageError(f"cannot open {path}: {error}") from error
    except apsw.BusyError as error:
        raise UsageError(f"{path} is in use by another program; stop it first") from error
    except (apsw.Error, OSError) as error:
        raise Damaged(f"{path} cannot be used: {error}") from error


def ensure_private(path: Path) -> None:
    """Make sure that the file is there, and that only its owner can read it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"cannot open {path}: {error.strerror}") from error
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


def sync_file(path: Path) -> None:
    """Put on the disk what the last process left in the system's cache of the file, if any."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_not_emptied(path: Path) -> None:
    """Raise Damaged if the file lost its content: SQLite would take it, and its log, for new."""
    wal = wal_of(path)
    if path.stat().st_size == 0 and wal.exists() and wal.stat().st_size:
        raise Damaged(f"{path} is damaged: it is empty, but {wal.name} beside it is not")


def wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def connect(path: Path) -> apsw.Connection:
    """Open the file for a log: everything a commit returns from is on the disk."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    # Closing must not decide what becomes of a transaction whose commit failed half-way.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    db.pragma("locking_mode", "exclusive")
    if not is_empty(db):
        _check_ours(db, path)
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "full")
    db.pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
    db.pragma("journal_size_limit", 8 * CHECKPOINT_PAGES * 4096)
    return db


def checkpoint(db: apsw.Connection) -> int:
    """Fold the write-ahead log into the file, on the disk; give the number of its pages."""
    pages, _ = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return max(pages, 0)


def is_empty(db: apsw.Connection) -> bool:
    return not list(db.execute("SELECT 1 FROM sqlite_schema LIMIT 1"))


def create(db: apsw.Connection) -> None:
    """Turn an empty file into an empty store, in one transaction."""
    with db:
        db.execute(_SCHEMA)
        db.pragma("application_id", APPLICATION_ID)
        set_meta(db, "format", FORMAT)
        set_meta(db, "compacted", FIRST_REVISION)
        set_meta(db, "clean", 1)
        renew_identity(db)


def set_meta(db: apsw.Connection, key: str, value: int | str) -> None:
    crc = _meta_checksum(key, value)
    db.execute("INSERT OR REPLACE INTO meta(key, value, crc) VALUES(?, ?, ?)", (key, value, crc))


def renew_identity(db: apsw.Connection) -> None:
    set_meta(db, "identity", next(iter(db.execute("SELECT lower(hex(randomblob(16)))")))[0])


def read_meta(db: apsw.Connection, path: Path) -> Meta:
    """Read what the file says of itself; raises Damaged unless it is a store we can read."""
    _check_ours(db, path)
    meta = {}
    for key, value, crc in db.execute("SELECT key, value, crc FROM meta"):
        if crc != _meta_checksum(key, value):
            raise Damaged(f"{path} is damaged: its {key} is not what was written")
        meta[key] = value
    if meta.get("format") != FORMAT:
        raise Damaged(
            f"{path} has format {meta.get('format')}, and this Atoll reads format {FORMAT}; "
            "use the version that wrote it"
        )
    if not {"identity", "compacted", "clean"} <= meta.keys():
        raise Damaged(f"{path} is damaged: it does not say what it is")
    return Meta(meta["identity"], meta["compacted"], bool(meta["clean"]))


def _check_ours(db: apsw.Connection, path: Path) -> None:
    if db.pragma("application_id") != APPLICATION_ID:
        raise Damaged(f"{path} is a SQLite file, but not a store of Atoll")


def check(db: apsw.Connection, path: Path) -> None:
    """Raise Damaged if the structure of the file is not sound."""
    if db.pragma("page_count") * db.pragma("page_size") > CHECKED_BYTES_MAX:
        return
    first = next(iter(db.execute("PRAGMA quick_check(1)")))[0]
    if first != "ok":
        raise Damaged(f"{path} is damaged: {first}")


def read_rows(db: apsw.Connection, path: Path) -> list[Row]:
    """Read every row in the order of revisions; raises Damaged at the first that is not sound."""
    rows = []
    query = "SELECT rev, collection, name, removed, value, crc FROM log ORDER BY rev"
    for revision, collection, name, removed, value, crc in db.execute(query):
        row = Row(revision, collection, name, bool(removed), value)
        if crc != _checksum(row):
            raise Damaged(f"{path} is damaged: revision {revision} is not what was written")
        rows.append(row)
    return rows


def newest_revision(db: apsw.Connection) -> int:
    """The highest revision ever given out, also if its row is long dead."""
    query = (
        "SELECT coalesce(max(rev), 0), (SELECT value FROM meta WHERE key = 'compacted') FROM log"
    )
    return int(max(next(iter(db.execute(query)))))


def insert(db: apsw.Connection, rows: Sequence[Row]) -> None:
    """Insert the rows in few steps: after each, this thread has to wait for the interpreter."""
    for at in range(0, len(rows), INSERTED_MAX):
        some = rows[at : at + INSERTED_MAX]
        values: list[int | str | bytes] = []
        for row in some:
            values += (*row[:3], int(row.removed), row.value, _checksum(row))
        db.execute(_INSERTS[len(some)], values)


def _meta_checksum(key: str, value: int | str) -> int:
    return crc32(f"{key}={value}".encode())


def _checksum(row: Row) -> int:
    revision, collection, name, removed, value = row
    return crc32(value, crc32(f"{revision} {removed:d} {collection} {name}".encode()))
