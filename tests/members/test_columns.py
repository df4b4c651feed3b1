"""Nodes and pods in columns say what the objects would say, whatever happened to them."""

import gc
import json
import multiprocessing
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from atoll.dialects.kubernetes.nodes import ENDED, decode
from atoll.dialects.kubernetes.pods import demand
from atoll.members.columns import Columns
from atoll.members.reading import read_node, read_pod
from atoll.model.node import Node
from atoll.scheduling.nodes.table import NodeTable

NODES = ("n1", "n2", "n3")
PODS = ("p1", "p2", "p3", "p4")


def node(name: str, **of: Any) -> dict[str, Any]:
    spec = {key: of[key] for key in ("taints", "unschedulable") if of.get(key)}
    ready = {"type": "Ready", "status": "True" if of.get("ready", True) else "Unknown"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": of.get("labels") or {}, "resourceVersion": "5"},
        "spec": {"podCIDR": "10.0.0.0/24", **spec},
        "status": {
            "allocatable": of.get("allocatable") or {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "DiskPressure", "status": "True"}, ready],
            "images": [{"names": ["registry.example.com/web:1"], "sizeBytes": 1}],
        },
    }


def pod(name: str, on: str = "", phase: str = "Running", **spec: Any) -> dict[str, Any]:
    bound = {"nodeName": on} if on else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"containers": [container("1")], "restartPolicy": "Always", **spec, **bound},
        "status": {"phase": phase, "podIP": "10.0.0.7"},
    }


def container(cpu: str = "", memory: str = "", **more: Any) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    written = {key: value for key, value in requests.items() if value}
    return {"name": "main", "image": "web", "resources": {"requests": written}, **more}


def raw(wire: dict[str, Any]) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(wire).encode())


def asks(**spec: Any) -> dict[str, int]:
    _, facts = read_pod(raw(pod("p", **spec)))
    assert facts is not None
    return dict(facts.asks)


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        pytest.param({"containers": [container("250m", "1Gi")]}, (250, 2**30), id="one container"),
        pytest.param({"containers": [container("1"), container("500m")]}, (1500, 0), id="two"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3")]},
            (3000, 0),
            id="a greedy start",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("250m", restartPolicy="Always"), container("500m")],
            },
            (1250, 0),
            id="a sidecar",
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "100m", "memory": "1Ki"}},
            (1100, 1024),
            id="overhead",
        ),
        pytest.param(
            {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]},
            (2000, 0),
            id="only limits",
        ),
        pytest.param({"containers": [{"name": "main"}]}, (0, 0), id="nothing"),
    ],
)
def test_a_pod_asks_for_what_the_scheduler_counts(
    spec: dict[str, Any], asked: tuple[int, int]
) -> None:
    found = asks(**spec)
    assert (found.get("cpu", 0), found.get("memory", 0)) == asked


def test_pods_of_one_template_share_what_they_ask_for() -> None:
    _, one = read_pod(raw(pod("a", "n1")))
    _, other = read_pod(raw(pod("b", "n2")))
    assert one is not None
    assert other is not None
    assert one.asks is other.asks


AMOUNTS = st.fixed_dictionaries(
    {"pods": st.sampled_from(["2", "110"])},
    optional={
        "cpu": st.sampled_from(["2", "3920m", "0"]),
        "memory": st.sampled_from(["8Gi", "3977728Ki"]),
        "example.com/gpu": st.sampled_from(["0", "4"]),
    },
)
TAINT = {"key": "team", "value": "x", "effect": "NoSchedule"}


def whole_nodes(nodes: Iterable[Any], pods: Iterable[Any]) -> Iterator[Node]:
    """The nodes with what their pods ask of them, added up from the objects themselves."""
    running = [each for each in pods if each["status"]["phase"] not in ENDED]
    for wire in nodes:
        node = decode(wire)
        mine = [each["spec"] for each in running if each["spec"].get("nodeName") == node.name]
        asked: Counter[str] = Counter()
        for spec in mine:
            asked.update({name: a.in_its_unit(name) for name, a in demand(spec).requests})
        yield replace(node, pods=len(mine), requested=dict(asked))


class ChangingCluster(RuleBasedStateMachine):
    """Nodes and pods come, change and go in any order, and are looked at now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = Columns()
        self.nodes: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}

    @rule(
        name=st.sampled_from(NODES),
        allocatable=AMOUNTS,
        labels=st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy")),
        taints=st.lists(st.just(TAINT), max_size=1),
        flags=st.tuples(st.booleans(), st.booleans()),
    )
    def put_node(
        self,
        name: str,
        allocatable: dict[str, str],
        labels: dict[str, str],
        taints: list[dict[str, str]],
        flags: tuple[bool, bool],
    ) -> None:
        about = {"allocatable": allocatable, "labels": labels, "taints": taints}
        wire = node(name, **about, unschedulable=flags[0], ready=flags[1])
        self.nodes[name] = wire
        self.columns.put_node(*read_node(raw(wire)))

    @rule(name=st.sampled_from(NODES))
    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.columns.drop_node(name)

    @rule(
        name=st.sampled_from(PODS),
        on=st.sampled_from(("", *NODES)),
        phase=st.sampled_from(("Pending", "Running", "Succeeded", "Failed")),
        cpu=st.sampled_from(("", "100m", "1")),
    )
    def put_pod(self, name: str, on: str, phase: str, cpu: str) -> None:
        wire = pod(name, on, phase, containers=[container(cpu, "1Gi")])
        self.pods[name] = wire
        self.columns.put_pod(*read_pod(raw(wire)))

    @rule(name=st.sampled_from(PODS))
    def drop_pod(self, name: str) -> None:
        self.pods.pop(name, None)
        self.columns.drop_pod(f"shop/{name}")

    @rule()
    def look(self) -> None:
        fresh = NodeTable.of(whole_nodes(self.nodes.values(), self.pods.values()))
        assert facts(self.columns.table()) == facts(fresh)

    @invariant()
    def sums_are_those_of_the_objects(self) -> None:
        summary = self.columns.summary()
        running = [p for p in self.pods.values() if p["status"]["phase"] in ("Pending", "Running")]
        bound = [each for each in running if "nodeName" in each["spec"]]
        assert summary.nodes == len(self.nodes)
        assert summary.ready == sum(
            each["status"]["conditions"][1]["status"] == "True" for each in self.nodes.values()
        )
        assert summary.allocated.get("pods", 0) == len(bound)
        assert summary.allocating.get("pods", 0) == len(running) - len(bound)
        assert summary.allocated.get("memory", 0) == len(bound) * 2**30
        slots = sum(int(n["status"]["allocatable"]["pods"]) for n in self.nodes.values())
        assert summary.allocatable.get("pods", 0) == slots


def facts(table: NodeTable) -> object:
    """All that a table says, apart from how values are numbered."""
    rows = table.rows
    labels = {key: [each.values[code] for code in each.codes] for key, each in rows.labels.items()}
    return (
        *(rows.names, rows.slots.tolist()),
        {key: values for key, values in labels.items() if any(values)},
        [rows.taints.values[code] for code in rows.taints.codes],
        {name: each.tolist() for name, each in rows.free.items() if each.any()},
    )


TestChangingCluster = ChangingCluster.TestCase
TestChangingCluster.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_a_heartbeat_that_says_the_same_leaves_the_table_as_it_is() -> None:
    columns = Columns()
    columns.put_node(*read_node(raw(node("n1", labels={"zone": "a"}))))
    before, changes = columns.table(), columns.changes
    columns.put_node(*read_node(raw(node("n1", labels={"zone": "a"}, ready=False))))
    assert columns.table() is before
    assert columns.changes == changes
    assert columns.summary().ready == 0


@given(closed=st.booleans())
def test_a_cordoned_node_is_a_change(*, closed: bool) -> None:
    columns = Columns()
    columns.put_node(*read_node(raw(node("n1"))))
    before = columns.changes
    columns.put_node(*read_node(raw(node("n1", unschedulable=closed))))
    assert columns.changes == before + closed


def kept_each() -> tuple[float, float]:
    """How many bytes are kept of a node, and of a pod."""
    nodes, pods_each, labels = 200, 20, {f"example.com/label-{at}": "value" for at in range(15)}
    large = [container("100m", "1Gi", env=[{"name": "E", "value": "x" * 2000}])]
    node_lines = [raw(node(f"node-{at:05}", labels=labels)) for at in range(nodes)]
    pod_lines = [
        raw(pod(f"web-7d9f8c6b5-{at:06}", f"node-{at % nodes:05}", containers=large))
        for at in range(nodes * pods_each)
    ]
    read_node(node_lines[0])
    read_pod(pod_lines[0])
    columns = Columns()
    gc.collect()
    tracemalloc.start()
    try:
        for line in node_lines:
            columns.put_node(*read_node(line))
        columns.table()
        gc.collect()
        of_nodes = tracemalloc.get_traced_memory()[0]
        for line in pod_lines:
            columns.put_pod(*read_pod(line))
        columns.table()
        gc.collect()
        of_pods = tracemalloc.get_traced_memory()[0] - of_nodes
    finally:
        tracemalloc.stop()
    return of_nodes / nodes, of_pods / len(pod_lines)


def test_what_is_kept_of_a_node_or_a_pod_is_little_however_large_it_is() -> None:
    """As bytes in memory: of 5,000 nodes and 100,000 pods it would be some 25 MB, not gigabytes."""
    # In a process of its own: all that Python holds is counted, whoever asked for it.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        of_node, of_pod = pool.submit(kept_each).result()
    assert of_node < 2_000
    assert of_pod < 400
