"""What there is to rebalance: clusters, what is placed on them, and what may move where.

The caller has run the filters: `feasible` names the clusters a placement may go to. Constraints
that bind several clusters at once (spread, Duplicated) are the caller's to express: by leaving a
cluster out of `feasible`, by a least number, or by `movable=False`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from atoll.errors import Invalid
from atoll.model.cluster import Cluster
from atoll.model.demand import Demand

REPLICAS_MAX = 2**31 - 1


class Goal(StrEnum):
    """What a proposal makes smaller."""

    COST = "cost"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Range:
    """So many replicas of a placement a cluster must and may hold."""

    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One binding's replicas: how many run where, what each needs, where else they may run.

    Without a demand nobody can say what a move takes or costs, and the placement stays.
    """

    key: tuple[str, str]
    demand: Demand | None
    replicas: Mapping[str, int]
    feasible: frozenset[str] = frozenset()
    bounds: Mapping[str, Range] = field(default_factory=dict)
    movable: bool = True

    def __str__(self) -> str:
        return "/".join(filter(None, self.key))


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything placed, and the clusters; what is placed no longer counts as their free."""

    clusters: tuple[Cluster, ...]
    placements: tuple[Placement, ...]


def check(problem: Problem) -> None:
    """Refuse what cannot be meant, naming the field and the value."""
    names = {cluster.name for cluster in problem.clusters}
    _refuse_twins("clusters", (cluster.name for cluster in problem.clusters))
    _refuse_twins("placements", (str(placement) for placement in problem.placements))
    for placement in problem.placements:
        where = f"placements[{placement}]"
        for field_name in ("replicas", "bounds", "feasible"):
            for name in sorted(set(getattr(placement, field_name)) - names):
                raise Invalid(f"{where}.{field_name}", name, "is not one of the clusters")
        for name, count in placement.replicas.items():
            if not 0 <= count <= REPLICAS_MAX:
                problem_text = f"must be between 0 and {REPLICAS_MAX}"
                raise Invalid(f"{where}.replicas[{name}]", count, problem_text)
        for name, bounds in placement.bounds.items():
            _check_range(f"{where}.bounds[{name}]", bounds)


def _check_range(where: str, bounds: Range) -> None:
    if not 0 <= bounds.least <= REPLICAS_MAX:
        raise Invalid(f"{where}.least", bounds.least, f"must be between 0 and {REPLICAS_MAX}")
    if bounds.most is not None and bounds.most < bounds.least:
        raise Invalid(f"{where}.most", bounds.most, f"is below the least, {bounds.least}")


def _refuse_twins(where: str, names: Iterable[str]) -> None:
    for name, count in sorted(Counter(names).items()):
        if count > 1:
            raise Invalid(where, name, f"is given {count} times; give it once")
