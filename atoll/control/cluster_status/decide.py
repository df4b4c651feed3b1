"""A Cluster's status by what was seen of the cluster: at most one write, none if nothing is new.

The Cluster and the findings of one round come in. What could not be found out is left as it was;
of a cluster that is not ready only the condition is told, and all else stays as it was last known.
"""

from dataclasses import dataclass
from typing import Any

from atoll.config import Times
from atoll.dialects.karmada.cluster_status.enablements import Discovered, completeness, enablements
from atoll.dialects.karmada.cluster_status.readiness import READY, Health, Streak, believed
from atoll.dialects.karmada.cluster_status.resources import Summary, node_summary, resource_summary
from atoll.dialects.karmada.models import grades
from atoll.dialects.kubernetes.conditions import find, stated
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Plan, Update
from atoll.model.cluster import Grade
from atoll.model.member import Member
from atoll.scheduling.nodes.table import NodeTable
from atoll.wire import Object


@dataclass(frozen=True, slots=True, eq=False)
class SeenStatus:
    """A Cluster, and what was found of the cluster; None where it was not asked or not answered."""

    cluster: Member
    health: Health
    streak: Streak
    version: str | None = None
    apis: Discovered | None = None
    summary: Summary | None = None
    nodes: NodeTable | None = None
    models: bool = True
    """Whether nodes are counted by the grades of the resource model."""


def plan(seen: SeenStatus, now: float, times: Times) -> Plan:
    """The status to write, if it is another than there is."""
    conditions, found = list(seen.cluster.conditions), dict[str, Any]()
    fresh = believed(find(conditions, READY), seen.health, seen.streak, now, times)
    if fresh is not None:
        conditions = stated(conditions, fresh, now)
        if fresh.holds:
            found = _findings(seen)
            if seen.apis is not None:
                conditions = stated(conditions, completeness(seen.apis), now)
    before = _status(seen)
    after = {**before, **found, "conditions": conditions}
    if after == before:
        return NOTHING
    return Plan((Update({**seen.cluster.wire, "status": after}, "status"),))


def _status(seen: SeenStatus) -> Object:
    status: Object = seen.cluster.wire.get("status") or {}
    return status


def _findings(seen: SeenStatus) -> dict[str, Any]:
    """What was found of a ready cluster besides that; each is written whole."""
    found: dict[str, Any] = {}
    if seen.version is not None:
        found["kubernetesVersion"] = seen.version
    if seen.apis is not None:
        found["apiEnablements"] = enablements(seen.apis, _status(seen).get("apiEnablements") or ())
    if seen.summary is not None and seen.nodes is not None:
        found["nodeSummary"] = node_summary(seen.summary)
        found["resourceSummary"] = resource_summary(seen.summary, seen.nodes, _grades(seen))
    return found


def _grades(seen: SeenStatus) -> tuple[Grade, ...]:
    if not seen.models:
        return ()
    try:
        return grades(seen.cluster.wire.get("spec") or {})
    except Invalid:
        # Admission refuses such a model; one that got in before is as good as none.
        return ()
