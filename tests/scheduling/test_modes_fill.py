"""Filling clusters in an order: local first, then the burst; the cheapest first; and back again."""

import pytest
from builders import make_binding, make_cluster, placed
from modes_drawn import named, priced

from atoll.model.affinity import Term
from atoll.model.binding import Target
from atoll.model.cluster import Cluster
from atoll.model.decision import Verdict
from atoll.model.intent import Bounds, Fill, Order, Shortage
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet

LOCAL_THEN_BURST = (
    Term(affinity=named("local1", "local2"), overflow=(named("burst1", "burst2"),)),
)
TIERED = [
    make_cluster("burst1", cpu="60"),
    make_cluster("burst2", cpu="50"),
    make_cluster("local1", cpu="4"),
    make_cluster("local2", cpu="6"),
]
PRICED = [
    make_cluster("cheap", cpu="4", price=priced(1)),
    make_cluster("fair", cpu="4", price=priced(2)),
    make_cluster("fair2", cpu="4", price=priced(2)),
    make_cluster("unknown", cpu="4"),
]


def running(fleet: list[Cluster], on: dict[str, int]) -> Fleet:
    """The fleet when this runs on it, one CPU a replica, and takes its room."""
    rest = {each.name: each for each in fleet}
    return Fleet.of(
        make_cluster(
            name,
            cpu=str(each.free.resources["cpu"].milli // 1000 - on.get(name, 0))
            if each.free
            else "0",
            price=each.price,
        )
        for name, each in rest.items()
    )


@pytest.mark.parametrize(
    ("replicas", "on", "expected"),
    [
        pytest.param(3, {}, {"local2": 3}, id="the roomiest local cluster is enough"),
        pytest.param(9, {}, {"local2": 6, "local1": 3}, id="both local clusters are enough"),
        pytest.param(14, {}, {"local2": 6, "local1": 4, "burst1": 4}, id="what is left bursts"),
        pytest.param(
            16,
            {"local1": 4, "local2": 6, "burst2": 2},
            {"local1": 4, "local2": 6, "burst2": 6},
            id="growing fills where the burst runs already",
        ),
        pytest.param(
            11,
            {"local1": 4, "local2": 6, "burst1": 3, "burst2": 1},
            {"local2": 6, "local1": 4, "burst1": 1},
            id="shrinking takes from the burst first",
        ),
        pytest.param(
            5,
            {"local1": 4, "local2": 6, "burst1": 3},
            {"local2": 5},
            id="then from the local clusters, the last first",
        ),
        pytest.param(
            8,
            {"local1": 2, "burst1": 4},
            {"local1": 4, "burst1": 4},
            id="what runs in the burst stays, what is new is local",
        ),
    ],
)
def test_local_first_then_burst(
    replicas: int, on: dict[str, int], expected: dict[str, int]
) -> None:
    wanting = {"terms": LOCAL_THEN_BURST, "division": Fill()}
    decision = decide(make_binding(replicas, on=on, wanting=wanting), running(TIERED, on))
    assert placed(decision) == expected


@pytest.mark.parametrize("fresh", [pytest.param(True, id="fresh"), pytest.param(False, id="keep")])
def test_a_fresh_decision_fills_anew(fresh: object) -> None:
    on = {"burst1": 6}
    wanting = {"terms": LOCAL_THEN_BURST, "division": Fill()}
    binding = make_binding(6, on=on, wanting=wanting, fresh=bool(fresh))
    expected = {"local2": 6} if fresh else {"burst1": 6}
    assert placed(decide(binding, running(TIERED, on))) == expected


def test_without_keeping_running_replicas_follow_the_order() -> None:
    on = {"burst1": 6}
    wanting = {"terms": LOCAL_THEN_BURST, "division": Fill(keep=False)}
    decision = decide(make_binding(7, on=on, wanting=wanting), running(TIERED, on))
    assert placed(decision) == {"local2": 6, "local1": 1}


@pytest.mark.parametrize(
    ("fill", "replicas", "on", "expected"),
    [
        pytest.param(
            Fill(Order.PRICE), 10, {}, {"cheap": 4, "fair": 4, "fair2": 2}, id="cheapest first"
        ),
        pytest.param(
            Fill(Order.PRICE),
            13,
            {},
            {"cheap": 4, "fair": 4, "fair2": 4, "unknown": 1},
            id="an unknown price last",
        ),
        pytest.param(
            Fill(Order.PRICE, even=True),
            8,
            {},
            {"cheap": 4, "fair": 2, "fair2": 2},
            id="evenly among the equally cheap",
        ),
        pytest.param(
            Fill(Order.PRICE),
            5,
            {"cheap": 2, "fair2": 2, "unknown": 4},
            {"cheap": 2, "fair2": 2, "unknown": 1},
            id="the dearest are given back first",
        ),
    ],
)
def test_cheapest_first(
    fill: Fill, replicas: int, on: dict[str, int], expected: dict[str, int]
) -> None:
    binding = make_binding(replicas, on=on, wanting={"division": fill})
    assert placed(decide(binding, running(PRICED, on))) == expected


def test_evenly_divides_by_room_inside_a_tier_and_fills_tier_after_tier() -> None:
    wanting = {"terms": LOCAL_THEN_BURST, "division": Fill(even=True)}
    inside = decide(make_binding(5, wanting=wanting), Fleet.of(TIERED))
    assert placed(inside) == {"local1": 2, "local2": 3}
    beyond = decide(make_binding(27, wanting=wanting), Fleet.of(TIERED))
    assert placed(beyond) == {"local1": 4, "local2": 6, "burst1": 9, "burst2": 8}


def test_the_roomiest_is_filled_first_and_emptied_last() -> None:
    wanting = {"division": Fill(Order.FREE)}
    grown = decide(make_binding(70, wanting=wanting), Fleet.of(TIERED))
    assert placed(grown) == {"burst1": 60, "burst2": 10}
    on = {"burst1": 60, "burst2": 10}
    shrunk = decide(make_binding(65, on=on, wanting=wanting), running(TIERED, on))
    assert placed(shrunk) == {"burst1": 60, "burst2": 5}


def test_by_chance_the_order_follows_from_the_seed() -> None:
    orders = set()
    for seed in range(8):
        wanting = {"division": Fill(Order.CHANCE, seed=seed)}
        decision = decide(make_binding(1, wanting=wanting), Fleet.of(TIERED))
        assert decision.targets == decide(decision.binding, Fleet.of(TIERED[::-1])).targets
        orders.add(decision.targets)
    assert len(orders) > 2


@pytest.mark.parametrize(
    ("shortage", "verdict", "total"),
    [
        pytest.param(Shortage.REFUSE, Verdict.UNSCHEDULABLE, 0, id="all or nothing"),
        pytest.param(Shortage.PARTIAL, Verdict.SUCCESS, 120, id="what fits is placed"),
    ],
)
def test_at_a_shortage(shortage: Shortage, verdict: Verdict, total: int) -> None:
    binding = make_binding(140, wanting={"division": Fill(shortage=shortage)})
    decision = decide(binding, Fleet.of(TIERED))
    assert decision.verdict is verdict
    assert sum(placed(decision).values()) == total
    attempt = decision.attempts[-1]
    if attempt.assignment is None:
        assert "the 4 clusters selected can take 120" in decision.message
    else:
        (division,) = attempt.assignment.sums
        assert division.seats - division.won.sum() == 20


def test_nothing_at_all_is_no_partial_placement() -> None:
    on = {"gone": 3}
    wanting = {"division": Fill(shortage=Shortage.PARTIAL)}
    full = Fleet.of([make_cluster("full", cpu="0")])
    decision = decide(make_binding(3, on=on, wanting=wanting), full)
    assert decision.verdict is Verdict.UNSCHEDULABLE
    assert decision.bound == (Target("gone", 3),)


@pytest.mark.parametrize(
    ("replicas", "on", "expected"),
    [
        pytest.param(9, {}, {"local2": 5, "local1": 2, "burst1": 1, "burst2": 1}, id="least first"),
        pytest.param(2, {}, {"local2": 2}, id="for whom it is enough, in order"),
        pytest.param(
            12, {}, {"local2": 5, "local1": 4, "burst1": 2, "burst2": 1}, id="no more than the most"
        ),
        pytest.param(
            6,
            {"local2": 5, "local1": 4, "burst1": 3},
            {"local2": 2, "local1": 2, "burst1": 1, "burst2": 1},
            id="shrinking stops at the least",
        ),
    ],
)
def test_filling_keeps_bounds(replicas: int, on: dict[str, int], expected: dict[str, int]) -> None:
    bounds = (Bounds(named("local1", "local2"), 2, 5), Bounds(named("burst1", "burst2"), 1))
    wanting = {"terms": LOCAL_THEN_BURST, "division": Fill(), "bounds": bounds}
    decision = decide(make_binding(replicas, on=on, wanting=wanting), running(TIERED, on))
    assert placed(decision) == expected
