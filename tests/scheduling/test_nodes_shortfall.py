"""Why no further replica fits on nodes: every node has one reason, and the reasons add up."""

from hypothesis import given
from node_worlds import demands, make_demand, node_lists, plain_claimed

from atoll.model.demand import Demand, NodeClaim, NodeTerm
from atoll.model.node import Node
from atoll.model.selector import Operator, Requirement
from atoll.model.taint import Effect, Taint
from atoll.scheduling.nodes.fitting import fits, fits_by_node
from atoll.scheduling.nodes.shortfall import Cause, Obstacle, shortfall
from atoll.scheduling.nodes.table import NodeTable

TEAM = Taint("team", Effect.NO_SCHEDULE, "blue")


def make_nodes(count: int, kind: str, **facts: object) -> list[Node]:
    usual = {
        "labels": {"zone": "a", "disk": "ssd"},
        "allocatable": {"cpu": 4000, "memory": 100},
        "slots": 10,
    }
    return [
        Node(name=f"{kind}-{number}", **(usual | facts))  # type: ignore[arg-type]
        for number in range(count)
    ]


def test_each_node_counts_under_its_first_reason() -> None:
    table = NodeTable.of(
        [
            *make_nodes(1, "tainted", taints=(TEAM,), slots=0),
            *make_nodes(2, "cordoned", unschedulable=True),
            *make_nodes(3, "elsewhere", labels={"zone": "b"}),
            *make_nodes(4, "slow", labels={"zone": "a", "disk": "hdd"}),
            *make_nodes(5, "crowded", pods=10, requested={"cpu": 4000}),
            *make_nodes(6, "busy", requested={"cpu": 3500, "memory": 99}),
            *make_nodes(7, "good"),
        ]
    )
    fast = NodeTerm(labels=(Requirement("disk", Operator.IN, ("ssd",)),))
    claim = NodeClaim(selector=(("zone", "a"),), terms=(fast,))
    found = shortfall(table, make_demand(claim, cpu=1000, memory=10))
    assert found.refusing == (
        (Obstacle(Cause.RESOURCE, "cpu"), 6),
        (Obstacle(Cause.PODS), 5),
        (Obstacle(Cause.AFFINITY), 4),
        (Obstacle(Cause.SELECTOR), 3),
        (Obstacle(Cause.TAINT, "node.kubernetes.io/unschedulable:NoSchedule"), 2),
        (Obstacle(Cause.TAINT, "team=blue:NoSchedule"), 1),
    )
    assert found.filling == ((Obstacle(Cause.RESOURCE, "cpu"), 7),)
    assert (found.nodes, found.replicas) == (28, 28)
    assert str(found) == (
        "28 nodes: 6 short of cpu, 5 without a free pod slot, 4 not matching the node affinity, "
        "3 not matching the node selector, "
        "2 with untolerated taint {node.kubernetes.io/unschedulable:NoSchedule}, "
        "1 with untolerated taint {team=blue:NoSchedule}"
    )


def test_without_obstacles_only_the_nodes_are_told() -> None:
    found = shortfall(NodeTable.of(make_nodes(2, "good")), None)
    assert str(found) == "2 nodes"
    assert found.filling == ((Obstacle(Cause.PODS), 2),)


@given(node_lists, demands)
def test_every_node_has_one_reason(nodes: list[Node], demand: Demand | None) -> None:
    table = NodeTable.of(nodes)
    found = shortfall(table, demand)
    fit = fits_by_node(table, demand)
    assert sum(count for _, count in found.refusing) == int((fit == 0).sum())
    assert sum(count for _, count in found.filling) == int((fit > 0).sum())
    assert found.replicas == fits(table, demand)


@given(node_lists, demands)
def test_nodes_not_meant_are_those_refused_for_what_they_are(
    nodes: list[Node], demand: Demand | None
) -> None:
    claim = demand.claim if demand else NodeClaim()
    not_meant = sum(not plain_claimed(node, claim) for node in nodes)
    found = shortfall(NodeTable.of(nodes), demand)
    kinds = (Cause.TAINT, Cause.SELECTOR, Cause.AFFINITY)
    assert sum(count for why, count in found.refusing if why.cause in kinds) == not_meant
