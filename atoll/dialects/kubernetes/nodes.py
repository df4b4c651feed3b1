"""Nodes as Kubernetes writes them, with what the pods on them ask for.

A Node and the Pods bound to it come in, a node of the model goes out. Pods that have ended take
nothing; those being deleted still do. Only what a pod asks for counts, not what it really uses.
"""

from collections.abc import Iterable, Iterator

from atoll.dialects.kubernetes.pods import demand
from atoll.dialects.kubernetes.tolerations import taints
from atoll.dialects.wire import Wire, amount, checked, flag, name, part, text, text_by_name
from atoll.errors import Invalid
from atoll.model.amount import PODS
from atoll.model.demand import Demand
from atoll.model.node import Node

ENDED = ("Succeeded", "Failed")


def decode(node: Wire, pods: Iterable[Wire] = ()) -> Node:
    """A node and what is asked of it by these pods, all of which are bound to it."""
    wire = checked(node, "node")
    metadata = part(wire, "metadata", "") or {}
    spec = part(wire, "spec", "") or {}
    allocatable = _allocatable(wire)
    requested: dict[str, int] = {}
    count = 0
    for pod in filter(_runs, pods):
        count += 1
        for resource, asked in _demand(pod).requests:
            requested[resource] = requested.get(resource, 0) + asked.in_its_unit(resource)
    return Node(
        name=name(metadata, "name", "metadata"),
        labels=text_by_name(metadata, "labels", "metadata"),
        taints=taints(spec, "taints", "spec"),
        unschedulable=flag(spec, "unschedulable", "spec", default=False),
        slots=allocatable.pop(PODS, 0),
        pods=count,
        allocatable=allocatable,
        requested=requested,
    )


def decode_all(nodes: Iterable[Wire], pods: Iterable[Wire]) -> Iterator[Node]:
    """The nodes of a cluster, each with its share of the cluster's pods."""
    pods_by_node: dict[str, list[Wire]] = {}
    for pod in pods:
        spec = part(checked(pod, "pod"), "spec", "") or {}
        pods_by_node.setdefault(text(spec, "nodeName", "spec"), []).append(pod)
    for node in nodes:
        metadata = part(checked(node, "node"), "metadata", "") or {}
        yield decode(node, pods_by_node.get(name(metadata, "name", "metadata"), ()))


def _allocatable(node: Wire) -> dict[str, int]:
    status = part(node, "status", "") or {}
    written = part(status, "allocatable", "status") or {}
    return {
        resource: amount(value, f"status.allocatable[{resource}]").in_its_unit(resource)
        for resource, value in written.items()
    }


def _runs(pod: Wire) -> bool:
    status = part(checked(pod, "pod"), "status", "") or {}
    return text(status, "phase", "status") not in ENDED


def _demand(pod: Wire) -> Demand:
    try:
        return demand(part(pod, "spec", "") or {})
    except Invalid as error:
        metadata = part(pod, "metadata", "") or {}
        which = f"{text(metadata, 'namespace', 'metadata')}/{text(metadata, 'name', 'metadata')}"
        raise Invalid(f"pods[{which}].{error.field}", error.value, error.problem) from error
