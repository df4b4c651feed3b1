"""Fleets and intents that use Atoll's own modes, drawn by Hypothesis; and decisions in short."""

from dataclasses import replace

from builders import amount, make_binding, make_cluster
from hypothesis import strategies as st

from atoll.model.affinity import ANYWHERE, Affinity, Term
from atoll.model.amount import Amount
from atoll.model.binding import Binding
from atoll.model.cluster import Cluster, Free
from atoll.model.intent import (
    Available,
    Bounds,
    Division,
    Duplicated,
    Everyone,
    Fill,
    Group,
    Intent,
    Order,
    Pick,
    Preference,
    Quota,
    Selection,
    Shortage,
    TieBreak,
    Weighted,
)
from atoll.model.price import NANO, Price
from atoll.model.selector import Operator, Requirement
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet

NAMES = [f"m{number}" for number in range(1, 9)]


def priced(units: float | None) -> Price | None:
    """So much for a CPU-hour; memory costs nothing."""
    return None if units is None else Price(cpu=round(units * NANO), gib=0)


def of_provider(name: str) -> Affinity:
    return Affinity(provider=(Requirement("provider", Operator.IN, (name,)),))


def named(*names: str) -> Affinity:
    return Affinity(names=names)


def settled(binding: Binding, decision: Decision) -> Binding:
    """The binding after its decision was carried out."""
    return replace(binding, targets=decision.targets, fresh=False)


def fleet_after(clusters: list[Cluster], binding: Binding, decision: Decision) -> Fleet:
    """The fleet when what the decision placed takes the room it takes."""
    before, after = dict(binding.targets), dict(decision.targets)
    return Fleet.of(
        _with_less(each, after.get(each.name, 0) - before.get(each.name, 0)) for each in clusters
    )


def _with_less(cluster: Cluster, replicas: int) -> Cluster:
    assert cluster.free is not None
    taken = {"cpu": 1000, "memory": amount("1Gi").milli}
    left = {
        name: Amount(free.milli - replicas * taken[name], free.binary)
        for name, free in cluster.free.resources.items()
    }
    return replace(cluster, free=Free(left, cluster.free.pods - replicas))


@st.composite
def clusters(draw: st.DrawFn, name: str) -> Cluster:
    """A cluster that takes what it has room for."""
    return make_cluster(
        name,
        cpu=str(draw(st.integers(0, 8))),
        region=draw(st.sampled_from(["", "east", "west"])),
        zones=draw(st.sampled_from([(), ("a",), ("b",), ("b", "c")])),
        provider=draw(st.sampled_from(["aws", "gcp", "own"])),
        labels=draw(st.dictionaries(st.just("team"), st.sampled_from(["x", "y"]))),
        price=priced(draw(st.none() | st.integers(0, 3))),
    )


@st.composite
def fleets(draw: st.DrawFn, least: int = 1) -> list[Cluster]:
    names = draw(st.lists(st.sampled_from(NAMES[:7]), min_size=least, max_size=5, unique=True))
    return [draw(clusters(name)) for name in names]


affinities = st.one_of(
    st.sampled_from([ANYWHERE, of_provider("aws"), of_provider("gcp"), of_provider("own")]),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True).map(
        lambda names: named(*names)
    ),
)
_orders = st.sampled_from(Order)
_spans = st.tuples(st.integers(1, 2), st.none() | st.integers(0, 2)).map(
    lambda each: (each[0], None if each[1] is None else sum(each))
)
_groups = st.builds(
    lambda key, groups, each, skew: Group(key, *groups, *each, skew),
    st.sampled_from(["zone", "region", "provider", "label:team", "property:none"]),
    _spans,
    _spans,
    st.none() | st.integers(0, 1),
)
_quotas = st.builds(
    lambda affinity, least, more: Quota(affinity, least + more, least),
    affinities,
    st.integers(0, 2),
    st.integers(1, 2),
)


@st.composite
def picks(draw: st.DrawFn) -> Pick:
    least, most = draw(_spans)
    return Pick(
        order=draw(_orders),
        least=least,
        most=most,
        seed=draw(st.integers(0, 3)),
        sticky=draw(st.booleans()),
        groups=tuple(draw(st.lists(_groups, max_size=2))),
        quotas=tuple(draw(st.lists(_quotas, max_size=2))),
        shortage=draw(st.sampled_from(Shortage)),
    )


fills = st.builds(
    Fill,
    order=_orders,
    even=st.booleans(),
    seed=st.integers(0, 3),
    shortage=st.sampled_from(Shortage),
    keep=st.booleans(),
)
_bound = st.builds(
    lambda affinity, least, more: Bounds(affinity, least, None if more is None else least + more),
    affinities,
    st.integers(0, 4),
    st.none() | st.integers(0, 4),
)


def _bounds(least: int) -> st.SearchStrategy[tuple[Bounds, ...]]:
    return st.lists(_bound, min_size=least, max_size=3).map(tuple)


_some_bounds = _bounds(0)
weighted = st.lists(st.tuples(affinities, st.integers(0, 5)), max_size=2).map(
    lambda weights: Weighted(tuple(weights))
)
dividing: st.SearchStrategy[Division] = st.one_of(
    fills, st.builds(Available, st.booleans()), weighted
)


_everyone: st.SearchStrategy[Selection] = st.just(Everyone())
_preferences = st.lists(st.builds(Preference, affinities, st.integers(-200, 200)), max_size=2).map(
    tuple
)


@st.composite
def intents(
    draw: st.DrawFn,
    selections: st.SearchStrategy[Selection] = _everyone,
    divisions: st.SearchStrategy[Division] = dividing,
    limits: st.SearchStrategy[tuple[Bounds, ...]] = _some_bounds,
) -> Intent:
    overflow = tuple(draw(st.lists(affinities, max_size=2)))
    return Intent(
        terms=(Term(affinity=draw(affinities) if overflow else ANYWHERE, overflow=overflow),),
        selection=draw(selections),
        division=draw(divisions),
        bounds=draw(limits),
        preferences=draw(_preferences),
        tie_break=draw(st.sampled_from(TieBreak)),
    )


@st.composite
def bindings(draw: st.DrawFn, wanted: st.SearchStrategy[Intent]) -> Binding:
    """A workload of one CPU a replica that may run somewhere already."""
    on = draw(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), max_size=3))
    return make_binding(
        draw(st.integers(0, 16)),
        on=on,
        intent=draw(wanted),
        uid=draw(st.sampled_from(["", "a", "b"])),
        fresh=draw(st.sampled_from([False, False, True])),
    )


anything = st.one_of(
    intents(picks(), dividing | st.just(Duplicated())),
    intents(divisions=fills),
    intents(limits=_bounds(1)),
)
"""Intents with something in them that Karmada does not have."""


def staying(intent: Intent) -> Intent:
    """The same intent, if what runs is to stay where it runs."""
    selection, division = intent.selection, intent.division
    if isinstance(selection, Pick):
        selection = replace(selection, sticky=True)
    if isinstance(division, Fill):
        division = replace(division, keep=True)
    return replace(intent, selection=selection, division=division)
