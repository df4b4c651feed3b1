"""A table of nodes after a change equals a table built anew, and the old one stays as it was."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from node_worlds import NAMES, demands, node_lists, nodes

from atoll.model.demand import Demand, NodeClaim
from atoll.model.node import Node
from atoll.scheduling.nodes import NodeTable, answers, fits_by_node

CLUSTERS = st.sampled_from(("east", "west"))
SOME_DEMAND = demands.filter(lambda demand: demand is not None)


def facts(table: NodeTable) -> object:
    """All that a table says, apart from how values are numbered."""
    rows = table.rows
    labels = {key: [each.values[code] for code in each.codes] for key, each in rows.labels.items()}
    return (
        *(table.clusters, table.starts, rows.names, rows.slots.tolist()),
        {key: values for key, values in labels.items() if any(values)},
        [rows.taints.values[code] for code in rows.taints.codes],
        {name: each.tolist() for name, each in rows.free.items() if each.any()},
    )


class ChangingTable(RuleBasedStateMachine):
    """Nodes and clusters come, change and go; the demand asked for stays the same."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, dict[str, Node]] = {}
        self.table = NodeTable.of_clusters({})

    @rule(cluster=CLUSTERS, node=nodes, demand=SOME_DEMAND)
    def put(self, cluster: str, node: Node, demand: Demand) -> None:
        answers(self.table, demand)  # so that there is something to remember wrongly
        self.nodes.setdefault(cluster, {})[node.name] = node
        self.table = self.table.with_nodes([node], cluster=cluster)
        assert answers(self.table, demand) == answers(self.rebuilt(), demand)

    @rule(cluster=CLUSTERS, name=st.sampled_from(NAMES))
    def drop(self, cluster: str, name: str) -> None:
        self.nodes.get(cluster, {}).pop(name, None)
        self.table = self.table.without(name, cluster=cluster)

    @rule(cluster=CLUSTERS, listed=node_lists)
    def relist(self, cluster: str, listed: list[Node]) -> None:
        self.nodes[cluster] = {node.name: node for node in listed}
        self.table = self.table.with_cluster(cluster, listed)

    @rule(cluster=CLUSTERS, listed=node_lists, gone=st.sets(st.sampled_from(NAMES)))
    def change_many(self, cluster: str, listed: list[Node], gone: set[str]) -> None:
        known = self.nodes.setdefault(cluster, {})
        for name in gone:
            known.pop(name, None)
        known |= {node.name: node for node in listed}
        self.table = self.table.with_nodes(listed, gone, cluster=cluster)

    @rule(cluster=CLUSTERS, listed=node_lists, demand=SOME_DEMAND)
    def fill(self, cluster: str, listed: list[Node], demand: Demand) -> None:
        answers(self.table, demand)
        known = self.nodes.get(cluster, {})
        for name, each in {node.name: node for node in listed if node.name in known}.items():
            same = {"labels": known[name].labels, "taints": known[name].taints}
            known[name] = replace(each, unschedulable=known[name].unschedulable, **same)
        self.table = self.table.with_free(listed, cluster=cluster)
        assert answers(self.table, demand) == answers(self.rebuilt(), demand)

    def rebuilt(self) -> NodeTable:
        return NodeTable.of_clusters({each: has.values() for each, has in self.nodes.items()})

    @invariant()
    def equals_one_built_anew(self) -> None:
        assert facts(self.table) == facts(self.rebuilt())


TestChangingTable = ChangingTable.TestCase
TestChangingTable.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)


@given(node_lists, nodes)
def test_a_change_leaves_the_table_it_was_made_from_alone(
    given_nodes: list[Node], node: Node
) -> None:
    table = NodeTable.of(given_nodes)
    before = facts(table)
    table.with_nodes([node])
    table.without(node.name)
    table.with_cluster("", [node])
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
        table = table.with_nodes([Node(name=name, labels={"host": name})]).without(name)
    assert len(table.rows.labels["host"].values) < 50


def test_keys_that_only_nodes_long_gone_had_are_not_kept() -> None:
    table = NodeTable.of([Node(name="stays", labels={"host": "stays"})])
    for number in range(50):
        table = table.with_nodes([Node(name="guest", labels={f"mine-{number}": ""})]).without(
            "guest"
        )
    assert list(table.rows.labels) == ["host"]


def test_of_two_nodes_with_one_name_the_last_counts() -> None:
    table = NodeTable.of([Node(name="one", slots=1), Node(name="one", slots=7)])
    assert table.rows.slots.tolist() == [7]
    assert table.row("one") == 0
    assert table.row("two") is None
    assert table.row("one", cluster="elsewhere") is None


def test_columns_take_a_bounded_number_of_bytes_per_node() -> None:
    some = [
        Node(name=f"n{number}", labels={"host": f"n{number}", "zone": "a"}, allocatable={"cpu": 1})
        for number in range(100)
    ]
    # Two label columns and the taints of four bytes, free CPU and slots of eight.
    assert NodeTable.of(some).rows.nbytes == 100 * (3 * 4 + 2 * 8)
