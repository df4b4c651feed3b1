"""What processes cost, as Linux counts it: CPU time and resident memory of whole process trees.

In: the processes at the root. Out: sums over them and all their descendants that live now. The
shells that only hold a server on its leash are left out.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LEASH = "sh"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tree has used so far, and what it holds now."""

    cpu_s: float
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    name: str
    parent: int
    cpu_s: float
    resident_bytes: int


def children(parent: int) -> set[int]:
    return {process.pid for process in _all() if process.parent == parent}


def usage(roots: Iterable[int]) -> Usage:
    """The cost of these processes and their descendants."""
    there = list(_tree(roots))
    return Usage(
        cpu_s=sum(process.cpu_s for process in there),
        resident_bytes=sum(process.resident_bytes for process in there),
    )


def _tree(roots: Iterable[int]) -> Iterator[_Process]:
    processes = list(_all())
    wanted = set(roots)
    while True:
        more = {process.pid for process in processes if process.parent in wanted} - wanted
        if not more:
            break
        wanted |= more
    for process in processes:
        if process.pid in wanted and process.name != LEASH:
            yield process


def _all() -> Iterator[_Process]:
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        yield parse_stat(text)


def parse_stat(stat: str) -> _Process:
    """One line of /proc/<pid>/stat; a name may contain anything, also spaces and brackets."""
    pid, _, rest = stat.partition(" (")
    name, _, rest = rest.rpartition(") ")
    fields = rest.split()  # from the third on, as proc(5) counts
    return _Process(
        pid=int(pid),
        name=name,
        parent=int(fields[1]),
        cpu_s=(int(fields[11]) + int(fields[12])) / _TICKS_PER_S,
        resident_bytes=int(fields[21]) * _PAGE_BYTES,
    )
