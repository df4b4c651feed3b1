"""A log of events: lines come in, a file grows, and is put aside when it is large.

Lines are written by a thread of their own, so that a slow disk keeps no request waiting; they queue
up to a bound, beyond which they are counted instead. That the disk takes no more is said once, and
once more when it does again. Files put aside have the time in their names and go when there are too
many, or when they are too old. Where the log is and what it records, the user chooses.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import FileIO
from pathlib import Path

log = logging.getLogger("atoll.runtime")

WAITING_MAX = 10_000
_AT_ONCE = 512
_STAMP = "%Y-%m-%dT%H-%M-%S.%f"


@dataclass(frozen=True, slots=True)
class Rotation:
    """When a file is put aside, and when those put aside go; 0: never."""

    bytes_max: int = 0
    kept_max: int = 0
    days_max: int = 0


class LogFile:
    """A log at a path. `write` never waits; `close` does, until all is written."""

    def __init__(
        self,
        path: Path,
        rotation: Rotation,
        now: Callable[[], datetime],
        *,
        what: str = "audit log",
        waiting_max: int = WAITING_MAX,
    ) -> None:
        self._path = path
        self._what = what
        self._rotation = rotation
        self._now = now
        self._lines: queue.Queue[bytes | None] = queue.Queue(waiting_max)
        self._file: FileIO | None = None
        self._size = 0
        self._is_failing = False
        self.written = 0
        self.lost = 0
        self._open()
        self._thread = threading.Thread(target=self._work, name=what, daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Have this line written; if too many wait already, it is lost."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        self._lines.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_over = False
        while not is_over:
            lines = [self._lines.get()]
            while len(lines) < _AT_ONCE and not self._lines.empty():
                lines.append(self._lines.get())
            is_over = None in lines
            self._append([line for line in lines if line is not None])
        if self._file is not None:
            self._file.close()

    def _append(self, lines: list[bytes]) -> None:
        for line in lines:
            try:
                self._make_room(len(line))
                self._write_one(line)
            except OSError as error:
                self.lost += 1
                self._say_failing(error)
            else:
                self.written += 1
                self._say_mended()

    def _write_one(self, line: bytes) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        taken = self._file.write(line)
        if taken != len(line):
            # Half a line would spoil the next one too.
            self._file.truncate(self._size)
            raise OSError(28, "No space left on device")
        self._size += len(line)

    def _open(self) -> None:
        """OSError if the file cannot be had."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._file = FileIO(descriptor, "a")
        self._size = os.fstat(descriptor).st_size

    def _make_room(self, more: int) -> None:
        most = self._rotation.bytes_max
        if not most or not self._size or self._size + more <= most:
            return
        if self._file is not None:
            self._file.close()
            self._file = None
        stamp = self._now().strftime(_STAMP)[:-3]
        self._path.rename(self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}"))
        self._open()
        self._tidy_up()

    def _tidy_up(self) -> None:
        aside = sorted(self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}"))
        aged = {path: self._put_aside(path) for path in aside}
        known = [path for path in aside if aged[path] is not None]
        kept, days = self._rotation.kept_max, self._rotation.days_max
        gone = set(known[: max(0, len(known) - kept)]) if kept else set()
        if days:
            oldest = self._now().replace(tzinfo=None) - timedelta(days=days)
            gone |= {path for path in known if (aged[path] or oldest) < oldest}
        for path in gone:
            path.unlink(missing_ok=True)

    def _put_aside(self, path: Path) -> datetime | None:
        """When a file was put aside; None if it is none of ours."""
        stamp = path.name.removeprefix(f"{self._path.stem}-").removesuffix(self._path.suffix)
        try:
            return datetime.strptime(stamp, _STAMP)  # noqa: DTZ007 (all of them are UTC)
        except ValueError:
            return None

    def _say_failing(self, error: OSError) -> None:
        if not self._is_failing:
            self._is_failing = True
            said = {"what": self._what, "file": self._path, "err": error}
            log.error("The %(what)s %(file)s cannot be written: %(err)s; events are lost", said)

    def _say_mended(self) -> None:
        if self._is_failing:
            self._is_failing = False
            said = {"what": self._what, "file": self._path, "lost": self.lost}
            log.warning("The %(what)s %(file)s is written again; %(lost)d events are lost", said)
