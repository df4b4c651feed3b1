"""Room just given away is not given twice."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from placing_world import DIVIDED, EVEN, NOW, World, make_binding, make_cluster, make_fleet

from atoll.control.scheduler.decide.ledger import ASSUMED_MOST, COUNTED, SETTLE, Held, Ledger
from atoll.control.scheduler.decide.surroundings import of_others
from atoll.dialects.karmada import binding as dialect
from atoll.dialects.karmada.standing import healthy_in
from atoll.model.amount import Amount
from atoll.model.demand import Demand
from atoll.scheduling.question import Surroundings

NONE = frozenset[str]()
AMOUNTS = st.sampled_from([Demand((("cpu", Amount(milli)),)) for milli in (100, 200)])


def place(ledger: Ledger[str], world: World, key: str, healthy: frozenset[str] = NONE) -> None:
    """One turn over a binding, as a scheduler takes it."""
    world.surroundings = Surroundings(assumed=ledger.assumed())
    placing = world.settle()
    if placing.decision is not None:
        ledger.assume(key, placing.decision, healthy, world.now)


def taken(ledger: Ledger[str]) -> dict[str, int]:
    """Pods assumed, by cluster."""
    return {
        each.cluster: sum(component.replicas for component in each.components)
        for each in ledger.assumed()
    }


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), min_size=1, max_size=3),
    st.sampled_from([DIVIDED, EVEN]),
)
def test_a_burst_never_overcommits_a_cluster(
    sizes: list[int], room: list[int], dividing: Any
) -> None:
    """Clusters report nothing meanwhile; still nobody is given more than there was."""
    ledger = Ledger[str]()
    clusters = [make_cluster(f"c{place}", cpu) for place, cpu in enumerate(room)]
    given_to = dict.fromkeys((f"c{place}" for place in range(len(room))), 0)
    refused = []
    for number, size in enumerate(sizes):
        binding = make_binding(size, name=f"w{number}", dividing=dividing)
        world = World(binding, *clusters)
        place(ledger, world, f"w{number}")
        for name, replicas in world.targets.items():
            given_to[name] += replicas
        if sum(world.targets.values()) < size:
            refused.append(size)
    for number, cpu in enumerate(room):
        assert given_to[f"c{number}"] <= cpu
    left = sum(room) - sum(given_to.values())
    assert all(size > left for size in refused), "refused although there was room"
    assert taken(ledger) == {name: count for name, count in given_to.items() if count}


def test_without_the_ledger_a_burst_would_overcommit() -> None:
    """Shows that the test above can fail."""
    total = 0
    for _ in range(3):
        world = World(make_binding(6), make_cluster("a", 10))
        world.settle()
        total += world.targets["a"]
    assert total == 18


def assumed_world() -> tuple[Ledger[str], World]:
    ledger, world = Ledger[str](), World(make_binding(3), make_cluster("a", 10))
    place(ledger, world, "w")
    assert taken(ledger) == {"a": 3}
    return ledger, world


def test_what_has_become_healthy_is_assumed_until_its_cluster_reports() -> None:
    ledger, _ = assumed_world()
    ledger.seen_healthy("w", NONE, NOW)
    ledger.reported("a", NOW)
    assert taken(ledger) == {"a": 3}
    ledger.seen_healthy("w", frozenset({"a"}), NOW + 1)
    ledger.seen_healthy("w", frozenset({"a"}), NOW + 3)
    assert taken(ledger) == {"a": 3}
    ledger.reported("b", NOW + 2)
    assert taken(ledger) == {"a": 3}
    ledger.reported("a", NOW + 2)
    assert taken(ledger) == {}


def test_a_cluster_that_has_nothing_new_to_report_has_counted_what_runs_well() -> None:
    ledger, _ = assumed_world()
    ledger.seen_healthy("w", frozenset({"a"}), NOW)
    ledger.expire(NOW + COUNTED - 1)
    assert taken(ledger) == {"a": 3}
    ledger.expire(NOW + COUNTED)
    assert taken(ledger) == {}


def test_health_from_before_a_scale_up_says_nothing_about_what_was_added() -> None:
    ledger, world = assumed_world()
    ledger.seen_healthy("w", frozenset({"a"}), NOW)
    ledger.reported("a", NOW)
    world.edit(replicas=5)
    place(ledger, world, "w", healthy=frozenset({"a"}))
    assert taken(ledger) == {"a": 2}
    ledger.seen_healthy("w", frozenset({"a"}), NOW + 1)
    ledger.reported("a", NOW + 2)
    assert taken(ledger) == {"a": 2}
    ledger.seen_healthy("w", NONE, NOW + 3)
    ledger.seen_healthy("w", frozenset({"a"}), NOW + 4)
    ledger.reported("a", NOW + 5)
    assert taken(ledger) == {}


def test_only_what_is_added_is_assumed_and_what_is_taken_away_is_not() -> None:
    ledger, world = assumed_world()
    for replicas in (5, 4):
        world.edit(replicas=replicas)
        place(ledger, world, "w")
        assert taken(ledger) == {"a": replicas}
    ledger.release("w")
    world.edit(replicas=2)
    place(ledger, world, "w")
    assert taken(ledger) == {}


def test_what_moves_is_assumed_where_it_goes_only() -> None:
    ledger, world = assumed_world()
    world.fleet = make_fleet(make_cluster("a", deleting=True), make_cluster("b"))
    place(ledger, world, "w")
    assert world.targets == {"b": 3}
    assert taken(ledger) == {"b": 3}


def test_a_report_counts_what_was_sent_well_before_it() -> None:
    ledger, _ = assumed_world()
    ledger.reported("a", NOW + SETTLE - 1)
    ledger.reported("b", NOW + SETTLE + 1)
    assert taken(ledger) == {"a": 3}
    ledger.reported("a", NOW + SETTLE)
    assert taken(ledger) == {}


def test_nothing_is_assumed_for_ever() -> None:
    ledger, _ = assumed_world()
    ledger.expire(NOW + ASSUMED_MOST - 1)
    assert taken(ledger) == {"a": 3}
    ledger.expire(NOW + ASSUMED_MOST)
    assert taken(ledger) == {}


def test_a_decision_that_is_not_carried_out_is_taken_back() -> None:
    ledger, world = assumed_world()
    before = ledger.held("w")
    world.edit(replicas=9)
    place(ledger, world, "w")
    assert taken(ledger) == {"a": 9}
    ledger.restore("w", before)
    assert taken(ledger) == {"a": 3}


def test_after_a_restart_what_does_not_run_yet_is_assumed_again() -> None:
    ledger, world = Ledger[str](), World(make_binding(3), make_cluster("a"))
    world.settle()
    found = dialect.decode(world.binding["spec"], world.status)
    ledger.recover("w", found, frozenset({"a"}), NOW)
    assert taken(ledger) == {}
    ledger.recover("w", found, NONE, NOW)
    ledger.recover("w", found, NONE, NOW)
    assert taken(ledger) == {"a": 3}


def test_health_is_read_from_the_aggregated_status() -> None:
    items = [
        {"clusterName": "a", "health": "Healthy"},
        {"clusterName": "b", "health": "Unhealthy"},
        "junk",
    ]
    binding = make_binding()
    assert healthy_in(binding) == NONE
    assert healthy_in({**binding, "status": {"aggregatedStatus": items}}) == frozenset({"a"})


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["place", "healthy", "release", "report", "expire"]),
            st.sampled_from("uv"),
            st.integers(0, 5),
        ),
        max_size=12,
    )
)
def test_the_sums_are_the_sums_of_what_is_held(calls: Any) -> None:
    ledger = Ledger[str]()
    worlds = {
        key: World(make_binding(1, name=key), make_cluster("a"), make_cluster("b")) for key in "uv"
    }
    for call, key, number in calls:
        world = worlds[key]
        world.now += 10
        if call == "place":
            world.edit(replicas=number)
            place(ledger, world, key)
        elif call == "healthy":
            ledger.seen_healthy(key, frozenset("ab"[:number]), world.now)
        elif call == "release":
            ledger.release(key)
        elif call == "report":
            ledger.reported("ab"[number % 2], world.now)
        else:
            ledger.expire(world.now + 10 * number)
    total = dict[str, int]()
    for key in "uv":
        for name, held in ledger.held(key).items():
            assert sum(held.amounts.values()) <= worlds[key].targets.get(name, 0)
            total[name] = total.get(name, 0) + sum(held.amounts.values())
    assert taken(ledger) == total


def test_the_same_work_in_many_namespaces_is_told_together() -> None:
    ledger = Ledger[str]()
    for number in range(5):
        binding = make_binding(1, name=f"w{number}")
        needs = {"resourceRequest": {"cpu": "1"}, "namespace": f"n{number}"}
        world = World({**binding, "spec": {**binding["spec"], "replicaRequirements": needs}})
        world.fleet = make_fleet(make_cluster("a", 100))
        place(ledger, world, f"w{number}")
    (assumed,) = ledger.assumed()
    assert {each.demand and each.demand.namespace for each in assumed.components} == {""}
    assert taken(ledger) == {"a": 5}
    for number in range(5):
        ledger.release(f"w{number}")
    assert not ledger.assumed()
    assert not ledger._accounts


def test_what_one_holds_itself_is_taken_off_once_of_what_is_assumed() -> None:
    ledger = Ledger[str]()
    for key, replicas in (("u", 3), ("v", 4), ("w", 5)):
        world = World(make_binding(replicas, name=key), make_cluster("a", 100))
        ledger.assumed()
        place(ledger, world, key)
    (left,) = of_others(ledger.assumed(), ledger.held("v"))
    assert left.sums.pods == 8
    assert sum(each.replicas for each in left.components) == 8


@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.dictionaries(AMOUNTS, st.integers(1, 3)))),
    st.data(),
)
def test_what_is_assumed_is_told_in_the_same_order_whoever_asked_in_between(
    holdings: list[tuple[str, dict[Demand, int]]], data: st.DataObject
) -> None:
    asked, unasked = Ledger[str](), Ledger[str]()
    for key, amounts in holdings:
        for ledger in (asked, unasked):
            ledger.restore(key, {"c": Held(amounts, NOW)} if amounts else {})
        if data.draw(st.booleans()):
            asked.assumed()
    assert asked.assumed() == unasked.assumed()
