"""The unit of work that a cluster is given more or less of: a replica, or a set of components.

What runs where a number of replicas does, and what one unit costs in each cluster.
"""

import numpy as np

from atoll.model.binding import Binding
from atoll.model.demand import Demand
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.prices import UNKNOWN, replica_costs


def unit_costs(binding: Binding, fleet: Fleet, rows: Rows) -> Numbers:
    """What one replica, or one set of components, costs in each of these rows; else `UNKNOWN`."""
    prices = [fleet.clusters[row].price for row in rows.tolist()]
    total = np.zeros(len(rows), np.int64)
    for demand, count in running(binding, 1):
        each = replica_costs(prices, demand)
        unknown = np.equal(total, UNKNOWN) | np.equal(each, UNKNOWN)
        total = np.where(unknown, UNKNOWN, _sum_within(total, each, count))
    return total


def running(binding: Binding, replicas: int) -> list[tuple[Demand | None, int]]:
    """What runs where so many replicas do: a cluster that gets components gets all of them."""
    components = binding.components
    if len(components) > 1:
        return [(each.demand, each.replicas) for each in components if each.replicas]
    return [(binding.demand, replicas)] if replicas else []


def _sum_within(total: Numbers, each: Numbers, count: int) -> Numbers:
    """The sum, or the largest number there is: what costs more than that stays the dearest."""
    largest = np.iinfo(np.int64).max
    fits = each <= (largest - np.maximum(total, 0)) // count
    return np.where(fits, total + np.where(fits, each, 0) * count, largest)
