"""The scheduler's turn over one binding: stories, and the laws of being interrupted."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placing_world import (
    DIVIDED,
    DUPLICATED,
    EVEN,
    NOW,
    WEIGHTED,
    World,
    make_binding,
    make_cluster,
    make_fleet,
    updates,
)

from atoll.dialects import json
from atoll.dialects.karmada import names
from atoll.dialects.karmada.ordinals import NOTED, noted
from atoll.dialects.karmada.standing import MARK
from atoll.model.action import NOTHING
from atoll.model.decision import Verdict
from atoll.model.ordinals import Range
from atoll.scheduling.trigger import Trigger

A, B, C = make_cluster("a"), make_cluster("b"), make_cluster("c")
GPU = {"clusterAffinity": {"labelSelector": {"matchLabels": {"gpu": "yes"}}}}
WITH_GPU = make_cluster("a", labels={"gpu": "yes"})
TERMS = {
    "clusterAffinities": [
        {"affinityName": "near", "clusterNames": ["a"]},
        {"affinityName": "far", "clusterNames": ["b"]},
    ]
}
SUCCESS = ("True", "Success", "Binding has been scheduled successfully.")


def placed_world(binding: dict[str, Any], *clusters: dict[str, Any]) -> World:
    """A world in which the binding is placed already, an hour ago."""
    world = World(binding, *clusters)
    world.settle()
    world.now += 3600
    world.writes = 0
    return world


def test_a_new_binding_is_placed_with_two_writes_and_two_events() -> None:
    world = World(make_binding(3), A)
    placing = world.settle()
    assert world.writes == 2
    assert world.targets == {"a": 3}
    assert world.condition == SUCCESS
    assert world.status["schedulerObservedGeneration"] == world.binding["metadata"]["generation"]
    assert world.status["lastScheduledTime"] == "2027-01-15T08:00:00Z"
    annotations = world.binding["metadata"]["annotations"]
    assert json.read(annotations[names.APPLIED_PLACEMENT]) == world.binding["spec"]["placement"]
    assert placing.trigger is Trigger.PLACEMENT_CHANGED
    assert placing.decision is not None
    said = "Binding has been scheduled successfully. Result: {a:3}"
    on_binding, on_template = world.told
    assert (on_binding.reason, on_binding.message) == ("ScheduleBindingSucceed", said)
    assert on_binding.about["kind"] == "ResourceBinding"
    assert on_template.about == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": "web", "uid": "u1"},
    }
    assert on_template.message == said


def test_a_cluster_binding_is_placed_alike() -> None:
    binding = make_binding(0)
    del binding["metadata"]["namespace"], binding["spec"]["replicaRequirements"]
    binding["kind"] = "ClusterResourceBinding"
    binding["metadata"]["labels"] = {names.CLUSTER_POLICY_ID: "id"}
    world = World(binding, A, B)
    world.settle()
    assert world.targets == {"a": 0, "b": 0}
    assert world.binding["spec"]["clusters"] == [{"name": "a"}, {"name": "b"}]


def without_labels(binding: dict[str, Any]) -> None:
    binding["metadata"]["labels"] = {}


def deleting(binding: dict[str, Any]) -> None:
    binding["metadata"]["deletionTimestamp"] = "2027-01-01T00:00:00Z"


def suspended(binding: dict[str, Any]) -> None:
    binding["spec"]["suspension"] = {"scheduling": True}


def for_another(binding: dict[str, Any]) -> None:
    binding["spec"]["schedulerName"] = "mine"


@pytest.mark.parametrize("change", [without_labels, deleting, suspended, for_another])
def test_a_binding_that_is_not_ours_is_left_alone(change: Any) -> None:
    binding = make_binding()
    change(binding)
    placing = World(binding, A).look()
    assert placing.plan is NOTHING
    assert placing.verdict is None


def test_one_that_only_another_controller_manages_is_placed_too() -> None:
    binding = make_binding()
    binding["metadata"]["labels"] = {names.BINDING_MANAGED_BY: "other"}
    binding["spec"] |= {"schedulerName": "default-scheduler", "suspension": {"dispatching": True}}
    assert World(binding, A).look().verdict is Verdict.SUCCESS


@pytest.mark.parametrize(
    ("edit", "expected", "targets"),
    [
        pytest.param({"replicas": 5}, Trigger.REPLICAS_CHANGED, {"a": 5}, id="scaled"),
        pytest.param(
            {
                "placement": {
                    "clusterAffinity": {"clusterNames": ["b"]},
                    "replicaScheduling": DIVIDED,
                }
            },
            Trigger.PLACEMENT_CHANGED,
            {"b": 3},
            id="placement-edited",
        ),
        pytest.param(
            {"atoll": {"clusters": {"clusterNames": ["b"]}}},
            Trigger.PLACEMENT_CHANGED,
            {"b": 3},
            id="additions-edited",
        ),
        pytest.param(
            {"rescheduleTriggeredAt": "2027-01-15T08:30:00Z"},
            Trigger.RESCHEDULE_TRIGGERED,
            {"a": 3},
            id="reschedule",
        ),
    ],
)
def test_what_a_user_edits_is_decided_anew(
    edit: dict[str, Any], expected: Trigger, targets: dict[str, int]
) -> None:
    world = placed_world(make_binding(3), A, make_cluster("b", 50))
    assert world.targets == {"a": 3}
    world.edit(**edit)
    placing = world.settle()
    assert placing.trigger is expected
    assert world.targets == targets
    assert world.writes <= 2
    assert world.status["lastScheduledTime"] == "2027-01-15T09:00:00Z"
    assert world.status["schedulerObservedGeneration"] == world.binding["metadata"]["generation"]


def test_additions_are_noted_inside_the_applied_placement() -> None:
    atoll = {"preferNoScheduleCost": 3}
    world = placed_world(make_binding(atoll=atoll), A)
    noted = json.read(world.binding["metadata"]["annotations"][names.APPLIED_PLACEMENT])
    assert noted == {**world.binding["spec"]["placement"], "atoll": atoll}
    assert world.look().plan is NOTHING


def test_a_spec_that_changes_in_what_does_not_matter_costs_one_write_and_no_event() -> None:
    world = placed_world(make_binding(3), A)
    world.told = []
    world.edit(conflictResolution="Overwrite")
    placing = world.settle()
    assert placing.decision is None
    assert [each.subresource for each in updates(placing.plan)] == ["status"]
    assert world.told == []
    assert world.status["lastScheduledTime"] == "2027-01-15T08:00:00Z"


def test_a_status_that_says_failed_is_corrected_once_the_cause_is_gone() -> None:
    world = placed_world(make_binding(3), make_cluster("a", 4))
    world.edit(replicas=9)
    world.settle()
    assert world.condition[1] == "Unschedulable"
    world.edit(replicas=3)
    assert world.settle().decision is None
    assert world.condition == SUCCESS


def test_who_finds_no_room_keeps_what_it_has_and_is_retried() -> None:
    world = placed_world(make_binding(3), make_cluster("a", 4))
    world.edit(replicas=9)
    placing = world.settle()
    assert placing.retry
    assert world.targets == {"a": 3}
    assert world.condition[:2] == ("False", "Unschedulable")
    for tell in world.told[-2:]:
        assert (tell.reason, tell.warning) == ("ScheduleBindingFailed", True)
    assert world.status["schedulerObservedGeneration"] == 2  # of the last that succeeded


def test_the_time_of_the_condition_moves_only_with_its_status() -> None:
    world = placed_world(make_binding(3), make_cluster("a", 4))
    world.edit(replicas=9)
    world.settle()
    world.now += 60
    world.edit(replicas=8)
    world.settle()
    (condition,) = world.status["conditions"]
    assert condition["lastTransitionTime"] == "2027-01-15T09:00:00Z"
    assert "8" in condition["message"] or condition["reason"] == "Unschedulable"


def test_a_term_that_is_full_gives_way_to_the_next_which_is_observed_from_then_on() -> None:
    world = placed_world(make_binding(5, placement=TERMS), make_cluster("a", 2), B)
    assert world.targets == {"b": 5}
    assert world.status["schedulerObservingAffinityName"] == "far"
    assert world.look().plan is NOTHING


def test_work_returns_to_an_earlier_term_only_where_the_policy_says_so() -> None:
    for atoll, expected in (({}, "far"), ({"failback": "WhenPossible"}, "near")):
        binding = make_binding(5, placement=TERMS, atoll=atoll)
        world = placed_world(binding, make_cluster("a", 2), B)
        assert world.targets == {"b": 5}
        assert (world.look().plan.again_in is None) == (not atoll)
        world.fleet = make_fleet(make_cluster("a", 4), B)
        world.settle()
        assert world.targets == {"b": 5}
        world.fleet = make_fleet(make_cluster("a", 5), B)
        placing = world.look()
        world.settle()
        assert world.status["schedulerObservingAffinityName"] == expected
        assert world.targets == ({"a": 5} if atoll else {"b": 5})
        assert placing.trigger is (Trigger.FAILBACK if atoll else Trigger.NONE)
        assert world.look().plan is NOTHING


def test_divided_work_follows_its_clusters_where_the_policy_says_so() -> None:
    env = {"clusterAffinity": {"labelSelector": {"matchLabels": {"env": "x"}}}}
    for atoll in ({}, {"reschedule": "OnClusterChange"}):
        binding = make_binding(4, placement=env, dividing=EVEN, atoll=atoll)
        both = [make_cluster(name, 9, labels={"env": "x"}) for name in "ab"]
        world = placed_world(binding, *both)
        assert world.targets == {"a": 2, "b": 2}
        world.fleet = make_fleet(both[0], make_cluster("b", 9))
        world.settle()
        assert world.targets == ({"a": 4} if atoll else {"a": 2, "b": 2})
        world.fleet = make_fleet(make_cluster("a", 9), make_cluster("b", 9))
        world.settle()
        assert world.targets == ({"a": 4} if atoll else {"a": 2, "b": 2})


def stateful(replicas: int, atoll: dict[str, Any]) -> dict[str, Any]:
    binding = make_binding(replicas, atoll=atoll, dividing=EVEN)
    binding["spec"]["resource"]["kind"] = "StatefulSet"
    return binding


def stateful_cluster(name: str, cpu: int) -> dict[str, Any]:
    cluster = make_cluster(name, cpu)
    cluster["status"]["apiEnablements"][0]["resources"] = [{"kind": "StatefulSet"}]
    return cluster


def ordinals_in(world):
    return noted(world.binding["metadata"].get("annotations") or {})


def test_the_ordinals_of_a_divided_stateful_set_are_noted_with_its_targets() -> None:
    clusters = [stateful_cluster("a", 4), stateful_cluster("b", 8)]
    world = placed_world(stateful(6, {"ordinals": {}}), *clusters)
    before = {each.cluster: each for each in ordinals_in(world) or ()}
    assert {name: each.count for name, each in before.items()} == world.targets == {"a": 2, "b": 4}
    assert sorted(number for each in before.values() for number in ordinals_of(each)) == [*range(6)]
    assert world.look().plan is NOTHING
    world.edit(replicas=8)
    world.settle()
    after = {each.cluster: each for each in ordinals_in(world) or ()}
    assert sorted(number for each in after.values() for number in ordinals_of(each)) == [*range(8)]
    world.edit(atoll={})
    world.settle()
    assert ordinals_in(world) is None


def test_ordinals_are_noted_where_everybody_can_read_them_and_again_when_that_is_lost() -> None:
    world = placed_world(stateful(3, {"ordinals": {}}), stateful_cluster("a", 9))
    note = '{"a":{"replicas":3,"start":0}}'
    assert world.binding["metadata"]["annotations"][NOTED] == note
    for junk in ("{", "[]", '{"a":{"start":-1,"replicas":2}}', '{"a":1}', None):
        annotations = {**world.binding["metadata"]["annotations"], NOTED: junk}
        annotations = {key: value for key, value in annotations.items() if value is not None}
        metadata = {**world.binding["metadata"], "annotations": annotations}
        world.binding = {**world.binding, "metadata": metadata}
        world.settle()
        assert world.binding["metadata"]["annotations"][NOTED] == note
        assert world.targets == {"a": 3}


def ordinals_of(given: Range) -> range:
    return range(given.start, given.end)


def test_a_stride_that_is_too_small_is_said() -> None:
    world = World(stateful(6, {"ordinals": {"stride": 2}}), stateful_cluster("a", 9))
    placing = world.settle()
    assert world.targets == {}
    assert world.condition[:2] == ("False", "SchedulerError")
    assert "stride" in world.condition[2]
    assert not placing.retry


# What runs is taken away only by order.


@pytest.mark.parametrize("dividing", [DUPLICATED, DIVIDED])
def test_an_edited_placement_that_nothing_fits_empties_the_targets(dividing: Any) -> None:
    world = placed_world(make_binding(2, dividing=dividing), A)
    world.edit(placement={**GPU, "replicaScheduling": dividing})
    placing = world.settle()
    assert placing.verdict is Verdict.NO_CLUSTER_FIT
    assert not placing.retry
    assert world.targets == {}
    assert "clusters" not in world.binding["spec"]
    status, reason, message = world.condition
    assert (status, reason) == ("False", "NoClusterFit")
    assert message.startswith("0/1 clusters are available: ")
    assert "stays" not in message


def test_a_cluster_that_loses_its_label_loses_no_work() -> None:
    binding = make_binding(2, dividing=DUPLICATED, placement=GPU)
    world = placed_world(binding, WITH_GPU)
    world.fleet = make_fleet(A)
    world.settle()
    assert world.targets == {"a": 2}
    assert world.writes == 1
    status, reason, message = world.condition
    assert (status, reason) == ("False", "NoClusterFit")
    assert message.startswith("0/1 clusters are available: ")
    assert message.endswith(" What runs stays, as no change of the policy ordered it away: a.")
    world.fleet = make_fleet(WITH_GPU)
    world.settle()
    assert world.condition == SUCCESS
    assert world.targets == {"a": 2}


def test_a_lost_note_of_what_was_applied_is_no_order() -> None:
    world = placed_world(make_binding(2, placement=GPU), WITH_GPU)
    metadata = {**world.binding["metadata"], "annotations": {}}
    world.binding = {**world.binding, "metadata": metadata}
    world.fleet = make_fleet(A)
    world.settle()
    assert world.targets == {"a": 2}


@pytest.mark.parametrize("cluster", [make_cluster("a", deleting=True), None], ids=["going", "gone"])
def test_work_leaves_a_cluster_that_goes_if_there_is_another(cluster: Any) -> None:
    world = placed_world(make_binding(2), A)
    leaving = [cluster] if cluster else []
    world.fleet = make_fleet(*leaving)
    world.settle()
    assert world.targets == {"a": 2}
    assert world.condition[1] in ("NoClusterFit", "Unschedulable")
    world.fleet = make_fleet(*leaving, B)
    assert world.settle().trigger is Trigger.TERMINATING_TARGET
    assert world.targets == {"b": 2}
    assert world.condition == SUCCESS


# What cannot be read.


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        ({"placement": None}, "spec.placement"),
        ({"placement": {"clusterTolerations": "all"}}, "clusterTolerations"),
        ({"atoll": {"prefre": []}}, "prefre"),
        ({"clusters": "a"}, "spec.clusters"),
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_moved(edit: dict[str, Any], word: str) -> None:
    world = placed_world(make_binding(2), A)
    world.edit(**edit)
    placing = world.settle()
    assert [each.subresource for each in updates(placing.plan)] == ["status"]
    assert world.condition[:2] == ("False", "SchedulerError")
    assert word in world.condition[2]
    assert not placing.retry


def test_junk_in_our_annotations_and_status_does_no_harm() -> None:
    world = placed_world(make_binding(2), A)
    for junk in (
        "",
        "{",
        "[]",
        '{"at": 3}',
        '{"at": "2027-01-15T08:00:00Z", "term": 7}',
    ):
        metadata = dict(world.binding["metadata"])
        metadata["annotations"] = {names.APPLIED_PLACEMENT: "{", MARK: junk}
        world.binding = {**world.binding, "metadata": metadata}
        assert world.look().plan is NOTHING
    world.binding = {**world.binding, "status": "fine"}
    assert world.settle().verdict is Verdict.SCHEDULER_ERROR
    assert world.condition == SUCCESS


# Laws.

FLEETS = st.lists(
    st.builds(
        lambda name, cpu, gpu: make_cluster(name, cpu, labels={"gpu": "yes"} if gpu else {}),
        st.sampled_from("abc"),
        st.integers(0, 9),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each["metadata"]["name"],
)
PLACEMENTS = st.builds(
    lambda affinity, dividing: {**affinity, "replicaScheduling": dividing},
    st.sampled_from([{}, GPU, TERMS, {"clusterAffinity": {"clusterNames": ["b"]}}]),
    st.sampled_from([DIVIDED, WEIGHTED, EVEN, DUPLICATED]),
)
SPECS = st.fixed_dictionaries({"placement": PLACEMENTS, "replicas": st.integers(0, 8)})
STORIES = st.lists(st.tuples(SPECS, FLEETS), min_size=1, max_size=4)


@settings(max_examples=100)
@given(STORIES, st.data())
def test_interrupted_anywhere_it_ends_the_same(story: Any, data: Any) -> None:
    """Two worlds live the same story; in one, every plan is cut short and made anew later."""
    calm, hasty = World(make_binding(), A), World(make_binding(), A)
    for spec, fleet in story:
        for world in (calm, hasty):
            world.edit(**spec)
            world.fleet = make_fleet(*fleet)
            world.now += 10
        calm.settle()
        placing = hasty.look()
        hasty.perform(placing.plan, data.draw(st.integers(0, len(placing.plan.actions))))
        hasty.settle()
        assert hasty.binding["spec"] == calm.binding["spec"]
        assert hasty.status == calm.status
        assert hasty.look().plan is NOTHING


@settings(max_examples=100)
@given(STORIES)
def test_at_most_two_writes_and_none_when_nothing_changed(story: Any) -> None:
    world = World(make_binding(), A)
    for spec, fleet in story:
        world.settle()
        world.edit(**spec)
        world.fleet = make_fleet(*fleet)
        world.now += 10
        world.writes = 0
        world.settle()
        assert world.writes <= 2
        world.now += 1000
        assert world.look().plan is NOTHING


@settings(max_examples=100)
@given(STORIES)
def test_what_runs_goes_only_by_order(story: Any) -> None:
    """Whatever becomes of the clusters: as long as nobody edits, no work ends up nowhere."""
    world = World(make_binding(2), make_cluster("a", 9, labels={"gpu": "yes"}))
    world.settle()
    for _, fleet in story:
        world.fleet = make_fleet(*fleet)
        world.settle()
        assert sum(world.targets.values()) == 2


def test_a_late_write_carries_the_version_it_was_decided_on() -> None:
    world = World(make_binding(), A)
    late = world.look()
    world.edit(replicas=7)
    assert all(each.object["metadata"]["resourceVersion"] == "1" for each in updates(late.plan))
    with pytest.raises(AssertionError, match="refused"):
        world.perform(late.plan)


def test_a_moment_is_written_in_whole_seconds() -> None:
    world = World(make_binding(), A)
    world.now = NOW + 0.999
    world.settle()
    assert world.status["lastScheduledTime"] == "2027-01-15T08:00:00Z"
