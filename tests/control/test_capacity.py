"""Which members the scheduler sees to the node, and how often it looks."""

from typing import Any

import pytest

from atoll.client.api import ApiClient
from atoll.client.transport import Unreachable
from atoll.control.capacity import FRESH_S, STALE_S, NodeCapacity
from atoll.dialects.cluster_nodes import encode, wire
from atoll.exchange import Request, Response
from atoll.members.following import Observation
from atoll.members.reading import NodeFacts, PodFacts
from atoll.model.cluster import Cluster
from atoll.model.node import Node
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.nodes.table import NodeTable

FACTS = NodeFacts({}, (), unschedulable=False, ready=True, allocatable=(("cpu", 4000),), slots=10)
NOW = 1_000_000.0


class Nowhere:
    """A way that leads nowhere: what is seen is put there by the test."""

    async def send(self, request: Request) -> Response:
        raise Unreachable("nobody is there")

    async def close(self) -> None:
        return


def observed(*, complete: bool = True) -> Observation:
    seen = Observation(ApiClient(Nowhere()), "cluster east")
    seen.columns.put_node("n1", FACTS)
    for each in seen.followings if complete else ():
        each.ready.set()
    return seen


def fleet(**ready: bool) -> Fleet:
    return Fleet.of(Cluster(name=name, ready=each) for name, each in ready.items())


EAST = fleet(east=True)


def free(capacity: NodeCapacity, now: float, of: Fleet = EAST) -> int:
    table = capacity.view(of, now).rooms["east"].table
    return int(table.rows.free["cpu"].sum())


def test_only_members_that_are_ready_and_counted_are_seen() -> None:
    seen = {"east": observed(), "west": observed(), "new": observed(complete=False)}
    view = NodeCapacity(seen).view(fleet(east=True, west=False, new=True), NOW)
    assert set(view.rooms) == {"east"}


def test_a_member_that_left_is_seen_no_more_and_one_that_came_again_anew() -> None:
    seen = {"east": observed()}
    capacity = NodeCapacity(seen)
    before = capacity.view(EAST, NOW).rooms["east"]
    del seen["east"]
    assert not capacity.view(fleet(), NOW).rooms
    seen["east"] = observed()
    assert capacity.view(fleet(east=True), NOW).rooms["east"] is not before


def test_pods_are_seen_after_a_moment_and_at_once_with_a_report() -> None:
    seen = observed()
    capacity = NodeCapacity({"east": seen})
    assert free(capacity, NOW) == 4000
    seen.columns.put_pod("a/b", PodFacts("n1", (("cpu", 1000),)))
    assert free(capacity, NOW + FRESH_S / 2) == 4000
    assert free(capacity, NOW + FRESH_S) == 3000
    seen.columns.put_pod("a/c", PodFacts("n1", (("cpu", 1000),)))
    seen.columns.table()
    assert free(capacity, NOW + FRESH_S, fleet(east=True)) == 2000


def test_what_was_found_out_is_kept_while_nothing_changes() -> None:
    capacity = NodeCapacity({"east": observed()})
    before = capacity.view(EAST, NOW).rooms["east"]
    assert capacity.view(EAST, NOW + 10 * FRESH_S).rooms["east"] is before


def test_nodes_that_come_or_change_are_noticed_and_pods_are_not() -> None:
    seen = observed()
    capacity = NodeCapacity({"east": seen})
    first = capacity.changes()
    seen.columns.put_pod("a/b", PodFacts("n1", (("cpu", 1000),)))
    assert capacity.changes() == first
    seen.columns.put_node("n1", FACTS._replace(unschedulable=True))
    assert capacity.changes() != first


def published(cpu: int, **labels: str) -> dict[str, Any]:
    node = Node(name="n1", labels=labels, allocatable={"cpu": cpu}, slots=10)
    of = {"apiVersion": "v1", "kind": "Cluster", "metadata": {"name": "east", "uid": "u"}}
    return wire(of, encode(NodeTable.of([node])), 1, "2026-01-01T00:00:00Z")


def test_what_an_agent_publishes_is_seen_while_its_cluster_is_ready_and_it_goes_on() -> None:
    capacity = NodeCapacity({})
    capacity.published("east", published(3000), NOW)
    assert free(capacity, NOW) == 3000
    assert not capacity.view(fleet(east=False), NOW).rooms
    assert not capacity.view(EAST, NOW + STALE_S).rooms
    capacity.published("east", published(2000), NOW + STALE_S)
    assert free(capacity, NOW + STALE_S + FRESH_S) == 2000
    capacity.published("east", None, NOW + STALE_S)
    assert not capacity.view(fleet(east=True), NOW + STALE_S).rooms


def test_what_is_watched_counts_more_than_what_was_published() -> None:
    capacity = NodeCapacity({"east": observed()})
    capacity.published("east", published(1), NOW)
    assert free(capacity, NOW) == 4000


def test_of_published_nodes_only_other_nodes_are_news() -> None:
    capacity = NodeCapacity({})
    capacity.published("east", published(3000), NOW)
    first = capacity.changes()
    capacity.published("east", published(2000), NOW)
    assert capacity.changes() == first
    capacity.published("east", published(2000, zone="a"), NOW)
    assert capacity.changes() != first


@pytest.mark.parametrize(
    "spec", [{}, {"traits": "x", "room": "y"}, {"traits": 7}], ids=["none", "bad", "no text"]
)
def test_what_cannot_be_read_has_no_say(spec: dict[str, Any]) -> None:
    capacity = NodeCapacity({})
    capacity.published("east", {"spec": spec}, NOW)
    assert not capacity.view(EAST, NOW).rooms
    assert not capacity.view(fleet(east=True), NOW).rooms
