"""Whoever asks over Karmada's protocol gets the answer that the nodes give."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from node_worlds import components, demands, node_lists

from atoll.dialects.karmada import demand as wire
from atoll.estimator.estimating import estimate
from atoll.estimator.messages import REPLICAS, SETS, read_request, write_request
from atoll.model.demand import Component, Demand
from atoll.model.node import Node
from atoll.scheduling.nodes.fitting import fits
from atoll.scheduling.nodes.sets import fits_sets
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import filled


def meant(demand: Demand | None) -> Demand | None:
    """A demand as one that was read: what Kubernetes calls invalid is never drawn from a wire."""
    return None if demand is None else wire.decode(wire.encode(demand), "")


def meant_parts(parts: list[Component]) -> tuple[Component, ...]:
    return wire.components({"components": wire.encode_components(parts)}, "", "")


@given(demands)
def test_what_was_read_is_written_so_that_it_is_read_the_same(drawn: Demand | None) -> None:
    demand = meant(drawn)
    assert demand is None or wire.decode(wire.encode(demand), "") == demand


@given(node_lists, demands, st.one_of(st.just([]), components))
def test_replicas_that_fit(
    nodes: list[Node], drawn: Demand | None, on_the_way: list[Component]
) -> None:
    table, demand, taken = NodeTable.of(nodes), meant(drawn), meant_parts(on_the_way)
    asked: dict[str, Any] = {"assumedWorkloads": [{"components": wire.encode_components(taken)}]}
    if demand is not None:
        asked["replicaRequirements"] = wire.encode(demand)
    sent = read_request(REPLICAS, write_request(REPLICAS, asked))
    for each in taken:
        table = filled(table, each)
    assert estimate(NodeTable.of(nodes), REPLICAS, sent) == fits(table, demand)


@given(node_lists, components)
def test_sets_that_fit(nodes: list[Node], drawn: list[Component]) -> None:
    table, parts = NodeTable.of(nodes), meant_parts(drawn)
    asked = {"components": wire.encode_components(parts)}
    sent = read_request(SETS, write_request(SETS, asked))
    assert estimate(table, SETS, sent) == (fits_sets(table, parts) if nodes else 0)
