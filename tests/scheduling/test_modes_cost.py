"""What a decision costs per hour: exact where prices are known, and said where they are not."""

import pytest
from builders import make_binding, make_cluster, make_demand
from hypothesis import given
from hypothesis import strategies as st
from modes_drawn import priced

from atoll.model.binding import Binding
from atoll.model.cluster import Cluster
from atoll.model.demand import Component
from atoll.model.intent import Duplicated, Fill, Order, Weighted
from atoll.model.price import NANO, Price
from atoll.scheduling.cycle import decide
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.prices import UNKNOWN
from atoll.scheduling.units import unit_costs

FLEET = [
    make_cluster("a", price=Price(cpu=3 * NANO, gib=NANO)),
    make_cluster("b", price=priced(5)),
    make_cluster("c"),
]
SETS = (Component("one", 2, make_demand("1")), Component("two", 3, make_demand("2")))


@pytest.mark.parametrize(
    ("binding", "known", "unknown"),
    [
        pytest.param(
            make_binding(2, wanting={"division": Duplicated()}),
            2 * 4 * NANO + 2 * 5 * NANO,
            ("c",),
            id="all replicas in every cluster",
        ),
        pytest.param(
            make_binding(3, wanting={"division": Weighted()}),
            (4 + 5) * NANO,
            ("c",),
            id="divided replicas where they run",
        ),
        pytest.param(
            make_binding(9, wanting={"division": Fill(Order.PRICE)}),
            9 * 4 * NANO,
            (),
            id="nothing unknown where nothing unknown runs",
        ),
        pytest.param(
            make_binding(1, components=SETS, demand=None),
            (2 * 4 + 3 * 7) * NANO + (2 * 5 + 3 * 10) * NANO,
            ("c",),
            id="a set of components in every cluster",
        ),
        pytest.param(make_binding(0, demand=None), 0, (), id="what runs nothing costs nothing"),
        pytest.param(
            make_binding(99_999, wanting={"division": Fill()}), 0, (), id="nor what is not placed"
        ),
        pytest.param(
            make_binding(2, demand=None), 0, ("a", "b", "c"), id="a demand that is not known"
        ),
    ],
)
def test_a_decision_costs_what_its_replicas_cost(
    binding: Binding, known: int, unknown: tuple[str, ...]
) -> None:
    found = decide(binding, Fleet.of(FLEET)).cost
    assert (found.known, found.unknown) == (known, unknown)


@given(st.lists(st.none() | st.integers(0, 2**62).map(lambda nanos: Price(nanos, 0)), max_size=6))
def test_the_column_of_costs_says_what_each_cluster_costs(prices: list[Price | None]) -> None:
    clusters = [make_cluster(f"m{i}", price=price) for i, price in enumerate(prices)]
    fleet = Fleet.of(clusters)
    binding = make_binding(2, components=SETS, demand=None)
    column = unit_costs(binding, fleet, fleet.traits.deleting.nonzero()[0])
    assert len(column) == 0
    whole = unit_costs(binding, fleet, (~fleet.traits.deleting).nonzero()[0]).tolist()
    for each, price in zip(whole, prices, strict=True):
        exact = UNKNOWN if price is None or price.cpu is None else 8 * price.cpu
        assert each == min(exact, 2**63 - 1)


def priciest(clusters: list[Cluster]) -> list[str]:
    decision = decide(make_binding(1, wanting={"division": Fill(Order.PRICE)}), Fleet.of(clusters))
    return [target.name for target in decision.targets]


def test_free_of_charge_is_cheaper_than_unknown() -> None:
    assert priciest([make_cluster("unknown"), make_cluster("zero", price=priced(0))]) == ["zero"]


def test_other_prices_leave_everything_else_of_a_fleet_as_it_was() -> None:
    fleet = Fleet.of(FLEET)
    dearer = fleet.priced({"b": priced(7), "a": None})
    assert [each.price for each in dearer.clusters] == [None, priced(7), None]
    assert (dearer.traits, dearer.capacity) == (fleet.traits, fleet.capacity)
    assert [each.price for each in fleet.clusters] == [each.price for each in FLEET]
