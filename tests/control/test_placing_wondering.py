"""What people ask about placement is answered by deciding it."""

import pytest
from placing_world import EVEN, World, make_binding, make_cluster, make_fleet

from atoll.control.scheduler.decide.wondering import changes, fits
from atoll.dialects.karmada.objects.resource_bindings import decode
from atoll.errors import Invalid
from atoll.model.node import Node
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import NodeRoom, NodeView
from atoll.scheduling.setting import USUAL_SETTING

FREE = make_cluster("a", 10)
TAINTED = make_cluster("b", taints=[{"key": "gpu", "effect": "NoSchedule"}])


def test_the_nearest_change_is_told_with_what_it_leads_to() -> None:
    binding = make_binding(4, dividing=EVEN)
    told = changes(decode(binding), make_fleet(FREE, TAINTED), USUAL_SETTING)
    assert any("b takes" in each and "tolerate the taint gpu:NoSchedule" in each for each in told)


def test_what_runs_is_wondered_about_as_if_it_were_placed_anew() -> None:
    world = World(make_binding(4, dividing=EVEN), FREE, TAINTED)
    before = changes(decode(world.binding), make_fleet(FREE, TAINTED), USUAL_SETTING)
    world.settle()
    assert world.targets == {"a": 4}
    assert changes(decode(world.binding), make_fleet(FREE, TAINTED), USUAL_SETTING) == before


def test_nothing_is_told_of_what_its_own_replicas_are_in_the_way_of() -> None:
    world = World(make_binding(4, dividing=EVEN), FREE, TAINTED)
    world.settle()
    full = make_cluster("a", 1)
    assert changes(decode(world.binding), make_fleet(full, TAINTED), USUAL_SETTING) == []


def test_what_cannot_be_placed_is_told_what_would_place_it() -> None:
    told = changes(decode(make_binding(4, dividing=EVEN)), make_fleet(TAINTED), USUAL_SETTING)
    assert told[0].startswith("it can be placed: b takes 4, if you tolerate")


def test_what_fits_is_what_the_nodes_say_and_else_what_is_reported() -> None:
    fleet = make_fleet(make_cluster("a", 10), make_cluster("b", 3))
    assert fits({"cpu": "2"}, fleet, NodeView({}), models=True) == {
        "a": (5, "cluster report"),
        "b": (1, "cluster report"),
    }
    pieces = [Node(name=f"n{at}", allocatable={"cpu": 1500}, slots=10) for at in range(2)]
    nodes = NodeView({"b": NodeRoom(NodeTable.of(pieces))})
    assert fits({"cpu": "1"}, fleet, nodes, models=True)["b"] == (2, "node view")
    assert fits({"cpu": "2"}, fleet, nodes, models=True)["b"] == (0, "node view")


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        pytest.param({}, "must name a resource", id="nothing"),
        pytest.param({"cpu": "x"}, "is no quantity", id="no-quantity"),
        pytest.param({"cpu": "-1"}, "must not be negative", id="negative"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(
    requests: dict[str, str], problem: str
) -> None:
    with pytest.raises(Invalid, match=problem):
        fits(requests, make_fleet(FREE), NodeView({}), models=True)
