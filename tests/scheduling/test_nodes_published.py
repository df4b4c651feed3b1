"""Nodes that an agent publishes: what the plane reads answers every demand as the nodes do."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_worlds import components, demands, node_lists

from atoll.dialects import json
from atoll.dialects.cluster_nodes import Columns, columns_of, decode, encode, problems, wire
from atoll.dialects.compressed import deflated
from atoll.errors import Invalid
from atoll.model.demand import Component, Demand
from atoll.model.node import Node
from atoll.model.taint import Effect, Taint
from atoll.scheduling.nodes.fitting import fits_by_node
from atoll.scheduling.nodes.sets import fits_sets
from atoll.scheduling.nodes.table import NodeTable

CLUSTER = {
    "apiVersion": "cluster.karmada.io/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "far", "uid": "u1"},
}


@given(node_lists, st.lists(demands, max_size=3), components)
def test_what_was_read_answers_as_the_nodes_do(
    nodes: list[Node], asked: list[Demand | None], parts: list[Component]
) -> None:
    table = NodeTable.of(nodes)
    read = decode(encode(table))
    assert read.rows.names == table.rows.names
    for demand in asked:
        assert fits_by_node(read, demand).tolist() == fits_by_node(table, demand).tolist()
    assert fits_sets(read, parts) == fits_sets(table, parts)


@given(node_lists, node_lists, demands)
def test_only_the_room_is_read_where_the_nodes_are_the_same(
    nodes: list[Node], others: list[Node], demand: Demand | None
) -> None:
    table = NodeTable.of(nodes)
    busier = table.with_free(others)
    columns = encode(busier)
    assert columns.traits == encode(table).traits
    assert encode(busier, (table, encode(table))) == columns
    read = decode(columns, alike=decode(encode(table)))
    assert fits_by_node(read, demand).tolist() == fits_by_node(busier, demand).tolist()


def test_a_table_that_grew_and_shrank_is_published_like_any_other() -> None:
    node = Node(name="a", labels={"zone": "x"}, allocatable={"cpu": 4000}, slots=5)
    tainted = Node(name="b", taints=(Taint("t", Effect.NO_EXECUTE, "v"),), slots=2)
    table = NodeTable.of([node]).with_nodes([tainted]).with_nodes([], ["a"]).with_nodes([node])
    read = decode(encode(table))
    assert fits_by_node(read, None).tolist() == [5, 0]
    assert read.row("b") == 1


def large(count: int) -> NodeTable:
    """Nodes as clouds have them: long names, each with its own address, many labels, all used."""
    draw = random.Random(7)
    zones = [f"eu-west-1{each}" for each in "abc"]

    def node(number: int) -> Node:
        address = f"ip-10-{draw.randrange(256)}-{draw.randrange(256)}-{number % 256}"
        name = f"{address}.eu-west-1.compute.internal-{number}"
        return Node(
            name=name,
            labels={
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": draw.choice(zones),
                "topology.kubernetes.io/region": "eu-west-1",
                "node.kubernetes.io/instance-type": draw.choice(["m5.large", "m5.4xlarge"]),
                "example.com/instance-id": f"i-{draw.getrandbits(68):017x}",
                **{f"example.com/label-{each}": str(draw.randrange(5)) for each in range(10)},
            },
            allocatable={
                "cpu": 15890,
                "memory": 63 * 2**30 + draw.randrange(2**20),
                "ephemeral-storage": 2**37,
            },
            requested={"cpu": draw.randrange(15890), "memory": draw.randrange(2**35)},
            slots=110,
            pods=draw.randrange(110),
        )

    return NodeTable.of(node(number) for number in range(count))


def test_five_thousand_nodes_are_far_smaller_than_a_megabyte() -> None:
    columns = encode(large(5000))
    assert sum(map(len, columns)) < 600_000


def test_an_object_has_its_clusters_name_goes_with_it_and_can_be_read() -> None:
    table = large(3)
    made = wire(CLUSTER, encode(table), len(table), "2026-01-01T00:00:00Z")
    assert made["metadata"]["name"] == "far"
    assert made["metadata"]["ownerReferences"] == [
        {**{key: CLUSTER[key] for key in ("apiVersion", "kind")}, "name": "far", "uid": "u1"}
    ]
    assert made["spec"]["nodes"] == 3
    assert columns_of(made) == encode(table)
    assert not list(problems(made))


TRAITS = {"names": ["a", "b"], "taints": [[[]], [0, 0]], "labels": {"z": [[None, "x"], [0, 1]]}}
ROOM = {"slots": [1, 2], "free": {"cpu": [3, -4]}}


def written(traits: Any, room: Any) -> Columns:
    return Columns(*(deflated(json.written(each).encode()) for each in (traits, room)))


def test_what_is_written_by_hand_is_read_as_well() -> None:
    read = decode(written(TRAITS, ROOM))
    assert read.rows.free["cpu"].tolist() == [3, -4]


@pytest.mark.parametrize(
    "columns",
    [
        Columns("", ""),
        Columns("no base64!", "AAAA"),
        written([], ROOM),
        written(TRAITS, None),
        written({**TRAITS, "names": ["b", "a"]}, ROOM),
        written({**TRAITS, "names": ["a", "a"]}, ROOM),
        written({**TRAITS, "names": ["a", 7]}, ROOM),
        written({**TRAITS, "taints": [[[["k", "Nothing", ""]]], [0, 0]]}, ROOM),
        written({**TRAITS, "taints": [[[]], [0, 1]]}, ROOM),
        written({**TRAITS, "labels": {"z": [["x", "x"], [0, 1]]}}, ROOM),
        written({**TRAITS, "labels": {"z": [["x"], [0]]}}, ROOM),
        written({**TRAITS, "labels": []}, ROOM),
        written(TRAITS, {**ROOM, "slots": [1]}),
        written(TRAITS, {**ROOM, "slots": [1, "2"]}),
        written(TRAITS, {**ROOM, "slots": [1, 2.5]}),
        written(TRAITS, {**ROOM, "slots": [1, 2**63]}),
    ],
    ids=lambda columns: f"{len(columns.traits)} and {len(columns.room)}",
)
def test_what_nobody_wrote_is_refused_with_where_it_is(columns: Columns) -> None:
    with pytest.raises(Invalid, match=r"spec\.(traits|room)"):
        decode(columns)
    assert list(problems({"spec": {"traits": columns.traits, "room": columns.room}}))
