"""A rebalancing problem as arrays: placements in rows, clusters and resources in columns.

Rows and columns are sorted by name, so that the order of the input does not matter. What may not
move for this goal is already fixed here: such a cell's fewest and most are what it holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atoll.errors import Invalid
from atoll.model.amount import CPU, PODS, Amount
from atoll.model.cluster import Cluster
from atoll.scheduling.prices import UNKNOWN, replica_costs
from atoll.scheduling.rebalancing.problem import REPLICAS_MAX, Goal, Placement, Problem

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

COUNTED_MAX = 2**61
"""Sums of amounts stay below this, so that adding two of them cannot overflow."""


@dataclass(frozen=True, slots=True)
class Board:
    """The problem for one goal. The last resource is pods, of which every replica takes one."""

    keys: tuple[tuple[str, str], ...]
    clusters: tuple[str, ...]
    held: Counts  # placement x cluster: replicas now
    fewest: Counts  # ... below which it may not fall
    most: Counts  # ... above which it may not rise
    least: Counts  # ... to which one move must bring a cell that receives anything
    cost: Counts  # placement x cluster: of one replica, or UNKNOWN
    demand: Counts  # placement x resource
    free: Counts  # cluster x resource
    capacity: Counts  # cluster x resource: free, and held by the placements
    known: Mask  # cluster: reported what is free


def make_board(problem: Problem, goal: Goal) -> Board:
    """Lay a checked problem out for a goal."""
    clusters = sorted(problem.clusters, key=lambda cluster: cluster.name)
    placements = sorted(problem.placements, key=lambda placement: placement.key)
    resources = _resources(placements)
    demand = _demand(placements, resources)
    held, least, ceiling, feasible = _cells(placements, clusters)
    _refuse_uncountable(placements, resources, demand, held)
    left = np.array([_free(cluster, resources) for cluster in clusters], np.int64)
    left = left.reshape(len(clusters), len(resources))
    free = np.maximum(left, 0)
    known = np.array([cluster.free is not None for cluster in clusters], np.bool_)
    prices = [cluster.price for cluster in clusters]
    costs = [replica_costs(prices, placement.demand) for placement in placements]
    cost = np.array(costs, np.int64).reshape(held.shape)

    # Where more is in use than there is, nothing comes in, even if something leaves.
    overdrawn = (demand > 0).astype(np.int64) @ (left < 0).T.astype(np.int64) > 0
    counts = cost != UNKNOWN if goal is Goal.COST else np.broadcast_to(known, held.shape)
    movable = [each.movable and each.demand is not None for each in placements]
    leaves = counts & np.array(movable, np.bool_)[:, None]
    enters = leaves & feasible & known & ~overdrawn
    return Board(
        keys=tuple(placement.key for placement in placements),
        clusters=tuple(cluster.name for cluster in clusters),
        held=held,
        fewest=np.where(leaves, np.minimum(least, held), held),
        most=np.where(enters, np.maximum(ceiling, held), held),
        least=least,
        cost=cost,
        demand=demand,
        free=free,
        capacity=free + held.T @ demand,
        known=known,
    )


def _resources(placements: Iterable[Placement]) -> list[str]:
    demands = [placement.demand.requests for placement in placements if placement.demand]
    names = {name for requests in demands for name, amount in requests if amount.milli > 0}
    return [*sorted(names - {PODS}), PODS]


def _demand(placements: list[Placement], resources: list[str]) -> Counts:
    column = {name: index for index, name in enumerate(resources)}
    demand = np.zeros((len(placements), len(resources)), np.int64)
    demand[:, -1] = 1
    for row, placement in enumerate(placements):
        for name, amount in placement.demand.requests if placement.demand else ():
            if amount.milli > 0 and name != PODS:
                demand[row, column[name]] = min(amount.in_its_unit(name), COUNTED_MAX)
    return demand


def _cells(
    placements: list[Placement], clusters: list[Cluster]
) -> tuple[Counts, Counts, Counts, Mask]:
    column = {cluster.name: index for index, cluster in enumerate(clusters)}
    shape = len(placements), len(clusters)
    held, least = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    ceiling, feasible = np.full(shape, REPLICAS_MAX, np.int64), np.zeros(shape, np.bool_)
    for row, placement in enumerate(placements):
        for name, count in placement.replicas.items():
            held[row, column[name]] = count
        for name, bounds in placement.bounds.items():
            least[row, column[name]] = bounds.least
            if bounds.most is not None:
                ceiling[row, column[name]] = min(bounds.most, REPLICAS_MAX)
        feasible[row, [column[name] for name in sorted(placement.feasible)]] = True
    return held, least, ceiling, feasible


def _free(cluster: Cluster, resources: list[str]) -> list[int]:
    if cluster.free is None:
        return [0] * len(resources)
    offered = cluster.free.resources
    whole = [_whole(name, offered.get(name)) for name in resources[:-1]]
    return [min(count, COUNTED_MAX) for count in (*whole, cluster.free.pods)]


def _whole(resource: str, amount: Amount | None) -> int:
    """What is free in the unit it is counted in, rounded down; nothing where not offered."""
    if amount is None:
        return 0
    return max(amount.milli if resource == CPU else amount.milli // 1000, -COUNTED_MAX)


def _refuse_uncountable(
    placements: list[Placement], resources: list[str], demand: Counts, held: Counts
) -> None:
    replicas = [int(count) for count in held.sum(axis=1)]
    for column, resource in enumerate(resources):
        total = 0
        for row, placement in enumerate(placements):
            total += max(replicas[row], 1) * int(demand[row, column])
            if total >= COUNTED_MAX:
                where = f"placements[{placement}].demand.requests[{resource}]"
                value = int(demand[row, column])
                raise Invalid(
                    where, value, "all replicas together ask for more than can be counted"
                )
