"""python -m bench.scheduling: decisions per CPU-second, and what a changed cluster costs.

Streams of bindings that differ, as in life (see `fleets`), are decided over 100, 1,000 and 5,000
clusters, with and without resource models. Every decision is read out and its explanation built in
the form it is stored in; one in a hundred is rendered and its sums are checked. The figures beside
ours are those of Karmada's own scheduler, per CPU-second of a two-core machine of this class. A
calibration loop is printed with them, so that figures of different machines can be compared.
"""

import argparse
import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

import numpy as np
import orjson

from atoll.model.assumed import Assumed
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.demand import Component
from atoll.model.taint import Effect, Taint
from atoll.runtime.memory import settle_memory
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.explain import explain
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.fitting import fits
from atoll.scheduling.nodes.view import NodeRoom, NodeView
from atoll.scheduling.recording import record
from atoll.scheduling.stored import decode, encode
from bench.auditing import sums_check
from bench.fleets import CASES, Stream, clusters, node_table, policies, typical_demand

SIZES = (100, 1_000, 5_000)
POLICIES = 40
# Karmada v1.18.2, decisions per CPU-second by case, clusters, and whether they have models.
KARMADA = {
    (CASES[0], False): (654, 55.6, 8.88),
    (CASES[1], False): (540, 47, 7.82),
    (CASES[2], False): (540, 45.3, 8.06),
    (CASES[3], False): (523, 50.7, 7.79),
    (CASES[0], True): (7.88, 0.67, 0.125),
    (CASES[1], True): (2.26, 0.23, 0.0448),
    (CASES[2], True): (2.36, 0.245, 0.0476),
    (CASES[3], True): (2.48, 0.254, 0.0462),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one case costs with one fleet."""

    case: str
    clusters: int
    models: bool
    per_cpu_second: float
    karmada: float
    all_policies_different: float
    """Decisions per CPU-second when no two bindings share a policy."""
    after_labels_us: float
    """The first decision after a cluster's labels and taints changed, with taking the change in."""
    after_capacity_us: float
    stored_bytes: int

    @property
    def ratio(self) -> float:
        return self.per_cpu_second / self.karmada


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    rounds: int
    decisions: int


FULL, QUICK = Effort(15, 300), Effort(3, 60)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    effort = QUICK if options.quick else FULL
    speed = calibration()
    rows = [
        row
        for models in (False, True)
        for size in options.clusters
        for row in measure_fleet(size, effort, models=models)
    ]
    sizes = {size: bytes_per_cluster(size) for size in options.clusters}
    nodes = {count: nodes_ms(count) for count in (5_000, 50_000)}
    view = view_ms(100, 5_000)
    if options.output == "json":
        values = [{**_fields(row), "ratio": row.ratio} for row in rows]
        whole = {"calibration": speed, "rows": values, "bytes": sizes, "nodes_ms": nodes}
        whole["view_ms"] = view
        print(orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode())
    else:
        print("\n".join([*_table(rows), *_footer(speed, sizes, nodes, view)]))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.scheduling", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds, and less exact")
    parser.add_argument(
        "--clusters",
        type=lambda text: tuple(int(each) for each in text.split(",")),
        default=SIZES,
        metavar="N,...",
        help="fleet sizes; those of Karmada's figures are 100, 1000 and 5000",
    )
    parser.add_argument("-o", dest="output", choices=["table", "json"], default="table")
    return parser


def calibration() -> float:
    """Millions of steps per CPU-second of a fixed loop, half of it Python and half NumPy."""

    def loop() -> None:
        number, column = 0, np.arange(5_000)
        for step in range(100_000):
            number = (number * 1_103_515_245 + step) & 0xFFFFFFFF
        for step in range(400):
            column = (column * 3 + step) % 1_000_003

    return 0.1 / min(_cpu_seconds(loop) for _ in range(5))


def measure_fleet(size: int, effort: Effort, *, models: bool) -> list[Row]:
    """All cases with one fleet."""
    fleet = Fleet.of(clusters(size, models=models))
    settle_memory()
    return [_measure(case, fleet, effort, models=models) for case in CASES]


def _measure(case: str, fleet: Fleet, effort: Effort, *, models: bool) -> Row:
    stream = _warm(Stream.of(policies(case, POLICIES)), fleet)
    alone = _warm(Stream.of(policies(case, POLICIES)), fleet).batch(effort.decisions)
    different = policies(case, effort.decisions, seed=1)
    own = [replace(each, intent=intent) for each, intent in zip(alone, different, strict=True)]
    worked = [_work(list(stream.batch(effort.decisions)), fleet) for _ in range(effort.rounds)]
    figures = KARMADA[case, models]
    return Row(
        case,
        len(fleet),
        models,
        per_cpu_second=effort.decisions / min(cost for cost, _ in worked),
        karmada=figures[SIZES.index(len(fleet))] if len(fleet) in SIZES else float("nan"),
        all_policies_different=effort.decisions / _work(own, fleet)[0],
        after_labels_us=_after_change(stream, fleet, _relabelled),
        after_capacity_us=_after_change(stream, fleet, _refilled),
        stored_bytes=sum(size for _, size in worked) // (effort.rounds * effort.decisions),
    )


def _warm(stream: Stream, fleet: Fleet) -> Stream:
    """Decide a few, so that later bindings have something to grow and shrink from."""
    for binding in list(stream.batch(100)):
        stream.decided(binding, decide(binding, fleet).targets)
    return stream


def _work(batch: list[Binding], fleet: Fleet) -> tuple[float, int]:
    """Decide each, read its targets and store its explanation: CPU seconds, and bytes stored."""
    stored = []
    start = time.process_time()
    for binding in batch:
        decision = decide(binding, fleet)
        decision.names_and_replicas()
        stored.append(encode(record(decision)))
    cost = time.process_time() - start
    for data in stored[::100]:
        wrong = sums_check(explain(decode(data, fleet.traits.names)))
        if wrong:
            raise SystemExit(f"an explanation does not add up: {wrong}")
    return cost, sum(map(len, stored))


def _take_in(fleet: Fleet, changed: Cluster, binding: Binding) -> Decision:
    return decide(binding, fleet.with_cluster(changed))


def _after_change(
    stream: Stream, fleet: Fleet, changed: Callable[[Cluster, Random], Cluster]
) -> float:
    """Microseconds to take in one changed cluster and make the first decision after it."""
    chance, costs = Random(1), []
    for binding in stream.batch(20):
        before = fleet.clusters[chance.randrange(len(fleet))]
        after = changed(before, chance)
        costs.append(_cpu_seconds(partial(_take_in, fleet, after, binding)))
    return statistics.median(costs) * 1e6


def _relabelled(cluster: Cluster, chance: Random) -> Cluster:
    labels = {**cluster.labels, "env": chance.choice(["prod", "test", "dev", "new"])}
    return replace(cluster, labels=labels, taints=(Taint("moved", Effect.NO_SCHEDULE),))


def _refilled(cluster: Cluster, chance: Random) -> Cluster:
    assert cluster.free is not None
    return replace(cluster, free=replace(cluster.free, pods=chance.randrange(1, 500)))


def bytes_per_cluster(size: int) -> tuple[int, int]:
    """Bytes of columns, and of everything held for a cluster, decoded object and all."""
    gc.collect()
    tracemalloc.start()
    fleet = Fleet.of(clusters(size, models=True))
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return fleet.nbytes // size, held // size


def nodes_ms(count: int) -> float:
    """Milliseconds to count to the node how many replicas fit on so many, never asked before."""
    table = node_table(count)
    demands = [typical_demand(Random(seed)) for seed in range(9)]
    return statistics.median(_cpu_seconds(partial(fits, table, each)) * 1e3 for each in demands)


def view_ms(count: int, nodes_each: int) -> dict[str, float]:
    """Milliseconds to ask so many clusters of so many nodes for room, by what was asked before."""
    tables = [node_table(nodes_each, seed) for seed in range(count)]
    names = [f"cluster-{at:03}" for at in range(count)]
    view = NodeView(dict(zip(names, map(NodeRoom, tables), strict=True)))
    demands = [typical_demand(Random(seed)) for seed in range(9)]
    taken = [
        {name: (Assumed(name, (Component("", given, demands[0]),)),) for name in names[:2]}
        for given in range(1, 10)
    ]
    asked = {
        "never asked before": [partial(view.answers, names, each, {}) for each in demands],
        "asked again": [partial(view.answers, names, each, {}) for each in demands],
        "after work was given to two of them": [
            partial(view.answers, names, demands[0], each) for each in taken
        ],
    }
    return {
        how: statistics.median(_cpu_seconds(each) * 1e3 for each in questions)
        for how, questions in asked.items()
    }


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _fields(row: Row) -> dict[str, object]:
    return {name: getattr(row, name) for name in Row.__slots__}


def _table(rows: list[Row]) -> list[str]:
    head = (
        f"{'':28}{'clusters':>9}{'models':>7}{'per CPU-s':>11}{'Karmada':>9}{'ratio':>8}"
        f"{'all differ':>11}{'labels us':>10}{'capacity us':>12}{'stored B':>9}"
    )
    return [
        head,
        *(
            f"{row.case:28}{row.clusters:>9,}{'yes' if row.models else 'no':>7}"
            f"{row.per_cpu_second:>11,.0f}{row.karmada:>9.4g}{row.ratio:>7,.0f}x"
            f"{row.all_policies_different:>11,.0f}{row.after_labels_us:>10,.0f}"
            f"{row.after_capacity_us:>12,.0f}{row.stored_bytes:>9,}"
            for row in rows
        ),
    ]


def _footer(
    speed: float,
    sizes: dict[int, tuple[int, int]],
    nodes: dict[int, float],
    view: dict[str, float],
) -> list[str]:
    return [
        "",
        f"calibration: {speed:.2f} million steps per CPU-second",
        *(
            f"{size:,} clusters: {columns:,} bytes each in columns, {held:,} with everything"
            for size, (columns, held) in sizes.items()
        ),
        *(f"capacity of {count:,} nodes: {cost:.2f} ms" for count, cost in nodes.items()),
        *(f"100 clusters of 5,000 nodes, {how}: {cost:.2f} ms" for how, cost in view.items()),
        "",
        "The best of several rounds on each side. See docs/benchmarks.md.",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
