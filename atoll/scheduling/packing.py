"""Packing replicas onto nodes of a resource model, first fit, in arrays rather than one by one.

Needed where room is taken that the report does not show, or where components must fit together;
in all other cases the number follows directly: see `capacity`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from atoll.model.amount import PODS
from atoll.model.assumed import Assumed, Parts, as_written, summed
from atoll.model.cluster import Cluster
from atoll.model.demand import Component, Demand
from atoll.scheduling.capacity import NODE_PODS_MOST, counts_in_models
from atoll.scheduling.columns import Numbers
from atoll.scheduling.nodes.fitting import first_fit
from atoll.scheduling.nodes.sets import Part, count_sets
from atoll.scheduling.whole_numbers import as_int32


class Nodes:
    """Empty nodes of a cluster's model, poorest grade first, filling up as work is put on them."""

    def __init__(self, cluster: Cluster) -> None:
        counts = list(cluster.nodes_by_grade)
        grades = [dict(grade.least) for grade in cluster.grades]
        names = {name for grade in grades for name in grade}
        self.slots = np.full(sum(counts), NODE_PODS_MOST, np.int64)
        self.free: dict[str, Numbers] = {
            name: np.repeat(np.array([grade.get(name, 0) for grade in grades], np.int64), counts)
            for name in names
        }

    def fit(self, demand: Demand | None) -> Numbers:
        """How many more replicas each node takes."""
        fit = self.slots.copy()
        for name, wanted in _wanted(demand):
            np.minimum(fit, self.free.get(name, np.int64(0)) // wanted, out=fit)
        return fit

    def place(self, demand: Demand | None, replicas: int) -> bool:
        """Put replicas on the first nodes with room; what fits stays, even if not all do."""
        placed = first_fit(self.fit(demand), replicas)
        self.slots -= placed
        for name, wanted in _wanted(demand):
            if name in self.free:
                self.free[name] -= placed * wanted
        return int(placed.sum()) == replicas

    def place_set(self, components: Iterable[Component]) -> bool:
        """Put one set of components, in their order; stops at the first that does not fit."""
        return all(self.place(each.demand, each.replicas) for each in components)

    def sets(self, components: tuple[Component, ...], most: int) -> int:
        """How many whole sets would fit one after the other, up to a number."""
        parts = [
            Part.of(each.replicas, _wanted(each.demand), self.fit(each.demand))
            for each in components
            if each.replicas > 0
        ]
        return count_sets(parts, {**self.free, PODS: self.slots}, most)


@dataclass(slots=True, eq=False)
class _Filling:
    """Nodes of a model that the first so many parts were put on; full if the next did not fit."""

    of: tuple[object, object]
    nodes: Nodes
    count: int = 0
    full: bool = False


def packed(cluster: Cluster, assumed: Sequence[Assumed]) -> Nodes:
    """The nodes of a cluster's model after work was put on them; not to be changed.

    Of each, what comes after the first part that does not fit is left out. Of one that only grows,
    what was put there before stays, so that a decision costs what was added since the last.
    """
    if len(assumed) == 1 and isinstance(parts := assumed[0].components, Parts):
        return _grown(cluster, parts)
    nodes = Nodes(cluster)
    for one in assumed:
        nodes.place_set(one.components)
    return nodes


def _grown(cluster: Cluster, parts: Parts) -> Nodes:
    known, of = parts.memo.get(Nodes), (cluster.grades, cluster.nodes_by_grade)
    if not isinstance(known, _Filling) or known.of != of or known.count > len(parts):
        known = parts.memo[Nodes] = _Filling(of, Nodes(cluster))
    if not known.full:
        known.full = not known.nodes.place_set(parts.after(known.count) or ())
    known.count = len(parts)
    return known.nodes


def _wanted(demand: Demand | None) -> list[tuple[str, int]]:
    requests = demand.requests if demand else ()
    wanted = [(name, amount.in_its_unit(name)) for name, amount in requests]
    return [(name, each) for name, each in wanted if each > 0 and counts_in_models(name)]


def sets_that_fit(
    cluster: Cluster,
    components: tuple[Component, ...],
    assumed: tuple[Assumed, ...] = (),
    *,
    models: bool,
) -> int:
    """Sets that fit by pods, by every resource, and on the nodes of the model, if there is one."""
    if cluster.free is None or cluster.free.pods <= 0:
        return 0
    taken = [each.sums for each in assumed]
    pods = cluster.free.pods - sum(each.pods for each in taken)
    if pods <= 0:
        return 0
    wanted_in_all = summed(components)
    if wanted_in_all.pods <= 0:
        return as_int32(pods)
    most = as_int32(pods // wanted_in_all.pods)
    for name, wanted in wanted_in_all.written.items():
        if wanted > 0:
            amount = cluster.free.resources.get(name)
            has = as_written(amount) if amount else 0
            left = has - sum(each.written.get(name, 0) for each in taken)
            most = min(most, as_int32(left // wanted)) if left > 0 else 0
    if most > 0 and models and cluster.nodes_by_grade:
        most = packed(cluster, assumed).sets(components, most)
    return most
