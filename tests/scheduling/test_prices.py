"""The cost of a replica: exact, rounded up once, and unknown where a price is unknown."""

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.model.amount import Amount
from atoll.model.demand import Demand
from atoll.model.price import NANO, Price
from atoll.scheduling.prices import UNKNOWN, replica_cost, replica_costs

GIB = 2**30


def demand(**units: float) -> Demand:
    requests = {name: Amount(round(value * 1000)) for name, value in units.items()}
    return Demand(tuple(sorted(requests.items())))


FULL = Price(cpu=3 * NANO, gib=NANO, others={"gpu": 50 * NANO})


@pytest.mark.parametrize(
    ("price", "asked", "cost"),
    [
        pytest.param(FULL, demand(cpu=0.5), 1_500_000_000, id="half a cpu"),
        pytest.param(FULL, demand(memory=2 * GIB), 2 * NANO, id="two gib"),
        pytest.param(FULL, demand(cpu=1, gpu=2, memory=GIB), 104 * NANO, id="all three"),
        pytest.param(Price(cpu=1, gib=1), demand(cpu=0.001, memory=1), 1, id="rounded up once"),
        pytest.param(Price(cpu=0, gib=0), demand(cpu=8, memory=GIB), 0, id="known to be free"),
        pytest.param(Price(gib=5), demand(cpu=0, memory=GIB), 5, id="nothing asked, no price"),
        pytest.param(Price(gib=5), demand(cpu=1), None, id="no cpu price"),
        pytest.param(Price(cpu=5), demand(cpu=1, memory=1), None, id="no memory price"),
        pytest.param(Price(cpu=5, gib=5), demand(cpu=1, gpu=1), None, id="no gpu price"),
        pytest.param(None, demand(cpu=1), None, id="no price at all"),
        pytest.param(FULL, None, None, id="demand not known"),
    ],
)
def test_a_replica_costs_what_its_requests_cost(price, asked, cost):
    assert replica_cost(price, asked) == cost


rates = st.none() | st.integers(0, 10**13)


@given(
    st.lists(st.none() | st.builds(Price, rates, rates), max_size=5),
    st.integers(0, 10**7),
    st.integers(0, 2**50),
)
def test_a_column_of_costs_is_the_exact_sum_rounded_up(prices, milli, size):
    asked = Demand((("cpu", Amount(milli)), ("memory", Amount(size * 1000))))
    column = replica_costs([*prices, *prices], asked)
    for price, cost in zip([*prices, *prices], column, strict=True):
        if price is None or (milli and price.cpu is None) or (size and price.gib is None):
            assert cost == UNKNOWN
            continue
        exact = Fraction(milli * (price.cpu or 0), 1000) + Fraction(size * (price.gib or 0), GIB)
        assert cost == ceil(exact)


def test_a_cost_beyond_all_columns_stays_the_dearest():
    dear = [Price(cpu=10**19), Price(cpu=1)]
    costs = replica_costs(dear, demand(cpu=1))
    assert costs[0] > costs[1] == 1
