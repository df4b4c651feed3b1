"""What members are planned with: nodes, places, moulds, neighbours and numbers, as functions."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.dialects.kubernetes.quantities import written_amounts
from atoll.errors import Invalid
from atoll.simulated.allotment import Allotment, address, number_of
from atoll.simulated.fleets import Pool
from atoll.simulated.nodes import fleet_nodes
from atoll.simulated.places import Places
from atoll.simulated.plans.deployments import Share, proportional
from atoll.simulated.plans.moulds import Moulds
from atoll.simulated.plans.revisions import template_hash
from atoll.simulated.plans.setting import share

NOW = "2026-01-01T00:00:00Z"


def _completed(pod):
    pod["status"] = {"qosClass": "Burstable"}


def mould(cpu="1", labels=None, **spec):
    container = {"name": "web", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": labels or {}}, "spec": {"containers": [container], **spec}}
    return Moulds(_completed).of(template, "default")


def places(*pools):
    found = Places()
    found.renew(fleet_nodes(pools, NOW))
    return found


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=25),
)
def test_a_node_is_never_given_more_than_it_has_and_never_withheld(nodes, pods):
    room = places(*(Pool(count=1, cpu=str(cpu), pods=slots) for cpu, slots in nodes))
    left = {f"node-{n}": list(each) for n, each in enumerate(nodes, start=1)}
    placed = {}
    for number, (cpu, stays) in enumerate(pods):
        one = mould(f"{cpu}")
        node = room.choose(one, "default")
        fits = [name for name, (free, slots) in left.items() if free >= cpu and slots >= 1]
        assert (node is not None) == bool(fits)
        if node is None:
            assert room.refusal(one, "default").startswith(f"0/{len(nodes)} nodes are available: ")
            continue
        assert node in fits
        room.take(f"default/{number}", node, one)
        left[node][0] -= cpu
        left[node][1] -= 1
        placed[number] = (node, cpu)
        if not stays:
            node, cpu = placed.pop(number)
            assert room.give_back(f"default/{number}")
            left[node][0] += cpu
            left[node][1] += 1
    assert sum(room.used_on(name)["pods"] for name in room.nodes) == len(placed)


def test_pods_go_where_most_is_left_and_to_the_first_of_equals():
    room = places(Pool(count=2, cpu="4"), Pool(count=1, cpu="8"))
    found = []
    for number in range(5):
        one = mould("2")
        found.append(room.choose(one, "default"))
        room.take(f"default/{number}", found[-1], one)
    assert found == ["node-3", "node-1", "node-2", "node-3", "node-3"]


REFUSALS = {
    "resources": (mould("9"), "0/2 nodes are available: 2 Insufficient cpu."),
    "selector": (
        mould(nodeSelector={"disk": "fast"}),
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    ),
    "unknown resource": (
        Moulds(_completed).of(
            {
                "spec": {
                    "containers": [
                        {"name": "a", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
                    ]
                }
            },
            "default",
        ),
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
    ),
}


@pytest.mark.parametrize(("pod", "said"), REFUSALS.values(), ids=REFUSALS)
def test_why_no_node_takes_a_pod_is_told_in_kubernetes_words(pod, said):
    room = places(Pool(count=2, cpu="4"))
    assert room.choose(pod, "default") is None
    assert room.refusal(pod, "default") == said


def test_taints_and_closed_nodes_are_told_apart():
    nodes = fleet_nodes((Pool(count=3, taints=("gpu=a100:NoSchedule",)),), NOW)
    nodes[0]["spec"] = {"unschedulable": True}
    room = Places()
    room.renew(nodes)
    assert room.refusal(mould(), "default") == (
        "0/3 nodes are available: 1 node(s) were unschedulable,"
        " 2 node(s) had untolerated taint {gpu: a100}."
    )
    tolerant = mould(tolerations=[{"key": "gpu", "operator": "Exists"}])
    assert room.choose(tolerant, "default") == "node-2"


def _term(kind, topology, **labels):
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    term = {"topologyKey": topology, "labelSelector": {"matchLabels": labels}}
    return {"affinity": {kind: {required: [term]}}}


HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def test_pods_that_keep_apart_have_a_node_each_and_others_stay_away_from_them():
    room = places(Pool(count=2))
    lonely = mould(labels={"app": "a"}, **_term("podAntiAffinity", HOST, app="a"))
    for name, node in (("a1", "node-1"), ("a2", "node-2")):
        assert room.choose(lonely, "default") == node
        room.take(f"default/{name}", node, lonely)
    assert room.choose(lonely, "default") is None
    assert "2 node(s) didn't match pod anti-affinity rules" in room.refusal(lonely, "default")
    plain = mould(labels={"app": "a"})
    assert room.choose(plain, "default") is None
    said = "2 node(s) didn't satisfy existing pods anti-affinity rules"
    assert said in room.refusal(plain, "default")
    assert room.choose(plain, "elsewhere") is not None


def test_pods_that_want_to_be_near_go_where_the_others_are():
    room = places(Pool(count=1, zone="a"), Pool(count=2, zone="b"))
    near = mould(labels={"app": "b"}, **_term("podAffinity", ZONE, app="a"))
    assert room.choose(near, "default") is None
    room.take("default/a", "node-2", mould(labels={"app": "a"}))
    assert room.choose(near, "default") == "node-3"
    own = mould(labels={"app": "c"}, **_term("podAffinity", HOST, app="c"))
    first = room.choose(own, "default")
    room.take("default/c1", first, own)
    assert room.choose(own, "default") == first


def test_pods_are_spread_evenly_where_that_is_asked_for():
    room = places(Pool(count=3, zone="a"), Pool(count=1, zone="b", cpu="8"))
    even = mould(
        labels={"app": "a"},
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
            }
        ],
    )
    zones = []
    for number in range(6):
        node = room.choose(even, "default")
        room.take(f"default/{number}", node, even)
        zones.append("b" if node == "node-4" else "a")
    assert zones.count("a") == zones.count("b") == 3


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), max_size=40))
def test_no_number_is_held_twice_and_the_same_asks_for_the_same(steps):
    numbers, held = Allotment(9), {}
    for holder, stays in steps:
        number = numbers.give(holder)
        assert held.get(holder, number) == number
        held[holder] = number
        if not stays:
            numbers.release(holder)
            del held[holder]
        assert len(set(held.values())) == len(held)


@given(st.integers(0, (1 << 18) - 1))
def test_addresses_are_found_by_their_number(number):
    assert number_of((10, 244), address((10, 244), number)) == number


def test_what_is_no_address_of_a_network_has_no_number():
    written = ("", "None", "10.1.2.3", "fd00::1", "10.244.1")
    assert [number_of((10, 244), one) for one in written] == [-1] * 5


def test_equal_templates_have_equal_names():
    assert template_hash({"a": 1, "b": 2}) == template_hash({"b": 2, "a": 1})
    assert template_hash({"a": 1}) != template_hash({"a": 2})


@pytest.mark.parametrize(
    ("asked", "up", "expected"),
    [(3, True, 3), ("25%", True, 2), ("25%", False, 1), ("0%", True, 0), (None, True, 0)],
)
def test_a_share_is_a_number_or_so_many_percent(asked, up, expected):
    assert share(asked, 5, up=up) == expected


def test_the_nodes_of_a_fleet_are_numbered_through_and_offer_their_sum():
    fleet = (Pool(count=2, cpu="4", zone="a", labels={"disk": "fast"}), Pool(count=1, cpu="500m"))
    found = fleet_nodes(fleet, NOW)
    assert [node["metadata"]["name"] for node in found] == ["node-1", "node-2", "node-3"]
    assert found[0]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "a"
    room: Counter[str] = Counter()
    for node in places(*fleet).nodes.values():
        room.update({**node.allocatable, "pods": node.slots})
    assert room == {"cpu": 8500, "memory": 3 * 256 * 2**30, "pods": 750}


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


@pytest.mark.parametrize(
    ("before", "allowed", "after"),
    [
        ((8, 5), 33, (20, 13)),
        ((20, 13), 13, (8, 5)),
        ((1, 1, 1), 4, (1, 1, 2)),
        ((3, 3), 0, (0, 0)),
    ],
    ids=["up", "down", "the newest first", "to none"],
)
def test_what_is_scaled_while_it_rolls_keeps_its_proportions(before, allowed, after):
    shares = [Share(str(at), each, sum(before)) for at, each in enumerate(before)]
    assert tuple(proportional(shares, allowed)[one.uid] for one in shares) == after


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=5), st.integers(0, 300), st.integers(1, 300)
)
def test_shares_always_come_to_what_is_allowed(before, allowed, most):
    shares = [Share(str(at), each, most) for at, each in enumerate(before)]
    sizes = proportional(shares, allowed)
    assert all(size >= 0 for size in sizes.values())
    assert sum(sizes.values()) == allowed
