"""What members are planned with: room, progress, nodes and quantities, as plain functions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.errors import Invalid
from atoll.simulated.fleets import Pool
from atoll.simulated.nodes import Nodes, fleet_nodes
from atoll.simulated.pods import Pods
from atoll.simulated.progress import Batch, Progress, advanced
from atoll.simulated.quantities import written_amounts
from atoll.simulated.room import Room
from atoll.simulated.workloads import PLANS, status

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:05:00Z"

wishes = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(0, 5), st.integers(0, 12)),
    max_size=20,
)


@given(wishes, st.integers(0, 30), st.integers(0, 30))
def test_room_is_never_given_twice_and_never_withheld(wishes, cpu, slots):
    room = Room()
    room.resize({"cpu": cpu, "pods": slots})
    last = {}
    for key, need, size, wanted in wishes:
        last[key] = (need * size, wanted)
        room.give(key, (("cpu", need * size), ("pods", 1)), wanted)
    taken = room.taken()
    assert taken.get("cpu", 0) <= cpu
    assert taken.get("pods", 0) <= slots
    for key in room.waiting():
        need, wanted = last[key]
        has = room.give(key, (("cpu", need), ("pods", 1)), wanted)
        taken = room.taken()
        full = taken.get("pods", 0) == slots
        assert has == wanted or full or cpu - taken.get("cpu", 0) < need
    for key in last:
        room.give_back(key)
    assert (room.taken(), room.missing(), room.waiting()) == ({}, {}, [])


def test_those_who_came_last_lose_their_room_first():
    room = Room()
    room.resize({"pods": 10})
    assert [room.give(key, (("pods", 1),), 4) for key in "abc"] == [4, 4, 2]
    assert room.resize({"pods": 5}) == ["b", "c"]
    assert [room.given(key) for key in "abc"] == [4, 1, 0]
    assert room.missing() == {"pods": 7}


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("xy"), st.integers(0, 20))))
def test_progress_never_has_more_than_it_was_given_and_gets_there_in_time(steps):
    now, progress = 0.0, Progress("")
    for count, template, pause in steps:
        target = Progress(template, (Batch(now + 10.0, count),))
        progress = advanced(progress, target, now)
        assert progress.count == count
        assert 0 <= progress.ready(now) + progress.older(now) <= count
        assert advanced(progress, target, now) == progress
        end = now + 10.0
        assert (progress.ready(end), progress.older(end)) == (count, 0)
        assert progress.next_at(end) is None
        now += pause


def _workload(kind, **found):
    spec = {"template": {"spec": {}}, "replicas": 3}
    return {"kind": kind, "metadata": {"name": "w", "generation": 1}, "spec": spec, **found}


@pytest.mark.parametrize("kind", sorted(PLANS))
@given(st.integers(0, 5), st.integers(0, 5))
def test_a_status_once_written_is_not_written_again(kind, wanted, ready):
    ready = min(wanted, ready)
    pods = Pods(wanted, ready, ready, wanted)
    first = status(_workload(kind), pods, NOW)
    if first is not None:
        assert status(_workload(kind, status=first), pods, LATER) is None


def test_a_condition_keeps_the_time_of_its_last_change():
    first = status(_workload("Deployment"), Pods(3, 3, 0, 3), NOW)
    later = status(_workload("Deployment", status=first), Pods(3, 3, 3, 3), LATER)
    available, progressing = later["conditions"]
    assert (available["lastTransitionTime"], available["lastUpdateTime"]) == (LATER, LATER)
    assert (progressing["lastTransitionTime"], progressing["lastUpdateTime"]) == (NOW, LATER)


def test_other_kinds_have_no_status_of_ours():
    assert status({"kind": "ConfigMap", "metadata": {"name": "w"}}, Pods(), NOW) is None


@pytest.mark.parametrize(
    ("rolling", "ready", "is_available"),
    [
        pytest.param({}, 3, True, id="a quarter of 4 may be missing"),
        pytest.param({}, 2, False, id="but no more"),
        pytest.param({"maxUnavailable": 3}, 1, True, id="as a number"),
        pytest.param({"maxUnavailable": "50%"}, 2, True, id="as a share"),
        pytest.param({"maxUnavailable": 0, "maxSurge": 1}, 3, False, id="none"),
        pytest.param({"maxUnavailable": "0%", "maxSurge": "0%"}, 3, True, id="one at least"),
    ],
)
def test_a_deployment_is_available_with_as_many_as_may_be_missing(rolling, ready, is_available):
    workload = _workload("Deployment")
    workload["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    found = status(workload, Pods(4, ready, ready, 4), NOW)
    assert (found["conditions"][0]["status"] == "True") == is_available


def test_ordered_pods_are_made_one_after_the_other():
    found = status(_workload("StatefulSet"), Pods(3, 3, 1, 3), NOW)
    assert (found["replicas"], found["readyReplicas"]) == (2, 1)


def test_the_nodes_of_a_fleet_are_numbered_through_and_offer_their_sum():
    fleet = (Pool(count=2, cpu="4", zone="a", labels={"disk": "fast"}), Pool(count=1, cpu="500m"))
    found = fleet_nodes(fleet, NOW)
    assert [node["metadata"]["name"] for node in found] == ["node-1", "node-2", "node-3"]
    assert found[0]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "a"
    nodes = Nodes(found)
    assert nodes.capacity() == {"cpu": 8500, "memory": 3 * 256 * 2**30, "pods": 750}
    assert (nodes.count, nodes.ready_count) == (3, 3)


def test_a_fleet_with_a_quantity_that_is_none_is_refused_by_name():
    with pytest.raises(Invalid, match="fleet: memory: 'lots'"):
        fleet_nodes((Pool(memory="lots"),), NOW)


def test_amounts_are_written_in_the_largest_whole_unit():
    amounts = {
        "cpu": 1500,
        "memory": 3 * 2**29,
        "pods": 3000,
        "nvidia.com/gpu": 7,
        "hugepages-2Mi": 2**21,
        "ephemeral-storage": 1000,
    }
    assert written_amounts(amounts) == {
        "cpu": "1500m",
        "memory": "1536Mi",
        "pods": "3k",
        "nvidia.com/gpu": "7",
        "hugepages-2Mi": "2Mi",
        "ephemeral-storage": "1000",
    }
    assert written_amounts({"cpu": 2_000_000}) == {"cpu": "2k"}
