"""What a run found, as a table to read and as JSON to keep.

Every number is the median of the rounds; a ratio is the median of the ratios of each round, turned
so that above 1 Atoll is better.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from bench.arithmetic import median_ratio
from bench.load import Sample
from bench.servers import OURS, THEIRS
from bench.sizes import Sizes

Say = Callable[[str], None]

_HEAD = ("per second", "per CPU second", "p50 ms", "p99 ms", "client CPU")
_CLIENT_BUSY = 0.9  # of a core: from here on the client may be the limit


@dataclass(slots=True)
class Row:
    """A workload and its samples, by server and round."""

    group: str
    title: str
    samples: dict[str, list[Sample]] = field(default_factory=dict)

    def note(self, server: str, sample: Sample) -> None:
        self.samples.setdefault(server, []).append(sample)

    def values(self, server: str, what: str) -> list[float]:
        return [getattr(sample, what) for sample in self.samples.get(server, ())]

    def middle(self, server: str, what: str) -> float | None:
        values = self.values(server, what)
        return median(values) if values else None

    def ratio(self, what: str) -> float | None:
        return _ratio(self.values(OURS, what), self.values(THEIRS, what))


@dataclass(slots=True)
class Figure:
    """A number of seconds or bytes, of which fewer are better, by server and repetition."""

    title: str
    unit: str
    values: dict[str, list[float]] = field(default_factory=dict)

    def note(self, server: str, value: float) -> None:
        self.values.setdefault(server, []).append(value)

    def middle(self, server: str) -> float | None:
        values = self.values.get(server)
        return median(values) if values else None

    def ratio(self) -> float | None:
        return _ratio(self.values.get(THEIRS, ()), self.values.get(OURS, ()))


@dataclass(frozen=True, slots=True)
class Report:
    sizes: Sizes
    rows: list[Row]
    figures: list[Figure]


def _ratio(better: Sequence[float], worse: Sequence[float]) -> float | None:
    return median_ratio(better, worse) if better and worse else None


def as_json(report: Report) -> dict[str, Any]:
    """Everything, down to the samples of each round."""
    return {
        "sizes": asdict(report.sizes),
        "workloads": [
            {
                "group": row.group,
                "title": row.title,
                "samples": {
                    name: [asdict(s) for s in found] for name, found in row.samples.items()
                },
                "ratio": {"per_s": row.ratio("per_s"), "per_cpu_s": row.ratio("per_cpu_s")},
            }
            for row in report.rows
        ],
        "figures": [
            {"title": one.title, "unit": one.unit, "values": one.values, "ratio": one.ratio()}
            for one in report.figures
        ],
    }


def as_table(report: Report) -> str:
    parts = [_rows(report.rows)] if report.rows else []
    if report.figures:
        parts.append(_figures(report.figures))
    return "\n\n".join(parts)


def _rows(rows: Sequence[Row]) -> str:
    lines = [["workload", "server", *_HEAD]]
    for row in rows:
        title = row.title
        for server in row.samples:
            lines.append([title, server, *_cells(row, server)])
            title = ""
        ratios = [row.ratio("per_s"), row.ratio("per_cpu_s")]
        if any(ratio is not None for ratio in ratios):
            lines.append(["", "ratio", *(_times(ratio) for ratio in ratios), "", "", ""])
    return _aligned(lines, left=2)


def _cells(row: Row, server: str) -> list[str]:
    busy = row.middle(server, "client_share") or 0.0
    return [
        _number(row.middle(server, "per_s")),
        _number(row.middle(server, "per_cpu_s")),
        _number(row.middle(server, "p50_ms")),
        _number(row.middle(server, "p99_ms")),
        f"{busy:.0%}" + (" !" if busy >= _CLIENT_BUSY else "  "),
    ]


def _figures(figures: Sequence[Figure]) -> str:
    both = any(THEIRS in figure.values for figure in figures)
    lines = [["start and memory", OURS, *([THEIRS, "ratio"] if both else [])]]
    for figure in figures:
        line = [figure.title, _measure(figure, OURS)]
        if both:
            line += [_measure(figure, THEIRS), _times(figure.ratio())]
        lines.append(line)
    return _aligned(lines, left=1)


def _measure(figure: Figure, server: str) -> str:
    value = figure.middle(server)
    return "" if value is None else f"{_number(value)} {figure.unit}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f} x"


def _aligned(lines: Sequence[Sequence[str]], *, left: int) -> str:
    """Columns of equal width: the first ones begin, all others end, in line."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
