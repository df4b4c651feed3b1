"""What estimators are asked before a binding is decided, and how long their answers hold."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from placing_world import DIVIDED, DUPLICATED, EVEN, NOW, make_binding, make_cluster, make_fleet

from atoll.control.scheduler.decide.inquiring import Inquiry, corrected, inquiry, taken_in
from atoll.control.scheduler.decide.plan import SeenBinding, plan
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.model.amount import Amount
from atoll.model.assumed import Assumed, Sums, summed
from atoll.model.demand import Component, Demand

FLEET = make_fleet(make_cluster("m1"), make_cluster("m2"))
SPREAD = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
STATIC = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {
        "staticWeightList": [{"targetCluster": {"clusterNames": ["m1"]}, "weight": 1}]
    },
}


def part(replicas: int, milli: int) -> Component:
    return Component("", replicas, Demand((("cpu", Amount(milli)),)))


def asked_about(wire: dict[str, Any], *answered: str) -> Inquiry | None:
    return inquiry(plan(SeenBinding(binding=decode(wire), fleet=FLEET), NOW).decision, answered)


@pytest.mark.parametrize(
    ("dividing", "placement", "asked"),
    [
        (DIVIDED, {}, True),
        (EVEN, {}, True),
        (DUPLICATED, {}, False),
        (STATIC, {}, False),
        (DUPLICATED, SPREAD, True),
    ],
    ids=["aggregated", "by room", "copies", "fixed weights", "copies in one cluster"],
)
def test_who_is_asked_depends_on_whether_room_counts(
    dividing: dict[str, Any], placement: dict[str, Any], *, asked: bool
) -> None:
    found = asked_about(make_binding(dividing=dividing, placement=placement))
    assert (found is not None) == asked
    if found is not None:
        assert found.clusters == ("m1", "m2")
        assert found.namespace == "shop"


def test_only_what_was_not_answered_is_asked() -> None:
    found = asked_about(make_binding(), "m1")
    assert found is not None
    assert found.clusters == ("m2",)
    assert asked_about(make_binding(), "m1", "m2") is None
    assert asked_about(make_binding(replicas=0)) is None
    assert inquiry(None) is None


def test_work_in_other_clusters_is_not_taken_into_account() -> None:
    assumed = [Assumed("m1", (part(1, 5),)), Assumed("m2", (part(2, 5),))]
    assert taken_in("m2", assumed) == assumed[1]


@pytest.mark.parametrize(
    ("answer", "then", "now", "left"),
    [
        (5, (), (), 5),
        (5, (), (part(2, 1000),), 3),
        (5, (), (part(2, 1500),), 2),
        (5, (), (part(2, 100),), 3),
        (5, (part(2, 1000),), (), 5),
        (5, (part(2, 1000),), (part(3, 1000),), 4),
        (5, (), (part(9, 1000),), 0),
        (-1, (), (part(1, 1000),), -1),
    ],
    ids=["same", "alike", "larger", "smaller", "less", "one more", "too much", "not known"],
)
def test_what_was_given_since_is_taken_off(
    answer: int, then: tuple[Component, ...], now: tuple[Component, ...], left: int
) -> None:
    assert corrected(answer, part(1, 1000).demand, summed(then), summed(now)) == left


def test_sets_are_held_against_what_a_whole_set_takes() -> None:
    asked = (part(2, 1000), part(1, 2000))
    assert corrected(5, asked, Sums(), summed((part(1, 4000),))) == 4
    assert corrected(5, asked, Sums(), summed((part(1, 4001),))) == 3


parts = st.lists(st.builds(part, st.integers(0, 9), st.integers(0, 3000)), max_size=3).map(tuple)


@given(
    st.integers(-1, 50),
    st.one_of(st.none(), st.builds(part, st.just(1), st.integers(0, 9))),
    parts,
    parts,
)
def test_an_answer_never_grows_and_is_never_less_than_nothing_if_known(
    answer: int, one: Component | None, then: tuple[Component, ...], now: tuple[Component, ...]
) -> None:
    left = corrected(answer, one.demand if one else None, summed(then), summed(now))
    assert left <= answer
    assert left >= min(answer, 0)
