"""Kubernetes' Nodes become nodes of the model."""

from typing import Any

import pytest

from atoll.dialects.kubernetes.nodes import decode
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


def test_a_node_that_has_not_reported_yet_offers_nothing() -> None:
    node = decode({"metadata": {"name": "new"}})
    assert (node.allocatable, node.slots, node.labels, node.taints) == ({}, 0, {}, ())


@pytest.mark.parametrize(
    ("wire", "field"),
    [
        pytest.param({"metadata": {}}, "metadata.name", id="no-name"),
        pytest.param([], "node", id="not-an-object"),
        pytest.param(
            make_wire(status={"allocatable": {"cpu": "lots"}}),
            "status.allocatable[cpu]",
            id="no-quantity",
        ),
        pytest.param(
            make_wire(spec={"taints": [{"key": "a", "effect": "Maybe"}]}),
            "spec.taints[0].effect",
            id="unknown-effect",
        ),
    ],
)
def test_what_cannot_be_read_is_named(wire: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        decode(wire)
    assert caught.value.field == field
