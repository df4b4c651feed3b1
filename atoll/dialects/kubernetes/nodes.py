"""Nodes as Kubernetes writes them."""

from atoll.dialects.kubernetes.tolerations import taints
from atoll.dialects.wire import amount, checked, flag, name, part, text_by_name
from atoll.model.amount import PODS
from atoll.model.node import Node
from atoll.wire import Object

ENDED = ("Succeeded", "Failed")


def decode(node: Object) -> Node:
    """A node that no pod is on yet."""
    wire = checked(node, "node")
    metadata = part(wire, "metadata", "") or {}
    spec = part(wire, "spec", "") or {}
    allocatable = _allocatable(wire)
    return Node(
        name=name(metadata, "name", "metadata"),
        labels=text_by_name(metadata, "labels", "metadata"),
        taints=taints(spec, "taints", "spec"),
        unschedulable=flag(spec, "unschedulable", "spec", default=False),
        slots=allocatable.pop(PODS, 0),
        allocatable=allocatable,
    )


def _allocatable(node: Object) -> dict[str, int]:
    status = part(node, "status", "") or {}
    written = part(status, "allocatable", "status") or {}
    return {
        resource: amount(value, f"status.allocatable[{resource}]").in_its_unit(resource)
        for resource, value in written.items()
    }
