"""How the process itself is, under the names that every Prometheus client has for it."""

import resource as limits
from collections.abc import Iterator, Sequence
from pathlib import Path

from atoll.instruments.families import Family

_TICKS = 100  # per second, on every Linux there is


def process() -> Iterator[Family]:
    """How the process is, as far as the system says."""
    used = limits.getrusage(limits.RUSAGE_SELF)
    known: list[tuple[str, str, str, float]] = [
        (
            "process_cpu_seconds_total",
            "counter",
            "Time on processors, in seconds.",
            used.ru_utime + used.ru_stime,
        ),
        (
            "process_max_fds",
            "gauge",
            "How many files may be open.",
            limits.getrlimit(limits.RLIMIT_NOFILE)[0],
        ),
        *_from_proc(),
    ]
    for name, kind, told, value in known:
        yield name, kind, told, [("", (), value)]


def _from_proc() -> Sequence[tuple[str, str, str, float]]:
    own = Path("/proc/self")
    try:
        fields = (own / "stat").read_text().rpartition(")")[2].split()
        open_files = sum(1 for _ in (own / "fd").iterdir())
        booted = _booted()
    except (OSError, ValueError, IndexError):
        return []  # another system, which has no such files
    page = limits.getpagesize()
    started = booted + int(fields[19]) / _TICKS
    return [
        ("process_open_fds", "gauge", "How many files are open.", open_files),
        ("process_resident_memory_bytes", "gauge", "Memory held.", int(fields[21]) * page),
        ("process_start_time_seconds", "gauge", "When the process started.", started),
        ("process_virtual_memory_bytes", "gauge", "Addresses taken.", int(fields[20])),
    ]


def _booted() -> int:
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    raise ValueError("there is no btime in /proc/stat")
