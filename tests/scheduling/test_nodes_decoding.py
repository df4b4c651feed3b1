"""Kubernetes' Nodes and Pods become nodes of the model."""

from typing import Any

import pytest

from atoll.dialects.kubernetes.nodes import decode, decode_all
from atoll.errors import Invalid
from atoll.model.taint import Effect, Taint

GPU = "nvidia.com/gpu"


def make_wire(name: str = "one", **parts: Any) -> dict[str, Any]:
    allocatable = {"cpu": "3920m", "memory": "4Gi", "pods": "110", GPU: "2"}
    return {
        "metadata": {"name": name, "labels": {"zone": "a"}},
        "status": {"allocatable": allocatable},
        **parts,
    }


def make_pod(cpu: str = "100m", *, node: str = "one", phase: str = "Running") -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Mi"}}}
    return {
        "metadata": {"name": "p", "namespace": "team"},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": phase},
    }


def test_a_node_offers_what_is_allocatable_in_the_units_it_is_counted_in() -> None:
    node = decode(make_wire())
    assert (node.name, node.labels, node.slots) == ("one", {"zone": "a"}, 110)
    assert node.allocatable == {"cpu": 3920, "memory": 4 << 30, GPU: 2}
    assert (node.requested, node.pods, node.unschedulable) == ({}, 0, False)


def test_taints_and_cordons_are_read() -> None:
    taint = {"key": "team", "value": "blue", "effect": "NoExecute"}
    node = decode(make_wire(spec={"taints": [taint], "unschedulable": True}))
    assert node.taints == (Taint("team", Effect.NO_EXECUTE, "blue"),)
    assert node.unschedulable


@pytest.mark.parametrize(
    ("phase", "counted"),
    [
        pytest.param("Running", 1, id="running"),
        pytest.param("Pending", 1, id="bound-but-not-started"),
        pytest.param("", 1, id="no-phase-yet"),
        pytest.param("Unknown", 1, id="unknown"),
        pytest.param("Succeeded", 0, id="succeeded"),
        pytest.param("Failed", 0, id="failed"),
    ],
)
def test_pods_take_room_until_they_have_ended(phase: str, counted: int) -> None:
    node = decode(make_wire(), [make_pod("100m"), make_pod("250m", phase=phase)])
    assert node.pods == 1 + counted
    assert node.requested == {"cpu": 100 + 250 * counted, "memory": (1 + counted) << 20}


def test_pods_of_a_cluster_go_to_the_nodes_they_are_bound_to() -> None:
    pods = [make_pod(), make_pod(node="two"), make_pod(node="two"), make_pod(node="")]
    nodes = decode_all([make_wire("one"), make_wire("two"), make_wire("three")], pods)
    assert [(node.name, node.pods) for node in nodes] == [("one", 1), ("two", 2), ("three", 0)]


def test_a_node_that_has_not_reported_yet_offers_nothing() -> None:
    node = decode({"metadata": {"name": "new"}})
    assert (node.allocatable, node.slots, node.labels, node.taints) == ({}, 0, {}, ())


@pytest.mark.parametrize(
    ("wire", "pods", "field"),
    [
        pytest.param({"metadata": {}}, [], "metadata.name", id="no-name"),
        pytest.param([], [], "node", id="not-an-object"),
        pytest.param(
            make_wire(status={"allocatable": {"cpu": "lots"}}),
            [],
            "status.allocatable[cpu]",
            id="no-quantity",
        ),
        pytest.param(
            make_wire(spec={"taints": [{"key": "a", "effect": "Maybe"}]}),
            [],
            "spec.taints[0].effect",
            id="unknown-effect",
        ),
        pytest.param(
            make_wire(),
            [make_pod("much")],
            "pods[team/p].spec.containers[0].resources.requests[cpu]",
            id="pod-without-quantity",
        ),
        pytest.param(make_wire(), ["pod"], "pod", id="pod-not-an-object"),
    ],
)
def test_what_cannot_be_read_is_named(wire: Any, pods: list[Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        decode(wire, pods)
    assert caught.value.field == field
