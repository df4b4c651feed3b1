"""Nodes on paper: pools of equal machines in, Node objects out; and what nodes offer together.

Which pods are on which node is not known here: room is shared out by the sum (see `room`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from atoll.apiserver.objects.conditions import condition
from atoll.dialects.kubernetes.nodes import decode
from atoll.dialects.wire import amount
from atoll.model.amount import CPU, MEMORY, PODS
from atoll.model.demand import NodeClaim
from atoll.model.node import Node
from atoll.scheduling.nodes import NodeTable
from atoll.scheduling.nodes.claims import claimed
from atoll.simulated.fleets import Pool, taint

Object = dict[str, Any]

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
# What Kubernetes itself says of a node in trouble, and what every daemon puts up with.
_TROUBLE = frozenset(
    f"node.kubernetes.io/{what}"
    for what in (
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    )
)


FLEET = (Pool(),)


def fleet_nodes(fleet: Sequence[Pool], now: str) -> list[Object]:
    """The nodes of a fleet, numbered through; Invalid names the quantity that is none."""
    pools = [pool for pool in fleet for _ in range(pool.count)]
    return [_node(f"node-{number}", pool, now) for number, pool in enumerate(pools, start=1)]


def _node(name: str, pool: Pool, now: str) -> Object:
    offered = {CPU: pool.cpu, MEMORY: pool.memory, PODS: str(pool.pods), **pool.more}
    for resource, written in offered.items():
        amount(written, f"fleet: {resource}")
    ready = condition("Ready", "KubeletReady", "kubelet is posting ready status", holds=True)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(name, pool)},
        "spec": {"taints": [taint(one) for one in pool.taints]} if pool.taints else {},
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": [ready | {"lastHeartbeatTime": now, "lastTransitionTime": now}],
            "addresses": [{"type": "Hostname", "address": name}],
        },
    }


def _labels(name: str, pool: Pool) -> dict[str, str]:
    given = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        ZONE: pool.zone,
        REGION: pool.region,
    }
    return {key: value for key, value in given.items() if value} | dict(pool.labels)


def is_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


class Nodes:
    """The nodes a cluster has at one moment."""

    def __init__(self, objects: Iterable[Mapping[str, Any]] = ()) -> None:
        known = list(objects)
        self.count = len(known)
        self.ready_count = sum(map(is_ready, known))
        self._nodes = [decode(one) for one in known]
        for_daemons = [replace(node, unschedulable=False) for node in self._nodes]
        self._table = NodeTable.of([_without_trouble(node) for node in for_daemons])

    def capacity(self) -> dict[str, int]:
        """What all of them offer together."""
        total: dict[str, int] = {}
        for node in self._nodes:
            for resource, offered in (*node.allocatable.items(), (PODS, node.slots)):
                total[resource] = total.get(resource, 0) + offered
        return total

    def matching(self, claim: NodeClaim) -> int:
        """How many of them a daemon with this claim runs on."""
        return int(claimed(self._table, claim).sum())


def _without_trouble(node: Node) -> Node:
    return replace(node, taints=tuple(one for one in node.taints if one.key not in _TROUBLE))
