"""Bindings as they were in v1alpha1: what readers of that version see of one that is stored.

Replicas and what each needs stood under the resource; placement, failover and health did not exist
and are left out. One way only: written that way, a binding would lose them.
"""

from typing import Any

from atoll.wire import Object

VERSION = "work.karmada.io/v1alpha1"


def binding(stored: Object) -> dict[str, Any]:
    """A stored binding (v1alpha2) as v1alpha1 shows it."""
    found = {**stored, "apiVersion": VERSION, "spec": _spec(stored.get("spec") or {})}
    if "status" in stored:
        found["status"] = _status(stored["status"])
    return found


def _spec(spec: Object) -> dict[str, Any]:
    given = ("apiVersion", "kind", "namespace", "name", "resourceVersion")
    resource = _only(spec.get("resource") or {}, *given)
    needed = (spec.get("replicaRequirements") or {}).get("resourceRequest")
    if needed is not None:
        resource["resourcePerReplicas"] = needed
    if spec.get("replicas"):
        resource["replicas"] = spec["replicas"]
    return {"resource": resource, **_only(spec, "clusters")}


def _status(status: Object) -> dict[str, Any]:
    found = _only(status, "conditions", "aggregatedStatus")
    if "aggregatedStatus" in found:
        shown = ("clusterName", "status", "applied", "appliedMessage")
        found["aggregatedStatus"] = [_only(each, *shown) for each in found["aggregatedStatus"]]
    return found


def _only(wire: Object, *keys: str) -> dict[str, Any]:
    return {key: wire[key] for key in keys if key in wire}
