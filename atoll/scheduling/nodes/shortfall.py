"""Why no further replica fits: for each node one reason, counted.

A table and a demand come in, facts for an explanation go out. A node that is refused for several
reasons counts under the first: taint, selector, affinity, pod slots, then resources by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from atoll.model.demand import Demand
from atoll.model.taint import first_untolerated
from atoll.scheduling.columns import Mask, Numbers
from atoll.scheduling.nodes.claims import affine, claimed, selected, tolerated
from atoll.scheduling.nodes.fitting import REPLICAS_MOST, fits, fits_by_node, wants
from atoll.scheduling.nodes.table import NodeTable


class Cause(StrEnum):
    """What keeps a replica off a node."""

    TAINT = "taint"
    SELECTOR = "selector"
    AFFINITY = "affinity"
    PODS = "pods"
    RESOURCE = "resource"


class Obstacle(NamedTuple):
    """A cause, with the taint or the resource it is about."""

    cause: Cause
    detail: str = ""

    def __str__(self) -> str:
        match self.cause:
            case Cause.TAINT:
                return f"with untolerated taint {{{self.detail}}}"
            case Cause.SELECTOR:
                return "not matching the node selector"
            case Cause.AFFINITY:
                return "not matching the node affinity"
            case Cause.PODS:
                return "without a free pod slot"
            case Cause.RESOURCE:
                return f"short of {self.detail}"


Counts = tuple[tuple[Obstacle, int], ...]
"""Nodes by obstacle, most nodes first."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What stands in the way of one more replica, on each of so many nodes."""

    nodes: int
    replicas: int
    """How many fit."""
    refusing: Counts
    """Nodes that take none, by the first reason."""
    filling: Counts
    """Nodes that take some, by what runs out first."""
    best: tuple[tuple[str, int], ...] = ()
    """By resource asked for, how much of it is free on the node meant that has most of it."""

    def __str__(self) -> str:
        refusing = ", ".join(f"{count} {obstacle}" for obstacle, count in self.refusing)
        return f"{self.nodes} nodes: {refusing}" if refusing else f"{self.nodes} nodes"


def shortfall(table: NodeTable, demand: Demand | None) -> Shortfall:
    """Why no more replicas of this demand fit on these nodes than do."""
    asked = demand or Demand()
    fit = fits_by_node(table, asked)
    quotas = list(_quotas(table, asked))
    claim = claimed(table, asked.claim)
    refusing = {
        **_tainted(table, asked),
        **_mismatched(table, asked),
        **_first(quotas, claim & (fit == 0), np.zeros(len(table), np.int64)),
    }
    return Shortfall(
        nodes=len(table),
        replicas=fits(table, asked),
        refusing=_ordered(refusing),
        filling=_ordered(_first(quotas, fit > 0, fit)),
        best=tuple(
            (resource, max(0, int(table.rows.free_of(resource)[claim].max(initial=0))))
            for resource, _ in wants(asked)
        ),
    )


def _tainted(table: NodeTable, demand: Demand) -> dict[Obstacle, int]:
    counts = np.bincount(table.rows.taints.codes, minlength=len(table.rows.taints.values)).tolist()
    found: dict[Obstacle, int] = {}
    for taints, count in zip(table.rows.taints.values, counts, strict=True):
        taint = first_untolerated(taints, demand.claim.tolerations)
        if taint is not None:
            obstacle = Obstacle(Cause.TAINT, str(taint))
            found[obstacle] = found.get(obstacle, 0) + count
    return found


def _mismatched(table: NodeTable, demand: Demand) -> dict[Obstacle, int]:
    untainted = tolerated(table.rows, demand.claim)
    chosen = selected(table.rows, demand.claim)
    unmet = untainted & chosen & ~affine(table.rows, demand.claim)
    return {
        Obstacle(Cause.SELECTOR): int((untainted & ~chosen).sum()),
        Obstacle(Cause.AFFINITY): int(unmet.sum()),
    }


def _quotas(table: NodeTable, demand: Demand) -> Iterator[tuple[Obstacle, Numbers]]:
    """How many replicas each node takes by its pod slots alone, and by each resource alone."""
    yield Obstacle(Cause.PODS), np.clip(table.rows.slots, 0, REPLICAS_MOST)
    for resource, wanted in wants(demand):
        quota = np.maximum(table.rows.free_of(resource) // wanted, 0)
        yield Obstacle(Cause.RESOURCE, resource), quota


def _first(
    quotas: list[tuple[Obstacle, Numbers]], among: Mask, most: Numbers
) -> dict[Obstacle, int]:
    """Of these nodes, how many are held to what they take by each obstacle first."""
    found = {}
    for obstacle, quota in quotas:
        held = among & (quota == most)
        found[obstacle] = int(held.sum())
        among = among & ~held
    return found


def _ordered(found: dict[Obstacle, int]) -> Counts:
    counted = [(obstacle, count) for obstacle, count in found.items() if count]
    return tuple(sorted(counted, key=lambda each: (-each[1], each[0])))
