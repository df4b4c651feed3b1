"""How many whole sets of a workload's components fit on the nodes of a cluster, or of its model.

Karmada's rule: set after set, component after component, each component's replicas go to the first
nodes that take any, until one component cannot be placed. Nodes are taken in the order of their
names. Sets that would land just as the last one did are counted in one step, and a node that a
component has filled is never looked at again: the work grows with nodes, not with replicas.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from atoll.model.amount import PODS
from atoll.model.demand import Component, Demand
from atoll.scheduling.columns import Numbers
from atoll.scheduling.nodes.fitting import REPLICAS_MOST, fits_by_node, wants
from atoll.scheduling.nodes.table import NodeTable

Free = dict[str, list[int]]
Use = dict[int, dict[str, int]]
"""What one set takes: by row, by resource."""


@dataclass(slots=True)
class Part:
    """One component on its way over the nodes; `at` is the place in `rows` it has come to."""

    replicas: int
    wants: list[tuple[str, int]]
    """What one replica asks of a node, its pod slot among it."""
    rows: list[int]
    """The nodes that take any."""
    at: int = 0

    @classmethod
    def of(cls, replicas: int, wanted: Iterable[tuple[str, int]], fit: Numbers) -> "Part":
        """So many replicas that each want this, of which so many fit on each node."""
        return cls(replicas, [*wanted, (PODS, 1)], np.flatnonzero(fit).tolist())


def fits_sets(table: NodeTable, components: Sequence[Component]) -> int:
    """How many whole sets fit on these nodes.

    Components without replicas take nothing; if there are no others, any number of sets fits.
    """
    parts = [
        Part.of(each.replicas, wants(each.demand or Demand()), fits_by_node(table, each.demand))
        for each in components
        if each.replicas > 0
    ]
    return count_sets(parts, {**table.rows.free, PODS: table.rows.slots}, REPLICAS_MOST)


def count_sets(parts: list[Part], columns: Mapping[str, Numbers], most: int) -> int:
    """How many sets of these parts, up to a number, fit on nodes with so much free."""
    if not all(part.rows for part in parts):
        return 0
    asked = sorted({resource for part in parts for resource, _ in part.wants})
    free = {name: columns[name].tolist() for name in asked}
    sets = 0
    while sets < most:
        use = _place(parts, free)
        if not use:
            return sets if use is None else most
        again = min(_repeats(use, free), most - sets - 1)
        _take(use, free, again)
        sets += 1 + again
    return sets


def _place(parts: list[Part], free: Free) -> Use | None:
    """Put one set on the nodes and say what it took; None if it does not fit as a whole."""
    use: Use = {}
    for part in parts:
        left = part.replicas
        while left:
            if part.at == len(part.rows):
                return None
            row = part.rows[part.at]
            fit = min(free[resource][row] // wanted for resource, wanted in part.wants)
            if fit <= 0:
                part.at += 1
                continue
            taken = min(fit, left)
            left -= taken
            used = use.setdefault(row, {})
            for resource, wanted in part.wants:
                free[resource][row] -= wanted * taken
                used[resource] = used.get(resource, 0) + wanted * taken
    return use


def _repeats(use: Use, free: Free) -> int:
    """How many more sets go exactly where the last one went.

    A component that was spread over nodes has filled all of them but the last, and so cannot be
    spread so again. One that went to a single node goes there as long as it is taken whole, and
    the nodes before stay full for it: so it is enough that what a set takes is there.
    """
    return min(
        free[resource][row] // amount
        for row, used in use.items()
        for resource, amount in used.items()
    )


def _take(use: Use, free: Free, times: int) -> None:
    if times:
        for row, used in use.items():
            for resource, amount in used.items():
                free[resource][row] -= amount * times
