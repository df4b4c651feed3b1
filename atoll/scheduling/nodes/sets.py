"""How many whole sets of a workload's components fit on the nodes of a cluster.

Karmada's rule: set after set, component after component, each component's replicas go to the first
nodes that take any, until one component cannot be placed. Nodes are taken in the order of their
names. Sets that would land just as the last one did are counted in one step, and a node that a
component has filled is never looked at again: the work grows with nodes, not with replicas.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atoll.model.amount import PODS
from atoll.model.demand import Component, Demand
from atoll.scheduling.nodes.fitting import REPLICAS_MOST, fits_by_node, wants
from atoll.scheduling.nodes.table import NodeTable

Free = dict[str, list[int]]
Use = dict[int, dict[str, int]]
"""What one set takes: by row, by resource."""


@dataclass(slots=True)
class _Part:
    """One component on its way over the nodes; `at` is the place in `rows` it has come to."""

    replicas: int
    wants: list[tuple[str, int]]
    rows: list[int]
    at: int = 0


def fits_sets(table: NodeTable, components: Sequence[Component]) -> int:
    """How many whole sets fit on these nodes.

    Components without replicas take nothing; if there are no others, any number of sets fits.
    """
    asked = [each for each in components if each.replicas > 0]
    rows = [np.flatnonzero(fits_by_node(table, each.demand)).tolist() for each in asked]
    if not all(rows):
        return 0
    parts = [_part(*each) for each in zip(asked, rows, strict=True)]
    return _count(parts, _free(table, parts))


def _part(component: Component, rows: list[int]) -> _Part:
    asked = wants(component.demand or Demand())
    return _Part(component.replicas, [*asked, (PODS, 1)], rows)


def _free(table: NodeTable, parts: list[_Part]) -> Free:
    asked = sorted({resource for part in parts for resource, _ in part.wants})
    slots = table.rows.slots
    columns = {name: slots if name == PODS else table.rows.free[name] for name in asked}
    return {name: column.tolist() for name, column in columns.items()}


def _count(parts: list[_Part], free: Free) -> int:
    sets = 0
    while sets < REPLICAS_MOST:
        use = _place(parts, free)
        if not use:
            return sets if use is None else REPLICAS_MOST
        again = min(_repeats(use, free), REPLICAS_MOST - sets - 1)
        _take(use, free, again)
        sets += 1 + again
    return sets


def _place(parts: list[_Part], free: Free) -> Use | None:
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
