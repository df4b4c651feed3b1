"""Numbers about the server for Prometheus, under kube-apiserver's names where they mean the same.

A request is counted under what is served rather than under what was asked for, so that nobody can
make up names to fill the memory. The text is made when somebody asks for it.
"""

import resource as limits
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atoll.apiserver.trail import Trail

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
    *(10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_VERBS = {
    **{verb: verb.upper() for verb in ("get", "list", "watch", "patch", "delete")},
    "create": "POST",
    "update": "PUT",
    "deletecollection": "DELETECOLLECTION",
}
_METHODS = frozenset(["GET", "POST", "PUT", "PATCH", "DELETE"])
_READING = frozenset(["GET", "HEAD"])
_TICKS = 100  # per second, on every Linux there is

Labels = tuple[tuple[str, str], ...]
Sample = tuple[str, Labels, float]  # what is added to the name, the labels, the value
Family = tuple[str, str, str, Iterable[Sample]]  # name, kind, help, samples
More = Callable[[], Iterable[Family]]

Key = tuple[str, str, str, str, str, str, str]  # verb, group, version, resource, sub, scope, dry


@dataclass(slots=True)
class Series:
    """The requests of one kind: how many ended how, and how long they took."""

    codes: dict[int, int] = field(default_factory=dict)
    total_s: float = 0.0
    slots: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))


@dataclass(slots=True)
class Metrics:
    """Counts requests. `more` are families that others know of."""

    more: tuple[More, ...] = ()
    _series: dict[Key, Series] = field(default_factory=dict)
    _reading: int = 0
    _writing: int = 0

    def begin(self, method: str) -> None:
        if method in _READING:
            self._reading += 1
        else:
            self._writing += 1

    def end(self, method: str, query: str, trail: Trail, code: int, took_s: float) -> None:
        """A request is answered; one that goes on as a stream has taken the time to its start."""
        if method in _READING:
            self._reading -= 1
        else:
            self._writing -= 1
        found = trail.resource
        dry = "All" if query and "dryRun=All" in query else ""
        if found is None:
            verb = method if method in _METHODS else "OTHER"
            key: Key = (verb, "", "", "", trail.subresource, trail.scope, dry)
        else:
            verb = _VERBS.get(trail.verb, "OTHER")
            place = (found.group, found.version, found.plural)
            key = (verb, *place, trail.subresource, trail.scope, dry)
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = Series()
        codes = series.codes
        codes[code] = codes.get(code, 0) + 1
        series.total_s += took_s
        series.slots[bisect_left(BUCKETS, took_s)] += 1

    def text(self) -> str:
        """All of it, as Prometheus reads it."""
        families = [*self._own(), *(family for more in self.more for family in more()), *_process()]
        return "".join(_written(family) for family in sorted(families, key=lambda one: one[0]))

    def _own(self) -> Iterator[Family]:
        yield (
            "apiserver_current_inflight_requests",
            "gauge",
            "Requests that are being answered now, by whether they write.",
            [
                ("", (("request_kind", "mutating"),), self._writing),
                ("", (("request_kind", "readOnly"),), self._reading),
            ],
        )
        yield (
            "apiserver_request_total",
            "counter",
            "Requests answered, by verb, dry run, resource, scope and status code.",
            [
                ("", (("code", str(code)), *_labels(key)), count)
                for key, series in self._series.items()
                for code, count in series.codes.items()
            ],
        )
        yield (
            "apiserver_request_duration_seconds",
            "histogram",
            "How long answers took, by verb, dry run, resource and scope.",
            _histogram({_labels(key): each for key, each in self._series.items()}),
        )


def _labels(key: Key) -> Labels:
    verb, group, version, resource, subresource, scope, dry = key
    return (
        ("component", "apiserver"),
        ("dry_run", dry),
        ("group", group),
        ("resource", resource),
        ("scope", scope),
        ("subresource", subresource),
        ("verb", verb),
        ("version", version),
    )


def _histogram(series: Mapping[Labels, Series]) -> Iterator[Sample]:
    for labels, each in series.items():
        so_far = 0
        for bound, count in zip((*BUCKETS, None), each.slots, strict=True):
            so_far += count
            shown = "+Inf" if bound is None else f"{bound:g}"
            yield "_bucket", (*labels, ("le", shown)), so_far
        yield "_sum", labels, each.total_s
        yield "_count", labels, so_far


def _written(family: Family) -> str:
    name, kind, told, samples = family
    lines = [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
    for added, labels, value in samples:
        shown = ",".join(f'{key}="{_quoted(text)}"' for key, text in labels)
        braces = f"{{{shown}}}" if shown else ""
        lines.append(f"{name}{added}{braces} {value:.17g}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _process() -> Iterator[Family]:
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
