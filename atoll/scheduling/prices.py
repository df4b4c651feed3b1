"""What one replica costs in a cluster: prices and a demand in, billionths per hour out.

The sum over its requests is exact and rounded up once. Nothing is free because its price is not
known: one request without a price, or a demand that is not known, makes the cost unknown.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from atoll.model.amount import CPU, MEMORY
from atoll.model.demand import Demand
from atoll.model.price import Price

UNKNOWN = -1
"""Stands for a cost that is not known where costs are a column."""

_GIB = 2**30
_MILLI = 1000
_LARGEST = int(np.iinfo(np.int64).max)


def replica_cost(price: Price | None, demand: Demand | None) -> int | None:
    """Billionths of the currency per hour for one replica; None where that is not known."""
    if price is None or demand is None:
        return None
    total = 0  # in parts of 1000 x 2^30, so that thousandths of a CPU and bytes are both whole
    for name, amount in demand.requests:
        asked = amount.in_its_unit(name)
        if not asked:
            continue
        rate = _rate(price, name)
        if rate is None:
            return None
        total += asked * rate * _parts(name)
    return -(-total // (_MILLI * _GIB))


def replica_costs(prices: Sequence[Price | None], demand: Demand | None) -> NDArray[np.int64]:
    """`replica_cost` for each price, `UNKNOWN` for None; the same price is computed once."""
    seen: dict[int, int] = {}
    costs = np.empty(len(prices), np.int64)
    for row, price in enumerate(prices):
        cost = seen.get(id(price))
        if cost is None:
            exact = replica_cost(price, demand)
            cost = seen[id(price)] = UNKNOWN if exact is None else min(exact, _LARGEST)
        costs[row] = cost
    return costs


def _rate(price: Price, resource: str) -> int | None:
    if resource == CPU:
        return price.cpu
    if resource == MEMORY:
        return price.gib
    return price.others.get(resource)


def _parts(resource: str) -> int:
    if resource == CPU:
        return _GIB
    return _MILLI if resource == MEMORY else _MILLI * _GIB
