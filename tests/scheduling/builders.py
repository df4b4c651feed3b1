"""Clusters, intents and bindings in the short notation people say aloud, and drawn by Hypothesis.

A test mentions only what it is about; everything else has a plain default.
"""

from typing import Any

from hypothesis import strategies as st

from atoll.model.affinity import Affinity, Term
from atoll.model.amount import Amount
from atoll.model.binding import Binding, Resource, Target
from atoll.model.cluster import Cluster, Free
from atoll.model.demand import Demand
from atoll.model.intent import (
    Available,
    Constrained,
    Constraint,
    Division,
    Duplicated,
    Everyone,
    Field,
    Intent,
    Weighted,
)
from atoll.model.quantity import parse
from atoll.model.selector import Operator, Requirement, Selector
from atoll.model.taint import Effect, Taint, Toleration

DEPLOYMENT = ("apps/v1", "Deployment")


def amount(written: str) -> Amount:
    value = parse(written)
    assert value is not None
    return Amount.of(value, binary=written.endswith("i"))


def make_taint(written: str) -> Taint:
    """`key=value:Effect` or `key:Effect`."""
    rest, _, effect = written.rpartition(":")
    key, _, value = rest.partition("=")
    return Taint(key, Effect(effect), value)


def make_cluster(name: str, *, cpu: str = "16", memory: str = "64Gi", **facts: Any) -> Cluster:
    """A cluster that serves Deployments, with so much free."""
    free = Free({"cpu": amount(cpu), "memory": amount(memory)}, facts.pop("pods", 110))
    taints = tuple(make_taint(each) for each in facts.pop("taints", ()))
    return Cluster(name=name, apis=frozenset({DEPLOYMENT}), free=free, taints=taints, **facts)


def make_demand(cpu: str = "1", memory: str = "1Gi") -> Demand:
    return Demand((("cpu", amount(cpu)), ("memory", amount(memory))))


def make_binding(replicas: int = 1, *, on: dict[str, int] | None = None, **facts: Any) -> Binding:
    """A Deployment of so many replicas, running where `on` says."""
    intent = facts.pop("intent", None) or Intent(**facts.pop("wanting", {}))
    resource = Resource(DEPLOYMENT, "default", "web", facts.pop("uid", ""))
    targets = tuple(Target(name, count) for name, count in (on or {}).items())
    facts.setdefault("demand", make_demand())
    return Binding(resource=resource, intent=intent, replicas=replicas, targets=targets, **facts)


def placed(decision: Any) -> dict[str, int]:
    """What a decision puts where."""
    return {target.name: target.replicas for target in decision.targets}


NAMES = [f"m{number}" for number in range(1, 9)]
_REGIONS = ("", "east", "west", "north")
_LABELS = st.dictionaries(st.sampled_from(["env", "tier"]), st.sampled_from(["a", "b"]))
_TAINTS = st.lists(
    st.sampled_from(["gpu=yes:NoSchedule", "old:NoExecute", "slow:PreferNoSchedule"]),
    max_size=2,
    unique=True,
)


@st.composite
def clusters(draw: st.DrawFn, least: int = 1) -> list[Cluster]:
    """A small fleet of clusters that differ in everything a placement looks at."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=least, unique=True))
    return [
        make_cluster(
            name,
            cpu=str(draw(st.integers(0, 12))),
            pods=draw(st.integers(0, 20)),
            labels=draw(_LABELS),
            region=draw(st.sampled_from(_REGIONS)),
            taints=draw(_TAINTS),
        )
        for name in names
    ]


_AFFINITIES = st.builds(
    Affinity,
    names=st.lists(st.sampled_from(NAMES), max_size=5, unique=True).map(tuple),
    exclude=st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple),
    labels=st.none()
    | st.builds(
        lambda key, operator: Selector((Requirement(key, operator, ("a",)),)),
        st.sampled_from(["env", "tier"]),
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
    ),
)
_BOUNDS = st.tuples(st.integers(1, 3), st.integers(0, 3))
_CONSTRAINTS = st.builds(
    lambda cluster, region: (
        Constraint(Field.CLUSTER, least=cluster[0], most=sum(cluster)),
        *((Constraint(Field.REGION, least=region[0], most=sum(region)),) if region else ()),
    ),
    _BOUNDS,
    st.none() | _BOUNDS,
)
_DIVISIONS: st.SearchStrategy[Division] = st.one_of(
    st.just(Duplicated()),
    st.builds(Available, st.booleans()),
    st.lists(st.tuples(_AFFINITIES, st.integers(1, 5)), max_size=3).map(
        lambda weights: Weighted(tuple(weights))
    ),
)


@st.composite
def intents(draw: st.DrawFn) -> Intent:
    """Placements as Karmada knows them."""
    division = draw(_DIVISIONS)
    spread = draw(st.just(()) | _CONSTRAINTS)
    ignored = not spread or isinstance(division, Weighted)
    return Intent(
        terms=(Term(affinity=draw(_AFFINITIES | st.just(Affinity()))),),
        tolerations=draw(st.just(()) | st.just((Toleration("gpu", any_value=True),))),
        spread=spread,
        selection=Everyone() if ignored else Constrained(),
        division=division,
    )


@st.composite
def bindings(draw: st.DrawFn) -> Binding:
    """Workloads that may run somewhere already, and may be on the move."""
    on = draw(st.dictionaries(st.sampled_from([*NAMES, "gone"]), st.integers(0, 8), max_size=4))
    return make_binding(
        draw(st.integers(0, 30)),
        on=on,
        intent=draw(intents()),
        uid=draw(st.sampled_from(["", "a", "b"])),
        demand=draw(st.none() | st.just(make_demand()) | st.just(make_demand("500m"))),
        evicting=draw(st.lists(st.sampled_from(NAMES), max_size=1).map(tuple)),
        fresh=draw(st.booleans()),
    )
