"""python -m bench.columns: what it costs to follow the nodes and pods of one large cluster.

Nodes and pods are made as the API server sends them, a few kilobytes each, and go the way they go
in the product: pages of a list, then changes. Memory is what Python holds at the end; time is of
this process alone. Nothing is sent over a network.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from atoll.members.columns import Columns
from atoll.members.reading import read_node, read_pod

NODES, PODS = 5_000, 100_000
_CHANGES = 100


@dataclass(frozen=True, slots=True)
class Costs:
    """Bytes held by each, and microseconds to take in each; milliseconds to bring tables up."""

    node_bytes: float
    pod_bytes: float
    node_us: float
    pod_us: float
    first_table_ms: float
    changed_table_ms: float
    """After so many pods have come or gone as come and go in a lively second."""


def measure(nodes: int = NODES, pods: int = PODS) -> Costs:
    """Take in so many nodes and pods, and see what that costs."""
    node_s, of_nodes = _taken(_nodes(nodes), _put_node)
    pod_s, _ = _taken(_pods(pods, nodes), _put_pod)
    first_table_s = _seconds(of_nodes.table)
    gc.collect()
    tracemalloc.start()
    columns = Columns()
    for line in _nodes(nodes):
        _put_node(columns, line)
    columns.table()
    gc.collect()
    held_by_nodes = tracemalloc.get_traced_memory()[0]
    for line in _pods(pods, nodes):
        _put_pod(columns, line)
    columns.table()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    for line in _pods(_CHANGES, nodes):
        columns.put_pod(read_pod(line)[0], None)
    return Costs(
        node_bytes=held_by_nodes / nodes,
        pod_bytes=(held - held_by_nodes) / pods,
        node_us=node_s / nodes * 1e6,
        pod_us=pod_s / pods * 1e6,
        first_table_ms=first_table_s * 1e3,
        changed_table_ms=_seconds(columns.table) * 1e3,
    )


def _taken(lines: Iterator[bytes], put: Callable[[Columns, bytes], None]) -> tuple[float, Columns]:
    """The time it takes to take these in, without that of making them."""
    columns, spent = Columns(), 0.0
    for line in lines:
        start = time.process_time_ns()
        put(columns, line)
        spent += time.process_time_ns() - start
    return spent / 1e9, columns


def _put_node(columns: Columns, line: bytes) -> None:
    columns.put_node(*read_node(line))


def _put_pod(columns: Columns, line: bytes) -> None:
    columns.put_pod(*read_pod(line))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _nodes(count: int) -> Iterator[bytes]:
    image = {"names": [f"registry.example.com/team/app@sha256:{'0' * 64}"], "sizeBytes": 1}
    for at in range(count):
        labels = {f"example.com/label-{key}": f"value-{at % 7}" for key in range(15)}
        labels |= {
            "kubernetes.io/hostname": f"node-{at:06}",
            "topology.kubernetes.io/zone": f"zone-{at % 3}",
        }
        allocatable = {
            "cpu": "15890m",
            "memory": f"{65_000_000 + at % 9}Ki",
            "ephemeral-storage": "94477937300",
            "hugepages-1Gi": "0",
            "pods": "110",
        }
        status = {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [image] * 20,
        }
        yield _line({"metadata": {"name": f"node-{at:06}", "labels": labels}, "status": status})


def _pods(count: int, nodes: int) -> Iterator[bytes]:
    for at in range(count):
        requests = {"cpu": f"{(at % 20 + 1) * 50}m", "memory": f"{(at % 10 + 1) * 128}Mi"}
        container = {
            "name": "main",
            "env": [{"name": f"SETTING_{each}", "value": "x" * 30} for each in range(20)],
            "resources": {"requests": requests},
        }
        metadata = {"name": f"web-{at % 500}-7d9f8c6b5-{at:06}", "namespace": f"team-{at % 100}"}
        spec = {"nodeName": f"node-{at % nodes:06}", "containers": [container] * 2}
        yield _line({"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})


def _line(wire: dict[str, Any]) -> bytes:
    return msgspec.json.encode(wire)


def main() -> None:
    costs = measure()
    print(f"{NODES:,} nodes: {costs.node_bytes:,.0f} bytes and {costs.node_us:.0f} us each")
    print(f"{PODS:,} pods: {costs.pod_bytes:,.0f} bytes and {costs.pod_us:.0f} us each")
    megabytes = (costs.node_bytes * NODES + costs.pod_bytes * PODS) / 1e6
    print(f"all of it: {megabytes:.0f} MB")
    print(f"the table of nodes: {costs.first_table_ms:.0f} ms at first")
    print(f"after {_CHANGES} pods came or went: {costs.changed_table_ms:.2f} ms")


if __name__ == "__main__":
    main()
