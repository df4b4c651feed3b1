"""What a cluster has and what is taken of it, as a Cluster's status tells it.

Sums over nodes and pods and a table of the nodes come in; Karmada's nodeSummary and resourceSummary
go out. A node counts in the highest grade of the resource model of which it still has the least in
every resource; one without a free pod slot, or below all grades, counts in none. (Karmada stops
counting at the first node without a slot, so that all nodes after it are missing.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from atoll.dialects.kubernetes.quantities import written_amounts
from atoll.model.cluster import Grade
from atoll.scheduling.nodes.table import NodeTable


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums by resource: thousandths of a CPU, whole units of all else, pods among them."""

    nodes: int
    ready: int
    allocatable: Mapping[str, int]
    allocated: Mapping[str, int]
    """Asked for by pods that are bound to a node."""
    allocating: Mapping[str, int]
    """Asked for by pods that wait for a node."""


def node_summary(summary: Summary) -> dict[str, int]:
    """How many nodes there are and are ready, without what is none, as Karmada leaves it out."""
    told = {"totalNum": summary.nodes, "readyNum": summary.ready}
    return {key: count for key, count in told.items() if count}


def resource_summary(
    summary: Summary, table: NodeTable, grades: tuple[Grade, ...]
) -> dict[str, Any]:
    """What there is, what is taken, and how many nodes are left of each grade."""
    told: dict[str, Any] = {
        "allocatable": written_amounts(summary.allocatable),
        "allocating": written_amounts(summary.allocating),
        "allocated": written_amounts(summary.allocated),
    }
    counts = zip(grades, nodes_by_grade(table, grades), strict=True)
    told["allocatableModelings"] = [
        {"grade": grade.grade, "count": count} for grade, count in counts
    ]
    return {key: value for key, value in told.items() if value}


def nodes_by_grade(table: NodeTable, grades: tuple[Grade, ...]) -> list[int]:
    """How many nodes are of each grade by what is free on them."""
    if not grades:
        return []
    place = np.full(len(table), len(grades) - 1, np.int64)
    for resource in sorted({name for grade in grades for name, _ in grade.least}):
        least = [dict(grade.least).get(resource, 0) for grade in grades]
        highest = np.searchsorted(least, table.rows.free_of(resource), side="right") - 1
        np.minimum(place, highest, out=place)
    counted = place[(place >= 0) & (table.rows.slots > 0)]
    return [int(count) for count in np.bincount(counted, minlength=len(grades))]
