"""Nodes and pods as far as they are counted, read from JSON without building the rest of it.

The bytes of one object come in; its name, its version and a few facts go out, in which whatever is
equal is shared: pods of one template ask for the same, nodes of one make offer the same. How much
that is together is known to `columns`.
"""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from atoll.dialects.kubernetes.nodes import ENDED
from atoll.dialects.kubernetes.pods import demand
from atoll.dialects.kubernetes.tolerations import taints
from atoll.dialects.wire import amount
from atoll.model.amount import PODS
from atoll.model.taint import Taint

Amounts = tuple[tuple[str, int], ...]
"""By resource, sorted: thousandths of a CPU, whole units of all else."""

_SHARED = 4096
_NOTHING = Raw(b"null")


class NodeFacts(NamedTuple):
    """What a node is and offers; `slots` are the pods it can hold."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    ready: bool
    allocatable: Amounts
    slots: int


class PodFacts(NamedTuple):
    """Where a pod is bound, if it is, and what it asks for."""

    node: str
    asks: Amounts


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _NodeSpec(msgspec.Struct, frozen=True):
    taints: Raw = _NOTHING
    unschedulable: bool = False


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _NodeStatus(msgspec.Struct, frozen=True):
    allocatable: Raw = _NOTHING
    conditions: tuple[_Condition, ...] | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()


class _Container(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    resources: Raw = _NOTHING
    restart_policy: str = ""


class _Asks(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Of a pod's spec, all that says how much it needs."""

    containers: tuple[_Container, ...] | None = None
    init_containers: tuple[_Container, ...] | None = None
    overhead: Raw = _NOTHING
    resources: Raw = _NOTHING


class _PodSpec(_Asks, frozen=True, rename="camel"):
    node_name: str = ""


class _PodStatus(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


_nodes = msgspec.json.Decoder(_Node)
_pods = msgspec.json.Decoder(_Pod)
_written = msgspec.json.Encoder()


def read_node(data: bytes | Raw) -> tuple[str, NodeFacts]:
    """A node's name, and what counts of it."""
    node = _nodes.decode(data)
    allocatable, slots = _offers(bytes(node.status.allocatable))
    conditions = node.status.conditions or ()
    return node.metadata.name, NodeFacts(
        labels={intern(key): value for key, value in (node.metadata.labels or {}).items()},
        taints=_taints(bytes(node.spec.taints)),
        unschedulable=node.spec.unschedulable,
        ready=any(each.type == "Ready" and each.status == "True" for each in conditions),
        allocatable=allocatable,
        slots=slots,
    )


def read_pod(data: bytes | Raw) -> tuple[str, PodFacts | None]:
    """A pod's namespace and name, and what counts of it: nothing once it has ended."""
    pod = _pods.decode(data)
    key = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if pod.status.phase in ENDED:
        return key, None
    spec = pod.spec
    asks = _Asks(spec.containers, spec.init_containers, spec.overhead, spec.resources)
    # The little that counts, written again, is the same for all pods of a template.
    return key, PodFacts(intern(spec.node_name), _asked(_written.encode(asks)))


@lru_cache(maxsize=_SHARED)
def _asked(spec: bytes) -> Amounts:
    needed = demand(msgspec.json.decode(spec)).requests
    return tuple((intern(name), each.in_its_unit(name)) for name, each in needed if name != PODS)


@lru_cache(maxsize=_SHARED)
def _offers(allocatable: bytes) -> tuple[Amounts, int]:
    written: dict[str, Any] = msgspec.json.decode(allocatable) or {}
    found = {
        intern(name): amount(value, f"status.allocatable[{name}]").in_its_unit(name)
        for name, value in sorted(written.items())
    }
    slots = found.pop(PODS, 0)
    return tuple(found.items()), slots


@lru_cache(maxsize=_SHARED)
def _taints(written: bytes) -> tuple[Taint, ...]:
    return taints({"taints": msgspec.json.decode(written) or []}, "taints", "spec")
