"""How many whole sets of components fit on nodes: by cases, and against placing them one by one."""

import pytest
from hypothesis import given
from node_worlds import GPU, RESOURCES, components, make_demand, node_lists, plain_fit

from atoll.model.demand import Component, Demand
from atoll.model.node import Node
from atoll.scheduling.nodes.fitting import fits
from atoll.scheduling.nodes.sets import fits_sets
from atoll.scheduling.nodes.table import NodeTable

MOST = 2**31 - 1


def make_node(name: str, *, slots: int = 110, **allocatable: int) -> Node:
    return Node(name=name, slots=slots, allocatable=allocatable)


def part(replicas: int, **requests: int) -> Component:
    return Component("part", replicas, make_demand(**requests))


@pytest.mark.parametrize(
    ("nodes", "parts", "expected"),
    [
        pytest.param([make_node("a", cpu=10)], [part(1, cpu=2), part(2, cpu=1)], 2, id="one-node"),
        pytest.param(
            [make_node("a", cpu=4), make_node("b", cpu=5)],
            [part(3, cpu=2)],
            1,
            id="a-component-is-spread-over-nodes",
        ),
        pytest.param(
            [make_node("a", cpu=3), make_node("b", cpu=3)], [part(1, cpu=4)], 0, id="in-pieces"
        ),
        pytest.param([make_node("a", slots=7, cpu=99)], [part(2), part(1)], 2, id="pod-slots"),
        pytest.param([make_node("a", cpu=9)], [part(0, gpu=1)], MOST, id="no-replicas-no-limit"),
        pytest.param([make_node("a", cpu=9)], [], MOST, id="no-components-no-limit"),
        pytest.param([], [part(1, cpu=1)], 0, id="no-nodes"),
        pytest.param([make_node("a", cpu=9)], [part(1, gpu=1)], 0, id="unknown-resource"),
        pytest.param(
            [make_node("a", cpu=2, memory=9), make_node("b", cpu=9, memory=9)],
            [part(1, memory=4), part(1, cpu=2)],
            4,
            id="components-land-on-different-nodes",
        ),
        pytest.param(
            [make_node("a", cpu=3), make_node("b", cpu=2)],
            [part(1, cpu=1), part(1, cpu=2)],
            1,
            id="first-fit-is-not-best-fit",
        ),
    ],
)
def test_sets_are_placed_first_fit(
    nodes: list[Node], parts: list[Component], expected: int
) -> None:
    assert fits_sets(NodeTable.of(nodes), parts) == expected


def plain_sets(nodes: list[Node], parts: list[Component], most: int) -> int:
    """Set after set, replica after replica, each on the first node that takes it."""
    order = sorted(nodes, key=lambda node: node.name)
    taken = {node.name: dict.fromkeys(RESOURCES, 0) for node in order}
    pods = dict.fromkeys(taken, 0)

    def put(demand: Demand | None) -> bool:
        for node in order:
            requested = {
                name: node.requested.get(name, 0) + taken[node.name][name] for name in RESOURCES
            }
            now = Node(
                name=node.name,
                labels=node.labels,
                taints=node.taints,
                unschedulable=node.unschedulable,
                allocatable=node.allocatable,
                requested=requested,
                slots=node.slots,
                pods=node.pods + pods[node.name],
            )
            if plain_fit(now, demand):
                pods[node.name] += 1
                for name, amount in demand.requests if demand else ():
                    if name in RESOURCES:
                        asked = amount.milli if name == "cpu" else amount.milli // 1000
                        taken[node.name][name] += asked
                return True
        return False

    for count in range(most):
        for each in parts:
            if not all(put(each.demand) for _ in range(each.replicas)):
                return count
    return most


@given(node_lists, components)
def test_counting_equals_placing_replica_by_replica(
    nodes: list[Node], parts: list[Component]
) -> None:
    most = 100  # more than the slots of all nodes, so it only ends sets that take nothing
    assert min(fits_sets(NodeTable.of(nodes), parts), most) == plain_sets(nodes, parts, most)


@given(node_lists, components)
def test_sets_never_take_more_than_there_is(nodes: list[Node], parts: list[Component]) -> None:
    table = NodeTable.of(nodes)
    sets = min(fits_sets(table, parts), 1000)
    for each in parts:
        assert each.replicas == 0 or sets * each.replicas <= fits(table, each.demand)
    for name in ("cpu", "memory", GPU, "pods"):
        free = table.rows.slots if name == "pods" else table.rows.free_of(name)
        per_set = sum(each.replicas * asked(each.demand, name) for each in parts)
        assert sets * per_set <= free.clip(0).sum() or per_set == 0


def asked(demand: Demand | None, resource: str) -> int:
    if resource == "pods":
        return 1
    amounts = dict(demand.requests) if demand else {}
    return amounts[resource].in_its_unit(resource) if resource in amounts else 0


def test_many_sets_are_counted_in_few_steps() -> None:
    # One by one this would take a thousand million rounds.
    table = NodeTable.of([make_node("a", slots=2**40, cpu=7 * 10**9 + 6)])
    assert fits_sets(table, [part(1, cpu=1), part(2, cpu=3)]) == 10**9
    assert fits_sets(table, [part(10**9, cpu=2)]) == 3
