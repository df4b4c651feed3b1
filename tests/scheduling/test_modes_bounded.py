"""Division by weights and by free capacity with a least and a most for each cluster."""

import pytest
from builders import make_binding, make_cluster, placed
from modes_drawn import named

from atoll.model.affinity import ANYWHERE, Term
from atoll.model.decision import Verdict
from atoll.model.intent import Available, Bounds, Division, Pick, Weighted
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet

FLEET = [make_cluster("a", cpu="8"), make_cluster("b", cpu="4"), make_cluster("c", cpu="4")]
THREE_TO_ONE = Weighted(((named("a"), 3), (named("b"), 1)))


@pytest.mark.parametrize(
    ("division", "bounds", "replicas", "expected"),
    [
        pytest.param(
            THREE_TO_ONE, [Bounds(ANYWHERE)], 8, {"a": 6, "b": 2}, id="weights, nothing in the way"
        ),
        pytest.param(
            THREE_TO_ONE,
            [Bounds(named("a"), most=4)],
            8,
            {"a": 4, "b": 4},
            id="what one may not have flows on",
        ),
        pytest.param(
            THREE_TO_ONE,
            [Bounds(named("b"), least=3)],
            8,
            {"a": 5, "b": 3},
            id="a least outweighs the weights",
        ),
        pytest.param(
            THREE_TO_ONE,
            [Bounds(ANYWHERE, least=1)],
            8,
            {"a": 5, "b": 2, "c": 1},
            id="a least is for everyone selected, with weight or not",
        ),
        pytest.param(
            THREE_TO_ONE,
            [Bounds(named("a", "b"), most=2)],
            8,
            {"a": 2, "b": 2, "c": 4},
            id="where those with weights are full the others take the rest",
        ),
        pytest.param(
            THREE_TO_ONE,
            [Bounds(named("a"), most=1), Bounds(ANYWHERE, most=9)],
            8,
            {"a": 1, "b": 7},
            id="the first entry that matches counts",
        ),
        pytest.param(
            Available(), [Bounds(ANYWHERE)], 8, {"a": 4, "b": 2, "c": 2}, id="by free capacity"
        ),
        pytest.param(
            Available(),
            [Bounds(named("a"), most=2)],
            8,
            {"a": 2, "b": 3, "c": 3},
            id="by free capacity, up to a most",
        ),
        pytest.param(
            Available(),
            [Bounds(ANYWHERE, least=4)],
            9,
            {"a": 5, "b": 4},
            id="not enough for all to have their least: the first do",
        ),
        pytest.param(
            Available(aggregated=True),
            [Bounds(named("a"), most=5)],
            8,
            {"a": 5, "b": 3},
            id="aggregated into as few as may hold it",
        ),
        pytest.param(
            Available(aggregated=True),
            [Bounds(named("c"), least=1)],
            8,
            {"a": 5, "c": 3},
            id="aggregated, and where it must be",
        ),
    ],
)
def test_bounds_are_kept(
    division: Division, bounds: list[Bounds], replicas: int, expected: dict[str, int]
) -> None:
    wanting = {"division": division, "bounds": tuple(bounds)}
    assert placed(decide(make_binding(replicas, wanting=wanting), Fleet.of(FLEET))) == expected


@pytest.mark.parametrize(
    ("replicas", "on", "expected"),
    [
        pytest.param(6, {"a": 3, "b": 3}, {"a": 3, "b": 3}, id="what fits stays"),
        pytest.param(6, {"b": 6}, {"a": 2, "b": 4}, id="what is above the most moves"),
        pytest.param(9, {"a": 4, "b": 4}, {"a": 5, "b": 4}, id="growing goes where it may"),
        pytest.param(3, {"a": 6, "b": 3}, {"a": 2, "b": 1}, id="shrinking is in proportion"),
        pytest.param(2, {"b": 4}, {"a": 1, "b": 1}, id="shrinking leaves everyone their least"),
    ],
)
def test_what_runs_is_kept_within_bounds(
    replicas: int, on: dict[str, int], expected: dict[str, int]
) -> None:
    bounds = (Bounds(named("a"), 1, 8), Bounds(named("b"), 1, 4))
    fleet = Fleet.of([make_cluster("a", cpu="8"), make_cluster("b", cpu="9")])
    wanting = {"division": Available(), "bounds": bounds}
    assert placed(decide(make_binding(replicas, on=on, wanting=wanting), fleet)) == expected


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        pytest.param(
            [Bounds(ANYWHERE, most=2)],
            "7 replicas are asked for, but the 3 clusters selected can take 6 within room and "
            "bounds.",
            id="too little may be taken",
        ),
        pytest.param(
            [Bounds(ANYWHERE, least=3, most=3)],
            "7 replicas are asked for, but the 3 clusters selected can take 6 within room and "
            "bounds.",
            id="no sum of bounds comes out",
        ),
    ],
)
def test_bounds_that_cannot_be_kept_are_refused(bounds: list[Bounds], message: str) -> None:
    wanting = {"division": Weighted(), "bounds": tuple(bounds)}
    decision = decide(make_binding(7, wanting=wanting), Fleet.of(FLEET))
    assert decision.verdict is Verdict.UNSCHEDULABLE
    assert decision.message == f"failed to assign replicas: {message}"


def test_later_tiers_have_their_least_set_aside() -> None:
    terms = (Term(affinity=named("a"), overflow=(named("b", "c"),)),)
    bounds = (Bounds(named("b"), least=2),)
    wanting = {"terms": terms, "division": Available(), "bounds": bounds}
    assert placed(decide(make_binding(8, wanting=wanting), Fleet.of(FLEET))) == {"a": 6, "b": 2}
    more = decide(make_binding(13, wanting=wanting), Fleet.of(FLEET))
    assert placed(more) == {"a": 8, "b": 3, "c": 2}


@pytest.mark.parametrize(
    "division", [pytest.param(Available(), id="by room"), pytest.param(THREE_TO_ONE, id="weights")]
)
def test_what_was_picked_is_divided_as_karmada_divides(division: Division) -> None:
    for on in ({}, {"a": 2}, {"a": 5, "b": 5}):
        plain = make_binding(7, on=on, wanting={"division": division})
        picked = make_binding(7, on=on, wanting={"division": division, "selection": Pick()})
        fleet = Fleet.of(FLEET)
        assert placed(decide(picked, fleet)) == placed(decide(plain, fleet))


def test_sums_of_free_capacity_do_not_overflow_where_atoll_picked() -> None:
    vast = Fleet.of(make_cluster(f"m{i}", pods=2**31 - 2) for i in range(3))
    wanting = {"division": Available(), "selection": Pick()}
    decision = decide(make_binding(9, demand=None, wanting=wanting), vast)
    assert placed(decision) == {"m0": 3, "m1": 3, "m2": 3}
