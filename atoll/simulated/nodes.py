"""Nodes on paper: pools of equal machines in, Node objects out."""

from collections.abc import Sequence

from atoll.apiserver.documents import version
from atoll.apiserver.objects.conditions import condition
from atoll.dialects.wire import amount
from atoll.model.amount import CPU, MEMORY, PODS
from atoll.simulated.allotment import address
from atoll.simulated.fleets import Pool, taint
from atoll.wire import Wire

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
UNREACHABLE = "node.kubernetes.io/unreachable"
_NETWORK = (172, 18)
FLEET = (Pool(),)


def fleet_nodes(fleet: Sequence[Pool], now: str) -> list[Wire]:
    """The nodes of a fleet, numbered through; Invalid names the quantity that is none."""
    pools = [pool for pool in fleet for _ in range(pool.count)]
    return [_node(number, pool, now) for number, pool in enumerate(pools, start=1)]


def _node(number: int, pool: Pool, now: str) -> Wire:
    name = f"node-{number}"
    offered = {CPU: pool.cpu, MEMORY: pool.memory, PODS: str(pool.pods), **pool.more}
    for resource, written in offered.items():
        amount(written, f"fleet: {resource}")
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(name, pool)},
        "spec": {"taints": [taint(one) for one in pool.taints]} if pool.taints else {},
        "status": {
            "capacity": offered,
            "allocatable": offered,
            "conditions": conditions(now, is_heard=True),
            "addresses": [
                {"type": "InternalIP", "address": address(_NETWORK, number)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": _info(),
        },
    }


def conditions(now: str, *, is_heard: bool) -> list[Wire]:
    """What a node tells of itself; or what is told of one that is not heard of."""
    stamps = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    if is_heard:
        said = ("KubeletReady", "kubelet is posting ready status")
        return [condition("Ready", *said, holds=True) | stamps]
    said = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
    return [condition("Ready", *said, holds=False) | stamps | {"status": "Unknown"}]


def lost_taints(now: str) -> list[Wire]:
    """The taints of a node that is not heard of."""
    taint = {"key": UNREACHABLE, "timeAdded": now}
    return [{**taint, "effect": "NoSchedule"}, {**taint, "effect": "NoExecute"}]


def _info() -> Wire:
    """What kind of machine it would be."""
    known = version()["gitVersion"]
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": "simulated://1",
        "kernelVersion": "simulated",
        "kubeProxyVersion": known,
        "kubeletVersion": known,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "simulated",
        "systemUUID": "",
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
