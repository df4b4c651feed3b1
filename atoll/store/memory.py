"""The log as bytes in memory: the disk of the simulation.

It behaves as the file does, seen from the store: an append takes time and may be refused, a crash
loses what was not yet acknowledged (or, as on a real disk, just kept it), and the same bytes can be
loaded again afterwards. It cannot rot and is never held by someone else.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atoll.errors import NotDurable, UsageError
from atoll.store.log import FIRST_REVISION, RESTORE_JUMP, Loaded, Row


def _at_once() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class _Copy:
    rows: dict[int, Row]
    compacted: int


@dataclass(slots=True)
class MemoryLog:
    """Rows in memory. `delay_s` says how long each write takes; `refusal` refuses them all."""

    delay_s: Callable[[], float] = _at_once
    refusal: str = ""
    identity: str = "memory"
    _rows: dict[int, Row] = field(default_factory=dict)
    _compacted: int = 0
    _clean: bool = True
    _lives: int = 0
    _on_the_way: Sequence[Row] = ()
    _backups: dict[Path, _Copy] = field(default_factory=dict)

    def load(self) -> Loaded:
        new = self._compacted == 0
        self._compacted = self._compacted or FIRST_REVISION
        self._on_the_way = ()
        rows = sorted(self._rows.values())
        return Loaded(rows, self._compacted, self.identity, new, self._clean, recovered_pages=0)

    async def append(self, rows: Sequence[Row]) -> None:
        self._on_the_way = rows
        await self._written()
        self._on_the_way = ()
        self._store(rows)

    async def compact(self, upto: int, dead: Sequence[int]) -> None:
        await self._written()
        self._clean = False
        self._compacted = upto
        for revision in dead:
            self._rows.pop(revision, None)

    async def backup(self, path: Path) -> None:
        await asyncio.sleep(self.delay_s())
        if path in self._backups:
            raise UsageError(f"{path} exists; a backup does not overwrite")
        self._backups[path] = _Copy(dict(self._rows), self._compacted)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self._clean = True

    def crash(self, *, kept: bool = False) -> None:
        """Lose the append on the way, or keep it unacknowledged. Its caller never hears of it."""
        self._lives += 1
        if kept:
            self._store(self._on_the_way)
        self._on_the_way = ()

    def restore(self, path: Path) -> int:
        """Put a backup back and give the revision it continues from, as `backup.restore` does."""
        copy = self._backups[path]
        alive = {(row.collection, row.name): row for row in sorted(copy.rows.values())}
        newest = max(self._compacted, *self._rows, copy.compacted, *copy.rows)
        self._rows = {row.revision: row for row in alive.values() if not row.removed}
        self._compacted = newest + RESTORE_JUMP
        return self._compacted

    def _store(self, rows: Sequence[Row]) -> None:
        if rows:
            self._clean = False
        for row in rows:
            assert row.revision not in self._rows, "a revision is stored once"
            self._rows[row.revision] = row

    async def _written(self) -> None:
        """Take the time a disk takes, or refuse. A process that crashed meanwhile never wakes."""
        life = self._lives
        await asyncio.sleep(self.delay_s())
        if life != self._lives:
            await asyncio.get_running_loop().create_future()
        if self.refusal:
            self._on_the_way = ()
            raise NotDurable(f"the disk refused the write: {self.refusal}")
