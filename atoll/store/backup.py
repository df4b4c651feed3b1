"""Copies of a store: made while it is in use, checked, and put back.

A backup is one self-contained file. Putting it back moves the revision counter far ahead, so that
whoever remembers a revision from after the backup is told to list again, and is never handed other
changes under the same numbers.
"""

import os
from pathlib import Path

import apsw

from atoll.errors import Damaged, UsageError
from atoll.store import datafile
from atoll.store.lock import let_go, take_lock
from atoll.store.log import RESTORE_JUMP

# 1 MiB at a time: a write waits a millisecond or two for a step, not for the copy.
STEP_PAGES = 256


class Copy:
    """A copy in the making. What is written through the source meanwhile is in it, too."""

    def __init__(self, source: apsw.Connection, path: Path) -> None:
        if path.exists():
            raise UsageError(f"{path} exists; a backup does not overwrite")
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._part.unlink(missing_ok=True)
        datafile.ensure_private(self._part)
        self._target = apsw.Connection(str(self._part))
        self._copying = self._target.backup("main", source, "main")

    def step(self) -> bool:
        """Copy some pages; True when all are there."""
        self._copying.step(STEP_PAGES)
        return self._copying.done

    def finish(self) -> None:
        """Make the copy one durable file under its own name."""
        self._copying.finish()
        _seal(self._target, self._part)
        _put_in_place(self._part, self._path)

    def discard(self) -> None:
        """Remove what an unfinished copy left behind; after `finish` there is nothing."""
        self._copying.close(True)
        self._target.close(True)
        self._part.unlink(missing_ok=True)


def back_up_stopped(data_file: Path, path: Path) -> None:
    """Copy a store that no process uses; raises UsageError if one does."""
    if not data_file.exists():
        raise UsageError(f"there is no store at {data_file}")
    lock = take_lock(data_file)
    try:
        with datafile.damage_named(data_file):
            source = datafile.connect(data_file)
            copy = Copy(source, path)
            try:
                while not copy.step():
                    pass
                copy.finish()
            finally:
                copy.discard()
                source.close(True)
    finally:
        let_go(lock)


def restore(backup: Path, data_file: Path, *, overwrite: bool = False) -> int:
    """Put a backup in the place of a store, and give the revision it continues from.

    The backup is checked first. An existing store is left alone unless `overwrite` is given, and
    then replaced in one step.
    """
    if not backup.exists():
        raise UsageError(f"there is no backup at {backup}")
    if data_file.exists() and not overwrite:
        raise UsageError(f"{data_file} exists; restoring would overwrite it")
    lock = take_lock(data_file)
    part = data_file.with_name(data_file.name + ".part")
    try:
        part.unlink(missing_ok=True)
        revision = _prepare(backup, part, _revision_of(data_file))
        # The old write-ahead log must not be taken for one of the new file.
        datafile.wal_of(data_file).unlink(missing_ok=True)
        _put_in_place(part, data_file)
    finally:
        part.unlink(missing_ok=True)
        let_go(lock)
    return revision


def _prepare(backup: Path, part: Path, replaced_revision: int) -> int:
    """Copy and check a backup, drop its history, and move its counter beyond both stores."""
    datafile.ensure_private(part)
    target = apsw.Connection(str(part))
    try:
        with datafile.damage_named(backup):
            source = apsw.Connection(str(backup), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                with target.backup("main", source, "main") as copying:
                    copying.step()
            finally:
                source.close(True)
            target.pragma("journal_mode", "delete")
            newest = max(_checked_revision(target, backup), replaced_revision)
        _restart_history(target, newest + RESTORE_JUMP)
        _seal(target, part)
    finally:
        target.close(True)
    return newest + RESTORE_JUMP


def _checked_revision(db: apsw.Connection, path: Path) -> int:
    datafile.read_meta(db, path)
    datafile.check(db, path)
    datafile.read_rows(db, path)
    return datafile.newest_revision(db)


def _restart_history(db: apsw.Connection, revision: int) -> None:
    """Leave only the live objects, as of this revision: nothing before it can be asked for."""
    with db:
        db.execute(
            "DELETE FROM log WHERE removed OR rev NOT IN "
            "(SELECT max(rev) FROM log GROUP BY collection, name)"
        )
        datafile.set_meta(db, "compacted", revision)
        datafile.set_meta(db, "clean", 1)
        datafile.renew_identity(db)


def _revision_of(data_file: Path) -> int:
    """The revision of the store to be replaced, with its write-ahead log folded in; 0 if it cannot
    be read, for then it is what the restore is meant to repair."""
    if not data_file.exists():
        return 0
    db = None
    try:
        db = datafile.connect(data_file)
        datafile.checkpoint(db)
        return _checked_revision(db, data_file)
    except (apsw.Error, Damaged):
        return 0
    finally:
        if db is not None:
            db.close(True)


def _seal(db: apsw.Connection, path: Path) -> None:
    """Make the file complete by itself: no write-ahead log beside it, all of it on the disk."""
    db.pragma("journal_mode", "delete")
    db.close()
    datafile.sync_file(path)


def _put_in_place(part: Path, path: Path) -> None:
    os.replace(part, path)
    datafile.sync_file(path.parent)
