"""The nodes of a cluster, which kwok plays: made, waited for, and their machines stopped.

In: how to ask the cluster's API server as administrator. Out: nodes that are ready, each with as
much room as is asked. A machine that is stopped no longer renews its lease, so that the cluster
itself finds out: its node becomes unknown, and its pods go elsewhere.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from testenv.commands import MACHINE

ROOM = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000"}


class _Answer(Protocol):
    @property
    def status(self) -> int: ...
    @property
    def body(self) -> bytes: ...


class Request(Protocol):
    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> _Answer: ...


def create_nodes(request: Request, count: int) -> None:
    for number in range(1, count + 1):
        body = json.dumps(_node(f"node-{number}")).encode()
        _must(request("POST", "/api/v1/nodes", body, {"Content-Type": "application/json"}))


def are_ready(nodes: Sequence[Mapping[str, Any]], count: int) -> bool:
    """Whether there are so many, and pods may be put on all of them."""
    return len(nodes) == count and all(_is_ready(node) for node in nodes)


def stop_machine(request: Request, node: str) -> None:
    """From now on the node's lease runs out."""
    _label(request, node, "off")


def start_machine(request: Request, node: str) -> None:
    _label(request, node, "on")


def _label(request: Request, node: str, state: str) -> None:
    body = json.dumps({"metadata": {"labels": {MACHINE: state}}}).encode()
    headers = {"Content-Type": "application/merge-patch+json"}
    _must(request("PATCH", f"/api/v1/nodes/{node}", body, headers))


def _must(answer: _Answer) -> None:
    if answer.status >= 400:
        raise LookupError(f"{answer.status} {answer.body[:300]!r}")


def _is_ready(node: Mapping[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not node["spec"].get("taints")


def _node(name: str) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        MACHINE: "on",
    }
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": ROOM, "allocatable": ROOM},
    }
