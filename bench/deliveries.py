"""What was measured of deliveries to members, and how it is told beside Karmada's figures.

In: seconds, CPU and writes of one Deployment, of many, and of a move. Out: lines for people.
Writes are told by where they went, and one by one by verb and resource; CPU by process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from bench.arithmetic import percentile, rate
from bench.planes import CONTROLLERS, EVENTS, MEMBERS, PLANE

_FEW = 0.005
"""Writes per item below which a kind of write is none of the items'."""


@dataclass(frozen=True, slots=True)
class Karmada:
    """What Karmada v1.18.2 took: one, in milliseconds at the median; 300 at once, and moved."""

    first_ms: float
    everywhere_ms: float
    told_ms: float
    rate: float
    seconds: float
    cpu_s: float
    moved_s: float
    writes: float = 35.0


KARMADA = Karmada(180.0, 390.0, 770.0, 1.5, 202.0, 0.57, 105.0)
KARMADA_TUNED = Karmada(115.0, 277.0, 467.0, 2.4, 125.0, 0.43, 67.0)


@dataclass(frozen=True, slots=True)
class One:
    """Milliseconds of single Deployments in an idle plane."""

    first: list[float]
    everywhere: list[float]
    told: list[float]


@dataclass(frozen=True, slots=True)
class Many:
    """What a burst of Deployments took, until they existed everywhere and until all was told.

    CPU is by process, those of the plane's controllers first; writes are as `Spent` has them.
    """

    count: int
    exist_s: float
    told_s: float
    exist_cpu_s: Mapping[str, float]
    cpu_s: Mapping[str, float]
    writes: Mapping[str, int]
    peak_mib: float | None

    def written(self, where: str) -> int:
        """How much was written to the plane, to members, or as events."""
        return sum(count for what, count in self.writes.items() if what.split()[0] == where)


@dataclass(frozen=True, slots=True)
class Move:
    """How long a policy's new cluster took to have everything, and its old one to have nothing."""

    count: int
    arrived_s: float
    moved_s: float


def told(one: One, many: Sequence[Many], move: Move, karmada: Karmada) -> list[str]:
    """All of it, for people."""
    return [*_of_one(one, karmada), "", *_of_many(many, karmada), "", *_of_move(move, karmada)]


def _of_one(one: One, karmada: Karmada) -> list[str]:
    lines = [f"{'one Deployment, ms to':34}{'median':>10}{'p99':>10}{'Karmada':>10}{'ratio':>8}"]
    cases = [
        ("first member", karmada.first_ms, one.first),
        ("all members", karmada.everywhere_ms, one.everywhere),
        ("summed status", karmada.told_ms, one.told),
    ]
    for what, theirs, ours in cases:
        middle, most = median(ours), percentile(ours, 0.99)
        lines.append(
            f"{what:34}{middle:>10.1f}{most:>10.1f}{theirs:>10.0f}{theirs / middle:>7.1f}x"
        )
    return lines


def _of_many(found: Sequence[Many], karmada: Karmada) -> list[str]:
    heads = [f"{each.count:,}" for each in found]
    lines = [_line("Deployments at once", heads, "Karmada, 300")]

    def add(what: str, read: Callable[[Many], float | None], theirs: str = "") -> None:
        values = [read(each) for each in found]
        if None not in values:
            lines.append(_line(what, [f"{value:,.3g}" for value in values], theirs))

    def add_cpu(what: str, process: str, theirs: str = "") -> None:
        add(what, lambda each: _each(each, each.cpu_s.get(process)), theirs)

    add("items/s to existence in all", lambda each: rate(each.count, each.exist_s))
    add("  and per CPU-second", _per_cpu_second)
    add(
        "items/s to summed status",
        lambda each: rate(each.count, each.told_s),
        f"{karmada.rate:g}",
    )
    add("seconds", lambda each: each.told_s, f"{karmada.seconds:g}")
    add_cpu("CPU-s/item", CONTROLLERS, f"{karmada.cpu_s:g}")
    for process in found[0].cpu_s:
        if process != CONTROLLERS:
            add_cpu(f"  beside: {process}", process)
    add("writes/item", lambda each: sum(each.writes.values()) / each.count, f"{karmada.writes:g}")
    for where in (PLANE, MEMBERS, EVENTS):
        add(f"  {where}", partial(_written_each, where))
        for what in _kinds(found, where):
            name = what.partition(" ")[2]
            add(f"    {name}", partial(_made_each, what))
    add("MiB", lambda each: each.peak_mib)
    return lines


def _kinds(found: Sequence[Many], where: str) -> list[str]:
    """The kinds of writes there were somewhere; a single one, and next to none, need no line."""
    count = {what: each.writes[what] / each.count for each in found for what in each.writes}
    there = sorted(what for what in count if what.split()[0] == where and count[what] > _FEW)
    return there if len(there) > 1 else []


def _per_cpu_second(found: Many) -> float | None:
    used = found.exist_cpu_s.get(CONTROLLERS)
    return None if used is None else rate(found.count, used)


def _written_each(where: str, found: Many) -> float:
    return found.written(where) / found.count


def _made_each(what: str, found: Many) -> float:
    return found.writes.get(what, 0) / found.count


def _each(found: Many, total: float | None) -> float | None:
    return None if total is None else total / found.count


def _of_move(move: Move, karmada: Karmada) -> list[str]:
    return [
        _line(f"{move.count:,} moved, seconds until", ["ours"], "Karmada, 300"),
        _line("all in the new cluster", [f"{move.arrived_s:.2f}"], ""),
        _line("none in the old one", [f"{move.moved_s:.2f}"], f"{karmada.moved_s:g}"),
    ]


def _line(what: str, ours: Sequence[str], theirs: str) -> str:
    return f"{what:34}" + "".join(f"{each:>10}" for each in ours) + f"{theirs:>14}"
