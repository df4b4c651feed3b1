"""How many replicas of a demand fit on each node, and on all of them together.

A table and a demand come in, whole numbers go out: what is free divided by what is asked, pod
slots, and nothing on a node the demand's claim does not mean. Exact in 64 bits; a result is never
above what 32 bits hold, as Kubernetes counts replicas.
"""

from collections.abc import Iterator

import numpy as np

from atoll.model.amount import PODS
from atoll.model.demand import Demand
from atoll.scheduling.columns import Numbers
from atoll.scheduling.nodes.claims import claimed
from atoll.scheduling.nodes.rows import capped
from atoll.scheduling.nodes.table import NodeTable

REPLICAS_MOST = 2**31 - 1


def fits(table: NodeTable, demand: Demand | None) -> int:
    """How many replicas fit on all these nodes.

    A replica without a demand takes a pod slot and tolerates no taint, as in Karmada.
    """
    return min(int(fits_by_node(table, demand).sum()), REPLICAS_MOST)


def fits_by_node(table: NodeTable, demand: Demand | None) -> Numbers:
    """How many replicas fit on each node, by row."""
    asked = demand or Demand()
    fit = np.clip(table.rows.slots, 0, REPLICAS_MOST)
    for resource, wanted in wants(asked):
        free = table.rows.free.get(resource)
        if free is None:
            return np.zeros(len(table), np.int64)
        np.minimum(fit, free // wanted, out=fit)
    # What is overcommitted is no less than nothing.
    np.maximum(fit, 0, out=fit)
    fit *= claimed(table, asked.claim)
    return fit


def first_fit(fit: Numbers, replicas: int) -> Numbers:
    """How many of so many replicas go to each node, when the first with room take all they can."""
    placed: Numbers = np.clip(replicas - (np.cumsum(fit) - fit), 0, fit)
    return placed


def wants(demand: Demand) -> Iterator[tuple[str, int]]:
    """What one replica asks of a node, in the resources' own units, besides its pod slot."""
    for resource, amount in demand.requests:
        wanted = capped(amount.in_its_unit(resource))
        # Every replica is one pod, whatever it writes under "pods".
        if wanted > 0 and resource != PODS:
            yield resource, wanted
