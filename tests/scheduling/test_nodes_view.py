"""Clusters seen to the node: the least of all answers counts, and what is on its way takes room."""

import pytest
from builders import make_binding, make_cluster, make_demand
from hypothesis import given
from hypothesis import strategies as st
from node_worlds import demands, node_lists

from atoll.control.explanations.decide.shortages import shortages
from atoll.model.assumed import Assumed
from atoll.model.demand import Component, Demand
from atoll.model.intent import Available, Intent
from atoll.model.node import Node
from atoll.scheduling.cycle import decide
from atoll.scheduling.decision import Decision
from atoll.scheduling.estimates import OWN_REPORT
from atoll.scheduling.features import PLANE_USUAL
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.fitting import fits
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import NODE_VIEW, NodeRoom, NodeView
from atoll.scheduling.question import Surroundings
from atoll.scheduling.setting import Setting
from atoll.scheduling.whatif.parts import Inputs
from atoll.scheduling.whatif.room import more_room

GI = 2**30
SETTING = Setting(features=PLANE_USUAL)


def node(name: str, cpu: int, **of: object) -> Node:
    return Node(name=name, allocatable={"cpu": cpu, "memory": 64 * GI}, slots=110, **of)


def decided(
    view: dict[str, list[Node]], replicas: int = 4, *, cpu: str = "2", assumed: int = 0
) -> Decision:
    """Where replicas go that are divided by free room; all clusters report 16 cores."""
    fleet = Fleet.of(make_cluster(name) for name in ("east", "west"))
    demand = make_demand(cpu)
    around = Surroundings(
        assumed=(Assumed("east", (Component("", assumed, demand),)),) if assumed else (),
        nodes=NodeView({name: NodeRoom(NodeTable.of(nodes)) for name, nodes in view.items()}),
    )
    binding = make_binding(replicas, demand=demand, intent=Intent(division=Available()))
    return decide(binding, fleet, SETTING, around)


def room(decision: Decision) -> dict[str, int]:
    attempt = decision.attempts[-1]
    assert attempt.estimates is not None
    names = decision.fleet.names_of(attempt.shortlist.rows)
    return dict(zip(names, attempt.estimates.allocatable.tolist(), strict=True))


SCATTERED = [node(f"n{at}", 1600) for at in range(10)]  # 16 cores that no one has two of
WHOLE = [node("n0", 16000)]


def test_what_no_node_has_in_one_piece_is_no_room() -> None:
    decision = decided({"east": SCATTERED, "west": WHOLE})
    assert room(decision) == {"east": 0, "west": 8}
    assert {each.name: each.replicas for each in decision.targets} == {"west": 4}


def test_both_answers_are_kept() -> None:
    decision = decided({"east": SCATTERED})
    estimates = decision.attempts[-1].estimates
    assert estimates is not None
    assert {name: each.tolist() for name, each in estimates.sources.items()} == {
        OWN_REPORT: [8, 8],
        NODE_VIEW: [0, -1],
    }


def test_a_cluster_whose_nodes_are_not_known_goes_by_its_report() -> None:
    assert room(decided({"east": SCATTERED})) == {"east": 0, "west": 8}
    assert room(decided({})) == {"east": 8, "west": 8}


def test_nodes_never_promise_more_than_the_cluster_reports() -> None:
    assert room(decided({"east": [node("n0", 64000)]}))["east"] == 8


def test_what_was_just_given_away_takes_room_on_nodes_as_well() -> None:
    nodes = [node(f"n{at}", 3000) for at in range(5)]
    assert room(decided({"east": nodes}))["east"] == 5
    assert room(decided({"east": nodes}, assumed=2))["east"] == 3


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        pytest.param(
            SCATTERED,
            "10 nodes: 10 short of cpu; the best node has 1.6 cores free",
            id="scattered",
        ),
        pytest.param(
            [node("n0", 16000, unschedulable=True)],
            "1 nodes: 1 with untolerated taint {node.kubernetes.io/unschedulable:NoSchedule}",
            id="closed",
        ),
        pytest.param([], "it has no nodes", id="none"),
    ],
)
def test_it_is_told_what_stands_in_the_way(nodes: list[Node], told: str) -> None:
    assert shortages(decided({"east": nodes, "west": WHOLE})) == {"east": told}


def test_where_nodes_made_no_difference_nothing_is_told() -> None:
    assert shortages(decided({"east": WHOLE, "west": WHOLE}, replicas=2)) == {}


def test_what_would_help_is_room_on_nodes_if_that_is_what_is_missing() -> None:
    decision = decided({"east": SCATTERED, "west": SCATTERED})
    assert not decision.ok
    change = more_room(Inputs.of(decision), "west", 4, models=True)
    assert str(change) == "give west nodes with room for 4"
    assert change is not None
    inputs = change.apply(Inputs.of(decision))
    again = decide(inputs.binding, inputs.fleet, SETTING, inputs.surroundings)
    assert {each.name: each.replicas for each in again.targets} == {"west": 4}


@given(node_lists, demands, demands, st.integers(0, 20))
def test_work_on_its_way_never_makes_room_and_takes_at_least_its_own(
    nodes: list[Node], asked: Demand | None, other: Demand | None, replicas: int
) -> None:
    table = NodeTable.of(nodes)
    view = NodeView({"east": NodeRoom(table)})
    taken = {"east": (Assumed("east", (Component("", replicas, other),)),)}
    (before,), (after,) = (view.answers(["east"], asked, each) for each in ({}, taken))
    assert 0 <= after <= before == fits(table, asked)
    if asked == other:
        assert after == max(0, before - replicas)


@given(node_lists, st.lists(demands, max_size=6))
def test_an_answer_that_was_kept_is_the_answer(
    nodes: list[Node], asked: list[Demand | None]
) -> None:
    view = NodeView({"east": NodeRoom(NodeTable.of(nodes))})
    for each in (*asked, *asked):
        answer = view.answers(["east", "gone"], each, {})
        assert answer.tolist() == [fits(NodeTable.of(nodes), each), -1]
