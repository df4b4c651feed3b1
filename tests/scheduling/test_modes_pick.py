"""Picking clusters: so many, in an order, spread over groups, by quotas, kept where they are."""

import pytest
from builders import make_binding, make_cluster, placed
from modes_drawn import named, of_provider, priced

from atoll.model.cluster import Cluster
from atoll.model.decision import Verdict
from atoll.model.intent import (
    Available,
    Bounds,
    Division,
    Duplicated,
    Fill,
    Group,
    Order,
    Pick,
    Quota,
    Shortage,
    Weighted,
)
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet

ZONED = [
    make_cluster("a1", cpu="9", zones=("a",)),
    make_cluster("a2", cpu="8", zones=("a",)),
    make_cluster("a3", cpu="7", zones=("a",)),
    make_cluster("b1", cpu="4", zones=("b", "a")),
    make_cluster("b2", cpu="3", zones=("b",)),
    make_cluster("c1", cpu="2", zones=("c",)),
    make_cluster("none", cpu="20"),
]
PRICED = [
    make_cluster("dear", cpu="9", price=priced(3)),
    make_cluster("fair", cpu="2", price=priced(2)),
    make_cluster("cheap", cpu="1", price=priced(1)),
    make_cluster("unknown", cpu="50"),
]
CLOUDS = [
    *(make_cluster(f"aws{i}", cpu=str(10 + i), provider="aws") for i in range(1, 5)),
    *(make_cluster(f"gcp{i}", cpu=str(i), provider="gcp") for i in range(1, 4)),
    make_cluster("own", cpu="99", provider="own"),
]
THREE_AND_TWO = (Quota(of_provider("aws"), 3), Quota(of_provider("gcp"), 2))


def chosen(
    pick: Pick,
    clusters: list[Cluster],
    *,
    replicas: int = 1,
    division: Division | None = None,
    on: dict[str, int] | None = None,
    bounds: tuple[Bounds, ...] = (),
) -> list[str]:
    """The names picked, in order; of a divided workload, whether or not they get replicas."""
    wanting = {"selection": pick, "division": division or Duplicated(), "bounds": bounds}
    decision = decide(make_binding(replicas, on=on, wanting=wanting), Fleet.of(clusters))
    selected = decision.attempts[-1].selected
    assert decision.ok, decision.message
    assert selected is not None
    return decision.fleet.names_of(selected.rows)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        pytest.param(Order.BEST, ["unknown", "dear"], id="the best are the roomiest here"),
        pytest.param(Order.FREE, ["unknown", "dear"], id="most free"),
        pytest.param(Order.PRICE, ["cheap", "fair"], id="cheapest"),
    ],
)
def test_clusters_are_taken_in_order(order: Order, expected: list[str]) -> None:
    assert chosen(Pick(order, most=2), PRICED) == expected


def test_an_unknown_price_comes_last_and_is_said_to_be_unknown() -> None:
    pick = Pick(Order.PRICE, most=3)
    decision = decide(make_binding(wanting={"selection": pick}), Fleet.of(PRICED))
    assert list(placed(decision)) == ["cheap", "fair", "dear"]
    selected = decision.attempts[-1].selected
    assert selected is not None
    (prices,) = selected.groups
    assert (prices.key, prices.names, prices.sizes) == ("price", ["known", "not known"], [3, 1])
    assert decision.fleet.names_of(prices.rows)[-1] == "unknown"
    assert chosen(Pick(Order.PRICE), PRICED)[-1] == "unknown"


def test_the_draw_is_the_same_for_the_same_seed_and_differs_with_it() -> None:
    fleet = [make_cluster(f"m{i}") for i in range(20)]
    draws = {tuple(chosen(Pick(Order.CHANCE, most=3, seed=seed), fleet)) for seed in range(20)}
    again = {tuple(chosen(Pick(Order.CHANCE, most=3, seed=seed), fleet)) for seed in range(20)}
    assert draws == again
    assert len(draws) > 10


def test_a_cluster_that_joins_does_not_reshuffle_the_others() -> None:
    fleet = [make_cluster(f"m{i}") for i in range(12)]
    before = chosen(Pick(Order.CHANCE, seed=7), fleet)
    after = chosen(Pick(Order.CHANCE, seed=7), [*fleet, make_cluster("joined")])
    assert [name for name in after if name != "joined"] == before


def test_every_cluster_is_drawn_about_as_often_as_any_other() -> None:
    fleet = [make_cluster(f"m{i}") for i in range(4)]
    first = [chosen(Pick(Order.CHANCE, most=1, seed=seed), fleet)[0] for seed in range(200)]
    assert all(30 <= first.count(each.name) <= 70 for each in fleet)


@pytest.mark.parametrize(
    ("pick", "expected"),
    [
        pytest.param(
            Pick(most=3, groups=(Group("zone"),)), ["a1", "b1", "c1"], id="one in every zone"
        ),
        pytest.param(
            Pick(most=4, groups=(Group("zone"),)), ["a1", "a2", "b1", "c1"], id="then the best"
        ),
        pytest.param(
            Pick(most=3, groups=(Group("zone", most=2),)), ["a1", "a2", "b1"], id="two zones"
        ),
        pytest.param(
            Pick(groups=(Group("zone", each_most=1),)), ["a1", "b1", "c1"], id="one of each"
        ),
        pytest.param(
            Pick(groups=(Group("zone", least=2, each_least=2, each_most=2),)),
            ["a1", "a2", "b1", "b2"],
            id="two in each, where there are two",
        ),
        pytest.param(
            Pick(groups=(Group("zone", skew=1),)),
            ["a1", "a2", "b1", "b2", "c1"],
            id="no zone more than one ahead",
        ),
        pytest.param(
            Pick(least=5, groups=(Group("zone", skew=0),)), None, id="there are no five alike"
        ),
        pytest.param(
            Pick(least=4, groups=(Group("zone", skew=0),)),
            ["a1", "a2", "b1", "b2"],
            id="four alike leave out a zone",
        ),
    ],
)
def test_clusters_are_spread_over_zones(pick: Pick, expected: list[str] | None) -> None:
    decision = decide(make_binding(wanting={"selection": pick}), Fleet.of(ZONED))
    assert list(placed(decision)) == (expected or [])
    assert decision.ok is (expected is not None)


@pytest.mark.parametrize(
    ("key", "facts"),
    [
        pytest.param("region", {"region": "x"}, id="region"),
        pytest.param("provider", {"provider": "x"}, id="provider"),
        pytest.param("zone", {"zones": ("x", "y")}, id="a cluster is in its first zone"),
        pytest.param("label:team", {"labels": {"team": "x"}}, id="label"),
        pytest.param("property:rack", {"properties": {"rack": "x"}}, id="property"),
    ],
)
def test_a_group_can_be_of_anything_and_who_is_in_none_is_not_taken(
    key: str, facts: dict[str, object]
) -> None:
    fleet = [make_cluster("in", **facts), make_cluster("out")]
    assert chosen(Pick(groups=(Group(key),)), fleet) == ["in"]


def test_several_rules_hold_at_once() -> None:
    fleet = [
        make_cluster(f"{region}-{team}{i}", region=region, labels={"team": team})
        for region in ("east", "west")
        for team in ("x", "y")
        for i in range(3)
    ]
    pick = Pick(
        least=4, most=4, groups=(Group("region", each_most=2), Group("label:team", 2, skew=0))
    )
    names = chosen(pick, fleet)
    assert sorted(name[:4] for name in names) == ["east", "east", "west", "west"]
    assert sorted(name[5] for name in names) == ["x", "x", "y", "y"]


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        pytest.param(
            THREE_AND_TWO, ["aws4", "aws3", "aws2", "gcp3", "gcp2"], id="3 in AWS and 2 in GCP"
        ),
        pytest.param(
            (Quota(of_provider("gcp"), 5, least=1),), ["gcp3", "gcp2", "gcp1"], id="up to five"
        ),
        pytest.param(
            (Quota(named("aws4", "gcp3"), 1), Quota(of_provider("aws"), 4)),
            ["aws4", "aws3", "aws2", "aws1", "gcp3"],
            id="each counts once, so that all are met",
        ),
    ],
)
def test_quotas_take_so_many_of_these_and_so_many_of_those(
    quotas: tuple[Quota, ...], expected: list[str]
) -> None:
    assert chosen(Pick(quotas=quotas), CLOUDS) == expected


REFUSED = [
    pytest.param(
        Pick(least=8, groups=(Group("zone", least=4, each_least=2),)),
        ZONED,
        "asked for at least 8 clusters, in at least 4 groups by zone with at least 2 clusters in "
        "each; there are 7 candidates; zone: a has 3, b has 2, c has 1, 1 in none.",
        id="too few zones",
    ),
    pytest.param(
        Pick(quotas=(Quota(of_provider("gcp"), 4), Quota(of_provider("aws"), 3, least=2))),
        CLOUDS,
        "asked for at least 1 cluster, 4 clusters of quota 1, 2 to 3 clusters of quota 2; there "
        "are 8 candidates; quotas: quota 1 has 3, quota 2 has 4, 1 in none.",
        id="too few for a quota",
    ),
    pytest.param(
        Pick(least=9, most=9),
        CLOUDS,
        "asked for 9 clusters; there are 8 candidates.",
        id="too few clusters",
    ),
]


@pytest.mark.parametrize(("pick", "fleet", "message"), REFUSED)
def test_a_refusal_says_what_was_asked_and_what_there_is(
    pick: Pick, fleet: list[Cluster], message: str
) -> None:
    decision = decide(make_binding(wanting={"selection": pick}), Fleet.of(fleet))
    assert decision.verdict is Verdict.UNSCHEDULABLE
    assert decision.message == f"failed to select clusters: {message}"


@pytest.mark.parametrize(
    ("pick", "fleet", "expected"),
    [
        pytest.param(
            Pick(most=8, groups=(Group("zone", 4, None, 2, 2),), shortage=Shortage.PARTIAL),
            ZONED,
            ["a1", "a2", "b1", "b2", "c1"],
            id="the zones there are",
        ),
        pytest.param(
            Pick(quotas=(Quota(of_provider("gcp"), 9),), shortage=Shortage.PARTIAL),
            CLOUDS,
            ["gcp3", "gcp2", "gcp1"],
            id="as many of a quota as there are",
        ),
        pytest.param(
            Pick(least=9, shortage=Shortage.PARTIAL),
            PRICED,
            ["unknown", "dear", "fair", "cheap"],
            id="all there are",
        ),
    ],
)
def test_at_a_shortage_what_there_is_can_be_taken(
    pick: Pick, fleet: list[Cluster], expected: list[str]
) -> None:
    assert chosen(pick, fleet) == expected


def test_what_holds_the_work_is_picked_first_unless_it_should_not_stick() -> None:
    on = {"dear": 1, "unknown": 1}
    pick = Pick(Order.PRICE, most=2)
    assert chosen(pick, PRICED, on=on) == ["dear", "unknown"]
    assert chosen(Pick(Order.PRICE, most=2, sticky=False), PRICED, on=on) == ["cheap", "fair"]


@pytest.mark.parametrize(
    ("replicas", "division", "expected"),
    [
        pytest.param(3, Available(), ["cheap", "fair"], id="the cheapest have room"),
        pytest.param(10, Available(), ["cheap", "dear"], id="one makes way for a roomier one"),
        pytest.param(55, Fill(), ["dear", "unknown"], id="both make way"),
        pytest.param(3, Weighted(), ["cheap", "fair"], id="weights ask for no room"),
        pytest.param(9, Duplicated(), ["cheap", "fair"], id="nor do duplicates"),
    ],
)
def test_where_replicas_are_divided_those_picked_have_room_if_any_do(
    replicas: int, division: Division, expected: list[str]
) -> None:
    pick = Pick(Order.PRICE, least=2, most=2)
    assert chosen(pick, PRICED, replicas=replicas, division=division) == expected


def test_a_pick_makes_up_for_bounds_that_do_not_fit() -> None:
    """Three each, or two: four replicas fit into no two clusters of three."""
    fleet = [make_cluster("a"), make_cluster("b"), make_cluster("c")]
    bounds = (Bounds(named("a", "b"), 3, 3), Bounds(named("c"), 0, 2))
    pick = Pick(least=2, most=2)
    picked = chosen(pick, fleet, replicas=4, division=Available(), bounds=bounds)
    assert picked == ["a", "c"]


def test_where_none_has_room_the_division_says_so() -> None:
    wanting = {"selection": Pick(most=2), "division": Fill()}
    decision = decide(make_binding(500, wanting=wanting), Fleet.of(PRICED))
    assert decision.message == (
        "failed to assign replicas: 500 replicas are asked for, but the 2 clusters selected can "
        "take 59 within room and bounds."
    )
