"""The port to the disk: what must be durable, and nothing else.

Rows come in groups and go to the disk whole or not at all; they come back, in the order of their
revisions, when a store is opened. `sqlite.SqliteLog` keeps them in a file, `memory.MemoryLog` in
memory. A log knows neither live objects nor history: which rows are dead, it is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

# Clients take resource version 0 to mean "any", so an empty store is already at 1, as etcd is.
FIRST_REVISION = 1

# How far a restore moves the counter: beyond whatever was written after the backup was made.
RESTORE_JUMP = 1_000_000


class Row(NamedTuple):
    """One change as it is stored. A removal's value is the final bytes of the object."""

    revision: int
    collection: str
    name: str
    removed: bool
    value: bytes


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a log gives when it is opened: every surviving row, and how it was left.

    Rows up to `compacted` are the objects as they were then; rows beyond it are the history.
    """

    rows: list[Row]
    compacted: int
    identity: str
    new: bool
    clean: bool
    recovered_pages: int


class Log(Protocol):
    """Where rows are made durable. One store owns a log; its calls do not overlap."""

    def load(self) -> Loaded:
        """Take hold of the log and read it, once, before anything else.

        Raises UsageError if someone else holds it and Damaged if it cannot be trusted.
        """

    async def append(self, rows: Sequence[Row]) -> None:
        """Make the rows durable, all of them; or raise NotDurable, and none of them is there."""

    async def compact(self, upto: int, dead: Sequence[int]) -> None:
        """Forget the history up to this revision, and with it the rows of the dead revisions.

        Each call goes at least as far as the one before, and repeating one is harmless. Raises
        NotDurable if the disk refuses.
        """

    async def backup(self, path: Path) -> None:
        """Copy the log to a file that `backup.restore` takes, while writes go on."""

    async def close(self) -> None:
        """Note that the log was closed in good order, and let go of it."""
