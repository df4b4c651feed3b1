"""Whom a cluster's change matters to."""

from dataclasses import replace
from typing import Any

import pytest
from placing_world import World, make_binding, make_cluster

from atoll.control.scheduler.decide.affected import Change, affected, by_price, change
from atoll.dialects.karmada import cluster
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.model.action import Ref
from atoll.model.cluster import Cluster
from atoll.model.price import Price
from atoll.model.resource_binding import ResourceBinding


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
    all_there_are = [
        watching("anywhere"),
        watching("old", placement=by_label("old")),
        watching("new", placement=by_label("new")),
        watching("other", placement=by_label("other")),
        watching("runs-there", placement=by_label("other"), clusters=[{"name": "a"}]),
    ]
    before, after = made("a", labels={"env": "old"}), made("a", labels={"env": "new"})
    assert names(affected(all_there_are, before, after)) == ["anywhere", "old", "new", "runs-there"]
    assert names(affected(all_there_are, None, after)) == ["anywhere", "new", "runs-there"]
    assert names(affected(all_there_are, before, None)) == ["anywhere", "old", "runs-there"]


def test_only_those_who_choose_by_price_care_for_prices() -> None:
    all_there_are = [
        watching("karmada"),
        watching("best", atoll={"select": {"order": "Best"}}),
        watching("cheapest", atoll={"select": {"order": "Cheapest"}}),
        watching("filled", atoll={"divide": {"order": "Cheapest"}}),
        watching("elsewhere", placement=by_label("x"), atoll={"select": {"order": "Cheapest"}}),
    ]
    assert names(by_price(all_there_are, [made("a"), made("b")])) == ["cheapest", "filled"]
    assert names(by_price(all_there_are, [made("a", labels={"env": "x"})])) == [
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
    assert names(affected([one], made(name), made(name))) == (["one"] if expected else [])


def test_a_binding_matters_as_it_stands() -> None:
    world = World(make_binding(placement=TERMS), make_cluster("y"))
    assert len(affected([decode(world.binding)], None, made("x"))) == 1
    world.settle()
    assert affected([decode(world.binding)], None, made("x")) == []
    assert len(affected([decode(world.binding)], made("y"), None)) == 1


@pytest.mark.parametrize("facts", [{"schedulerName": "another"}, {"clusters": "all"}])
def test_nothing_matters_to_what_is_not_ours_or_cannot_be_read(facts: dict[str, Any]) -> None:
    assert affected([decode(make_binding(**facts))], None, made("a")) == []


@pytest.mark.parametrize(
    ("atoll", "expected"), [({}, []), ({"failback": "WhenPossible"}, ["w"])], ids=["stays", "back"]
)
def test_a_cluster_of_an_earlier_term_matters_to_whoever_would_return_to_it(
    atoll: dict[str, Any], expected: list[str]
) -> None:
    seen = watching("w", observed="second", placement=TERMS, atoll=atoll)
    assert names(affected([seen], None, made("x"))) == expected
