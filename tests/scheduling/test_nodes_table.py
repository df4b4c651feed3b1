"""A table of nodes after a change equals a table built anew, and the old one stays as it was."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from node_worlds import NAMES, node_lists, nodes, some_demands

from atoll.model.demand import Demand, NodeClaim
from atoll.model.node import Node
from atoll.scheduling.nodes.fitting import fits, fits_by_node
from atoll.scheduling.nodes.table import NodeTable


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


class ChangingTable(RuleBasedStateMachine):
    """Nodes come, change and go; the demand asked for stays the same."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, Node] = {}
        self.table = NodeTable.of(())

    @rule(node=nodes, demand=some_demands)
    def put(self, node: Node, demand: Demand) -> None:
        fits(self.table, demand)  # so that there is something to remember wrongly
        self.nodes[node.name] = node
        self.table = self.table.with_nodes([node])
        assert fits(self.table, demand) == fits(self.rebuilt(), demand)

    @rule(listed=node_lists, gone=st.sets(st.sampled_from(NAMES)))
    def change_many(self, listed: list[Node], gone: set[str]) -> None:
        for name in gone:
            self.nodes.pop(name, None)
        self.nodes |= {node.name: node for node in listed}
        self.table = self.table.with_nodes(listed, gone)

    @rule(listed=node_lists, demand=some_demands)
    def fill(self, listed: list[Node], demand: Demand) -> None:
        fits(self.table, demand)
        known = self.nodes
        for name, each in {node.name: node for node in listed if node.name in known}.items():
            same = {"labels": known[name].labels, "taints": known[name].taints}
            known[name] = replace(each, unschedulable=known[name].unschedulable, **same)
        self.table = self.table.with_free(listed)
        assert fits(self.table, demand) == fits(self.rebuilt(), demand)

    def rebuilt(self) -> NodeTable:
        return NodeTable.of(self.nodes.values())

    @invariant()
    def equals_one_built_anew(self) -> None:
        assert facts(self.table) == facts(self.rebuilt())


TestChangingTable = ChangingTable.TestCase
TestChangingTable.settings = settings(max_examples=60, stateful_step_count=8, deadline=None)


@given(node_lists, nodes)
def test_a_change_leaves_the_table_it_was_made_from_alone(
    given_nodes: list[Node], node: Node
) -> None:
    table = NodeTable.of(given_nodes)
    before = facts(table)
    table.with_nodes([node])
    table.with_nodes([], [node.name])
    table.with_free([node])
    assert facts(table) == before


def test_a_change_of_what_is_free_keeps_what_was_found_out_about_labels() -> None:
    table = NodeTable.of([Node(name="one", slots=5, labels={"zone": "a"})])
    demand = Demand(claim=NodeClaim(selector=(("zone", "a"),)))
    fits_by_node(table, demand)
    fuller = table.with_free([Node(name="one", slots=5, pods=3, labels={"zone": "a"})])
    moved = table.with_nodes([Node(name="one", slots=5, labels={"zone": "b"})])
    assert demand.claim in fuller.masks
    assert fits_by_node(fuller, demand).tolist() == [2]
    assert not moved.masks
    assert fits_by_node(moved, demand).tolist() == [0]


def test_values_of_nodes_long_gone_are_not_kept() -> None:
    table = NodeTable.of([Node(name="stays", labels={"host": "stays"})])
    for number in range(500):
        name = f"n{number}"
        table = table.with_nodes([Node(name=name, labels={"host": name})])
        table = table.with_nodes([], [name])
    assert len(table.rows.labels["host"].values) < 50


def test_keys_that_only_nodes_long_gone_had_are_not_kept() -> None:
    table = NodeTable.of([Node(name="stays", labels={"host": "stays"})])
    for number in range(50):
        table = table.with_nodes([Node(name="guest", labels={f"mine-{number}": ""})])
        table = table.with_nodes([], ["guest"])
    assert list(table.rows.labels) == ["host"]


def test_of_two_nodes_with_one_name_the_last_counts() -> None:
    table = NodeTable.of([Node(name="one", slots=1), Node(name="one", slots=7)])
    assert table.rows.slots.tolist() == [7]
    assert table.row("one") == 0
    assert table.row("two") is None


def test_columns_take_a_bounded_number_of_bytes_per_node() -> None:
    some = [
        Node(name=f"n{number}", labels={"host": f"n{number}", "zone": "a"}, allocatable={"cpu": 1})
        for number in range(100)
    ]
    # Two label columns and the taints of four bytes, free CPU and slots of eight.
    rows = NodeTable.of(some).rows
    held = [rows.taints, *rows.labels.values(), rows.slots, *rows.free.values()]
    assert sum(each.nbytes for each in held) == 100 * (3 * 4 + 2 * 8)
