"""Whom a cluster's change matters to."""

import cProfile
import pstats
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placing_world import World, make_binding, make_cluster

from atoll.control.scheduler.decide.affected import Change, Interests, change
from atoll.control.works.decide.overriding.targeting import matches
from atoll.dialects.karmada import cluster
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.dialects.karmada.standing import to_schedule
from atoll.model.action import Ref
from atoll.model.cluster import Cluster
from atoll.model.price import Price
from atoll.model.resource_binding import ResourceBinding

MANY = 40


def made(*given: Any, **facts: Any) -> Cluster:
    return cluster.decode(make_cluster(*given, **facts))


def priced(name: str, cpu: int) -> Cluster:
    return replace(made(name), price=Price(cpu=cpu))


def watching(
    name: str, *, settled: bool = True, observed: str = "", **facts: Any
) -> ResourceBinding:
    """A binding whose last decision, if it is settled, is about its present spec."""
    wire = make_binding(name=name, **facts)
    generation = wire["metadata"]["generation"] if settled else 0
    status = {
        "schedulerObservingAffinityName": observed,
        "schedulerObservedGeneration": generation,
    }
    return decode({**wire, "status": status})


def of(*bindings: ResourceBinding) -> Interests:
    known = Interests()
    for each in bindings:
        known.learn(each)
    return known


def names(found: list[Ref]) -> list[str]:
    return [each.name.removesuffix("-deployment") for each in found]


def by_label(value: str) -> dict[str, Any]:
    return {"clusterAffinity": {"labelSelector": {"matchLabels": {"env": value}}}}


TERMS = {
    "clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["x"]},
        {
            "affinityName": "second",
            "clusterNames": ["y"],
            "overflowAffinities": [{"affinityName": "more", "clusterNames": ["z"]}],
        },
    ]
}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(made("a"), made("a"), Change.NONE, id="same"),
        pytest.param(made("a", 5), made("a", 4), Change.NONE, id="less-room"),
        pytest.param(made("a", 4), made("a", 5), Change.ROOM, id="more-room"),
        pytest.param(made("a"), made("a", labels={"x": "y"}), Change.FACTS, id="labels"),
        pytest.param(made("a"), made("a", region="eu"), Change.FACTS, id="spec"),
        pytest.param(made("a"), made("a", deleting=True), Change.FACTS, id="leaving"),
        pytest.param(priced("a", 2), priced("a", 1), Change.NONE, id="price"),
        pytest.param(None, made("a"), Change.FACTS, id="joined"),
        pytest.param(made("a"), None, Change.FACTS, id="left"),
        pytest.param(None, None, Change.NONE, id="never-there"),
        pytest.param(
            cluster.decode({"metadata": {"name": "a"}}),
            cluster.decode({"metadata": {"name": "a"}, "status": {"resourceSummary": {}}}),
            Change.ROOM,
            id="first-report",
        ),
    ],
)
def test_how_much_a_change_matters(
    before: Cluster | None, after: Cluster | None, expected: Change
) -> None:
    assert change(before, after) is expected


def test_the_affinity_is_tested_with_the_old_and_the_new_cluster() -> None:
    all_there_are = of(
        watching("anywhere"),
        watching("old", placement=by_label("old")),
        watching("new", placement=by_label("new")),
        watching("other", placement=by_label("other")),
        watching("runs-there", placement=by_label("other"), clusters=[{"name": "a"}]),
    )
    before, after = made("a", labels={"env": "old"}), made("a", labels={"env": "new"})
    assert names(all_there_are.affected(before, after)) == ["anywhere", "old", "new", "runs-there"]
    assert names(all_there_are.affected(None, after)) == ["anywhere", "new", "runs-there"]
    assert names(all_there_are.affected(before, None)) == ["anywhere", "old", "runs-there"]


def test_only_those_who_choose_by_price_care_for_prices() -> None:
    all_there_are = of(
        watching("karmada"),
        watching("best", atoll={"select": {"order": "Best"}}),
        watching("cheapest", atoll={"select": {"order": "Cheapest"}}),
        watching("filled", atoll={"divide": {"order": "Cheapest"}}),
        watching("elsewhere", placement=by_label("x"), atoll={"select": {"order": "Cheapest"}}),
    )
    assert names(all_there_are.by_price([made("a"), made("b")])) == ["cheapest", "filled"]
    assert names(all_there_are.by_price([made("a", labels={"env": "x"})])) == [
        *("cheapest", "filled", "elsewhere")
    ]


@pytest.mark.parametrize(
    ("name", "observed", "settled", "expected"),
    [
        pytest.param("x", "", True, True, id="first-term"),
        pytest.param("x", "second", True, False, id="a-term-that-was-left-behind"),
        pytest.param("x", "second", False, True, id="not-decided-yet"),
        pytest.param("y", "first", True, True, id="a-term-still-to-come"),
        pytest.param("z", "second", True, True, id="overflow"),
        pytest.param("other", "first", True, False, id="no-term"),
    ],
)
def test_the_terms_from_the_observed_one_on_count(
    name: str, observed: str, *, settled: bool, expected: bool
) -> None:
    one = watching("one", placement=TERMS, observed=observed, settled=settled)
    assert names(of(one).affected(made(name), made(name))) == (["one"] if expected else [])


def test_a_binding_matters_as_it_stands() -> None:
    world = World(make_binding(placement=TERMS), make_cluster("y"))
    assert len(of(decode(world.binding)).affected(None, made("x"))) == 1
    world.settle()
    assert of(decode(world.binding)).affected(None, made("x")) == []
    assert len(of(decode(world.binding)).affected(made("y"), None)) == 1


@pytest.mark.parametrize("facts", [{"schedulerName": "another"}, {"clusters": "all"}])
def test_nothing_matters_to_what_is_not_ours_or_cannot_be_read(facts: dict[str, Any]) -> None:
    assert of(decode(make_binding(**facts))).affected(None, made("a")) == []


@pytest.mark.parametrize(
    ("atoll", "expected"), [({}, []), ({"failback": "WhenPossible"}, ["w"])], ids=["stays", "back"]
)
def test_a_cluster_of_an_earlier_term_matters_to_whoever_would_return_to_it(
    atoll: dict[str, Any], expected: list[str]
) -> None:
    seen = watching("w", observed="second", placement=TERMS, atoll=atoll)
    assert names(of(seen).affected(None, made("x"))) == expected


PLACEMENTS = [
    {},
    {"clusterAffinity": {"clusterNames": ["a", "b"]}},
    {"clusterAffinity": {"clusterNames": ["b"], "exclude": ["c"]}},
    {"clusterAffinity": {"exclude": ["a"]}},
    by_label("old"),
    by_label("new"),
    TERMS,
]
bindings = st.builds(
    watching,
    st.sampled_from("pqrs"),
    settled=st.booleans(),
    observed=st.sampled_from(["", "first", "second"]),
    placement=st.sampled_from(PLACEMENTS),
    clusters=st.sampled_from([[], [{"name": "a"}], [{"name": "y"}, {"name": "b"}]]),
    atoll=st.sampled_from([{}, {"select": {"order": "Cheapest"}}, {"failback": "WhenPossible"}]),
    schedulerName=st.sampled_from(["", "", "another"]),
)
clusters = st.builds(
    lambda name, env: made(name, labels={"env": env}),
    st.sampled_from(["a", "b", "c", "x", "y", "z"]),
    st.sampled_from(["old", "new"]),
)
KEYS = [watching(name).ref for name in "pqrs"]
histories = st.lists(st.one_of(bindings, st.sampled_from(KEYS), clusters), max_size=15)


@given(histories, clusters, st.sampled_from(["old", "new", None]))
def test_many_bindings_care_for_what_each_of_them_cares_for_alone(
    history: list[Any], before: Cluster, env: str | None
) -> None:
    after = None if env is None else replace(before, labels={"env": env})
    known, there = Interests(), dict[Ref, ResourceBinding]()
    for each in history:
        match each:
            case ResourceBinding():
                known.learn(each)
                there[each.ref] = each
            case Ref():
                known.forget(each)
                there.pop(each, None)
            case _:
                known.affected(each, None)  # to ask changes nothing
    alone = {key: of(each) for key, each in there.items()}
    assert known.affected(before, after) == [
        key for key, one in alone.items() if one.affected(before, after)
    ]
    assert known.by_price([before]) == [key for key, one in alone.items() if one.by_price([before])]


def looked_at(question: Callable[[], object]) -> tuple[int, int]:
    """How many bindings are read and how many affinities are tested to answer a question."""
    profile = cProfile.Profile()
    with profile:
        question()
    profile.create_stats()
    counted = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    codes = (to_schedule.__code__, matches.__code__)
    here = [(code.co_filename, code.co_firstlineno, code.co_name) for code in codes]
    read, tested = (counted[each][1] if each in counted else 0 for each in here)
    return read, tested


@pytest.mark.parametrize(
    ("placement", "tests"),
    [
        pytest.param(lambda _: by_label("x"), 2, id="a choice that all share"),
        pytest.param(
            lambda nth: {"clusterAffinity": {"clusterNames": [f"c-{nth}"]}},
            1,
            id="one cluster each",
        ),
        pytest.param(lambda nth: by_label(f"x-{nth}"), 2 * MANY, id="a choice each"),
    ],
)
def test_a_change_costs_what_is_chosen_by_and_not_how_many_bindings_there_are(
    placement: Callable[[int], dict[str, Any]], tests: int
) -> None:
    there = [
        watching(f"w-{nth}-{one}", placement=placement(nth)) for nth in range(MANY) for one in "ab"
    ]
    known = of(*there)
    known.affected(None, made("c-1"))
    before, after = made("c-1"), made("c-1", labels={"env": "new"})
    assert looked_at(lambda: known.affected(before, after)) == (0, tests)
    assert looked_at(lambda: known.by_price([after])) == (0, 0)
    known.learn(there[0])
    assert looked_at(lambda: known.affected(before, after)) == (1, tests)


def test_a_choice_that_nobody_has_any_more_is_not_tested() -> None:
    one, other = watching("one", placement=by_label("x")), watching("two", placement=by_label("y"))
    known = of(one, other)
    assert looked_at(lambda: known.affected(None, made("a")))[1] == 2
    known.learn(watching("one", placement=by_label("y")))
    assert looked_at(lambda: known.affected(None, made("a")))[1] == 1
    known.forget(one.ref)
    known.forget(other.ref)
    assert looked_at(lambda: known.affected(None, made("a")))[1] == 0
