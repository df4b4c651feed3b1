"""What processes cost, as Linux counts it: CPU time and resident memory of whole process trees.

In: the processes at the root. Out: sums over them and all their descendants that live now; a page
of a file that several of them hold is in memory once, and is counted once. The shells that only
hold a server on its leash are left out.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LEASH = "sh"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


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


def children(parent: int) -> set[int]:
    return {process.pid for process in _all() if process.parent == parent}


def usage(roots: Iterable[int]) -> Usage:
    """The cost of these processes and their descendants."""
    there = list(_tree(roots))
    return Usage(
        cpu_s=sum(process.cpu_s for process in there),
        resident_bytes=held(filter(None, map(_smaps, there))),
    )


def held(smaps: Iterable[str]) -> int:
    """What processes hold together, by their /proc/<pid>/smaps."""
    own_kb = 0
    files_kb: dict[tuple[str, str], int] = {}  # by path and where in it: the most that one holds
    for text in smaps:
        here: dict[tuple[str, str], int] = {}
        place = ("", "")
        for line in text.splitlines():
            name, *fields = line.split()
            if not name.endswith(":"):  # a mapping begins: addresses, rights, offset, device, file
                place = (" ".join(fields[4:]), fields[1])
            elif name == "Rss:":
                here[place] = here.get(place, 0) + int(fields[0])
            elif name == "Anonymous:":  # of a file too: pages that were written to
                here[place] -= int(fields[0])
                own_kb += int(fields[0])
        for place, resident_kb in here.items():
            files_kb[place] = max(files_kb.get(place, 0), resident_kb)
    return (own_kb + sum(files_kb.values())) * 1024


def _smaps(process: _Process) -> str:
    try:
        return (PROC / str(process.pid) / "smaps").read_text()
    except OSError:
        return ""  # it has ended meanwhile, or is not ours to look into


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
    )
