"""The Works of a binding: every target has the right one, and a move sends before it withdraws."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendering_world import (
    CLUSTERS,
    MADE,
    MADE_S,
    Plane,
    make_binding,
    make_policy,
    make_template,
    sets,
    targets,
)

from atoll.control.works.decide.plan import MOVE_LIMIT_S
from atoll.dialects import json
from atoll.dialects.karmada import names
from atoll.dialects.karmada.ordinals import NOTED
from atoll.model.action import NOTHING, Create, Delete, Ref, Tell, Update

NAME = names.work_name("Deployment", "web", "shop")


def kinds(plan):
    """What a plan does, in words: the kind of action, and where."""
    found = []
    for action in plan.actions:
        match action:
            case Create():
                found.append(f"create {action.object['metadata']['namespace']}")
            case Update():
                ref = Ref.of(action.object)
                found.append(f"update {ref.namespace if ref.kind == 'Work' else ref.kind}")
            case Delete():
                found.append(f"delete {action.ref.namespace}")
    return found


def told(plan, *, warning):
    return [
        (Ref.of(each.about).kind, each.reason)
        for each in plan.actions
        if isinstance(each, Tell) and each.warning is warning
    ]


def messages(plan, reason):
    return [
        each.message for each in plan.actions if isinstance(each, Tell) and each.reason == reason
    ]


def settled(on, **spec):
    plane = Plane(make_template(), make_binding(on=on, **spec))
    plane.settle()
    return plane


def test_a_work_is_as_its_readers_know_it():
    policies = [
        make_policy("p", sets("/spec/x", 1)),
        make_policy("wide", sets("/y", 2), namespace=""),
    ]
    plane = Plane(make_template(), make_binding(on={"a": 4}), *policies)
    plane.perform()
    work = plane.work("a")
    assert work["apiVersion"] == "work.karmada.io/v1alpha1"
    metadata = work["metadata"]
    assert (metadata["namespace"], metadata["name"]) == ("karmada-es-a", NAME)
    assert metadata["finalizers"] == ["karmada.io/execution-controller"]
    assert metadata["labels"] == {
        "resourcebinding.karmada.io/permanent-id": "binding-id",
        "work.karmada.io/permanent-id": "new-id-0",
    }
    overriders = [sets("/spec/x", 1)["overriders"], sets("/y", 2)["overriders"]]
    assert metadata["annotations"] == {
        "resourcebinding.karmada.io/namespace": "shop",
        "resourcebinding.karmada.io/name": "web-deployment",
        "work.karmada.io/conflict-resolution": "abort",
        "policy.karmada.io/applied-overrides": json.written(
            [{"policyName": "p", "overriders": overriders[0]}]
        ),
        "policy.karmada.io/applied-cluster-overrides": json.written(
            [{"policyName": "wide", "overriders": overriders[1]}]
        ),
    }
    (manifest,) = work["spec"]["workload"]["manifests"]
    assert (manifest["spec"], manifest["y"]) == ({"replicas": 4, "x": 1}, 2)
    assert "uid" not in manifest["metadata"]
    assert work["spec"]["suspendDispatching"] is False
    assert work["spec"]["preserveResourcesOnDeletion"] is False


def test_works_have_ids_of_their_own_that_they_keep():
    plane = settled(["a", "b"])
    before = [plane.work(each)["metadata"]["labels"][names.WORK_ID] for each in "ab"]
    assert len(set(before)) == 2
    plane.respec(clusters=targets({"b": 5, "a": 1}))
    plane.settle()
    assert [plane.work(each)["metadata"]["labels"][names.WORK_ID] for each in "ab"] == before
    (manifest,) = plane.work("b")["spec"]["workload"]["manifests"]
    assert manifest["metadata"]["labels"][names.WORK_ID] == before[1]


def test_the_finalizer_and_the_id_are_written_before_anything_is_sent():
    binding = make_binding(on=["a"], finalizers=["other"])
    binding["metadata"]["labels"] = {}
    plane = Plane(make_template(), binding)
    plan = plane.perform()
    assert kinds(plan) == ["update ResourceBinding", "create karmada-es-a"]
    assert plane.binding["metadata"]["finalizers"] == ["other", names.BINDING_FINALIZER]
    assert plane.binding["metadata"]["labels"] == {names.BINDING_ID: "new-id"}
    assert plane.work("a")["metadata"]["labels"][names.BINDING_ID] == "new-id"


def test_success_is_told_once():
    plane = Plane(make_template(), make_binding(on=["a"]), make_policy("p", sets("/spec/x", 1)))
    plan = plane.perform()
    assert told(plan, warning=False) == [
        ("Deployment", "ApplyOverridePolicySucceed"),
        ("ResourceBinding", "SyncWorkSucceed"),
        ("Deployment", "SyncWorkSucceed"),
    ]
    assert messages(plan, "ApplyOverridePolicySucceed") == [
        "Apply override policy(shop/p) for cluster(a) succeed."
    ]
    assert plane.plan() == NOTHING


@pytest.mark.parametrize(
    ("suspension", "expected"),
    [
        pytest.param({"dispatching": True}, [True, True], id="everywhere"),
        pytest.param(
            {"dispatchingOnClusters": {"clusterNames": ["b"]}}, [False, True], id="in-one"
        ),
        pytest.param({"scheduling": True}, [False, False], id="of-decisions-only"),
    ],
)
def test_what_is_suspended_is_made_but_not_dispatched(suspension, expected):
    plane = settled(["a", "b"], suspension=suspension)
    assert [plane.work(each)["spec"]["suspendDispatching"] for each in "ab"] == expected


def test_a_binding_may_ask_that_objects_outlive_it():
    plane = settled(["a"], preserveResourcesOnDeletion=True)
    assert plane.work("a")["spec"]["preserveResourcesOnDeletion"] is True


def test_a_changed_template_updates_its_works_and_nothing_else():
    plane = settled(["a", "b"])
    plane.template = make_template(generation=4, spec={"replicas": 9, "paused": True})
    assert kinds(plane.perform()) == ["update karmada-es-a", "update karmada-es-b"]
    assert plane.plan() == NOTHING


def test_what_others_wrote_on_a_work_stays():
    plane = settled(["a"])
    work = plane.work("a")
    metadata = work["metadata"]
    labels, annotations = {"mine": "1"}, {"note": "x"}
    plane.world.put(
        {
            **work,
            "metadata": {
                **metadata,
                "labels": {**metadata["labels"], **labels},
                "annotations": {**metadata["annotations"], **annotations},
            },
        }
    )
    assert plane.plan() == NOTHING
    plane.respec(clusters=targets({"a": 2}))
    plane.settle()
    assert plane.work("a")["metadata"]["labels"]["mine"] == "1"
    assert plane.work("a")["metadata"]["annotations"]["note"] == "x"


def test_an_override_that_is_gone_is_no_longer_told():
    plane = Plane(make_template(), make_binding(on=["a"]), make_policy("p", sets("/spec/x", 1)))
    plane.settle()
    plane.policies = ()
    plane.settle()
    assert names.APPLIED_OVERRIDES not in plane.work("a")["metadata"]["annotations"]
    assert plane.work("a")["spec"]["workload"]["manifests"][0]["spec"] == {"replicas": 1}


def test_moving_a_workload_sends_before_it_withdraws():
    plane = settled(["a", "b"])
    plane.respec(clusters=targets(["b", "c"]))
    assert kinds(plane.perform()) == ["create karmada-es-c"]
    assert plane.plan().actions == ()
    plane.deliver("c", health="Unhealthy")
    assert plane.plan().actions == ()
    plane.deliver("c", health="")
    assert plane.plan().actions == (), "its health is yet to be told"
    plane.deliver("c")
    assert kinds(plane.perform()) == ["delete karmada-es-a"]
    assert plane.plan() == NOTHING


def test_where_health_is_not_known_it_is_enough_to_be_applied():
    plane = settled(["a"])
    plane.more = {"knows_health": False}
    plane.respec(clusters=targets(["b"]))
    plane.perform()
    plane.deliver("b", health="")
    assert kinds(plane.perform()) == ["delete karmada-es-a"]


def test_health_that_cannot_be_told_is_not_waited_for():
    plane = settled(["a"])
    plane.respec(clusters=targets(["b"]))
    plane.perform()
    plane.deliver("b", health="Unknown")
    assert kinds(plane.perform()) == ["delete karmada-es-a"]


def test_what_was_applied_before_the_last_change_has_not_arrived():
    plane = settled(["a", "b"])
    plane.respec(clusters=targets({"b": 2}))
    plane.perform()
    work = plane.work("b")
    applied = {"type": "Applied", "status": "True", "observedGeneration": 1}
    status = {**work["status"], "conditions": [applied]}
    metadata = {**work["metadata"], "generation": 2}
    plane.world.put({**work, "metadata": metadata, "status": status})
    assert plane.plan().actions == ()
    applied["observedGeneration"] = 2
    plane.world.put({**plane.work("b"), "status": {**status, "conditions": [applied]}})
    assert kinds(plane.perform()) == ["delete karmada-es-a"]


def test_after_the_time_for_a_move_the_old_copy_goes_anyway():
    plane = settled(["a"])
    plane.respec(clusters=targets(["b"]))
    plane.perform()
    plane.deliver("b", health="Unhealthy")
    plane.now = MADE_S + 100
    assert plane.plan().again_in == MOVE_LIMIT_S - 100
    plane.now = MADE_S + MOVE_LIMIT_S
    assert kinds(plane.perform()) == ["delete karmada-es-a"]


def test_the_time_for_a_move_begins_with_the_decision():
    plane = settled(["a", "b"])
    plane.world.put({**plane.binding, "status": {"lastScheduledTime": "2026-01-01T00:05:00Z"}})
    plane.deliver("b", health="Unhealthy")
    plane.respec(clusters=targets(["b"]))
    plane.now = MADE_S + MOVE_LIMIT_S
    assert plane.plan().actions == ()
    assert plane.plan().again_in == 300
    plane.now += 300
    assert kinds(plane.perform()) == ["delete karmada-es-a"]


def test_without_any_target_everything_is_withdrawn():
    plane = settled(["a", "b"])
    plane.respec(clusters=[])
    assert kinds(plane.perform()) == ["delete karmada-es-a", "delete karmada-es-b"]


def test_a_cluster_under_eviction_keeps_its_work_while_the_task_is_there():
    plane = settled(["a"])
    task = {"fromCluster": "a", "purgeMode": "Gracefully"}
    plane.respec(clusters=targets(["b"]), gracefulEvictionTasks=[task])
    plane.settle()
    assert plane.clusters() == {"a", "b"}
    plane.respec(gracefulEvictionTasks=[])
    plane.settle()
    assert plane.clusters() == {"b"}


@pytest.mark.parametrize("mode", ["Directly", "Immediately"])
def test_a_purge_withdraws_at_once_and_sends_when_the_old_copy_is_gone(mode):
    plane = settled(["a"])
    task = {"fromCluster": "a", "purgeMode": mode}
    plane.respec(clusters=targets(["b"]), gracefulEvictionTasks=[task])
    assert kinds(plane.perform()) == ["delete karmada-es-a"]
    assert plane.plan().actions == ()
    plane.deliver()
    assert kinds(plane.perform()) == ["create karmada-es-b"]


def test_a_purge_of_a_lost_cluster_holds_the_new_copy_up_only_so_long():
    plane = settled(["a"])
    task = {"fromCluster": "a", "purgeMode": "Directly"}
    plane.respec(clusters=targets(["b"]), gracefulEvictionTasks=[task])
    plane.perform()
    plane.now = MADE_S + 10
    assert plane.plan().again_in == MOVE_LIMIT_S - 10
    plane.now = MADE_S + MOVE_LIMIT_S
    assert kinds(plane.perform()) == ["create karmada-es-b"]
    assert plane.plan() == NOTHING


def test_a_binding_that_goes_takes_its_works_with_it():
    plane = settled(["a", "b"])
    plane.world.remove(plane.ref)
    wanted = ["delete karmada-es-a", "delete karmada-es-b", "update ResourceBinding"]
    assert kinds(plane.perform()) == wanted
    assert plane.binding is None
    plane.deliver()
    assert plane.world.all("Work") == []


def test_a_binding_that_is_held_by_others_only_is_left_to_them():
    binding = make_binding(on=["a"], finalizers=["other"])
    binding["metadata"]["deletionTimestamp"] = MADE
    assert Plane(make_template(), binding).plan() == NOTHING


def test_a_template_out_of_sight_changes_nothing():
    plane = settled(["a", "b"])
    plane.template = None
    plane.respec(clusters=targets(["c"]))
    assert plane.plan() == NOTHING


@pytest.mark.parametrize("ordinals", [None, {}], ids=["whole", "by-ordinals"])
def test_the_binding_of_one_that_is_gone_sends_nothing_of_another_of_its_name(ordinals) -> None:
    template = make_template("StatefulSet")
    binding = make_binding(template, on=["a"], atoll={"ordinals": ordinals})
    binding["metadata"]["annotations"] = {NOTED: '{"a":{"start":0,"replicas":1}}'}
    binding["spec"]["resource"]["uid"] = "template-uid"
    plane = Plane(template, binding)
    plane.perform()
    sent = plane.work("a")
    assert sent is not None
    plane.template = make_template("StatefulSet", uid="another", labels={"new": "yes"})
    assert plane.plan() == NOTHING
    assert plane.work("a") == sent


def test_a_work_that_is_going_is_made_anew_when_it_is_gone():
    plane = settled(["a"])
    plane.world.remove(Ref.of(plane.work("a")))
    assert plane.plan() == NOTHING
    plane.deliver()
    assert kinds(plane.perform()) == ["create karmada-es-a"]


def test_what_is_taken_back_from_a_cluster_that_leaves_is_not_sent_there_anew():
    plane = settled(["a"])
    plane.world.remove(Ref.of(plane.work("a")))
    plane.deliver()
    plane.fleet = {**CLUSTERS, "a": replace(CLUSTERS["a"], deleting=True)}
    assert plane.plan() == NOTHING
    plane.fleet = CLUSTERS
    assert kinds(plane.perform()) == ["create karmada-es-a"]


def test_an_override_that_fails_in_one_cluster_is_told_and_the_others_go_on():
    policy = make_policy("p", sets("/spec/none/x", 1, clusterNames=["b"]))
    plane = Plane(make_template(), make_binding(on=["a", "b"]), policy)
    plan = plane.perform()
    assert kinds(plan) == ["create karmada-es-a"]
    assert told(plan, warning=True) == [
        ("Deployment", "ApplyOverridePolicyFailed"),
        ("OverridePolicy", "ApplyOverridePolicyFailed"),
        ("ResourceBinding", "SyncWorkFailed"),
        ("Deployment", "SyncWorkFailed"),
    ]
    reason = (
        "OverridePolicy shop/p: spec.overrideRules[0].overriders.plaintext[0].path: "
        "'/spec/none/x': /spec has no field 'none'"
    )
    assert (
        messages(plan, "ApplyOverridePolicyFailed")
        == [f"Apply override policy(shop/p) for cluster(b) failed: {reason}"] * 2
    )
    assert messages(plan, "SyncWorkFailed") == [f"cluster b: {reason}"] * 2
    assert kinds(plane.plan()) == []


def test_what_cannot_be_rendered_any_more_stays_as_it_was_and_holds_withdrawals_up():
    plane = settled(["a", "b"])
    plane.policies = (make_policy("p", sets("/spec/none/x", 1), namespace=""),)
    plane.respec(clusters=targets(["b"]))
    plan = plane.perform()
    assert kinds(plan) == []
    assert messages(plan, "ApplyOverridePolicyFailed")[0].startswith(
        "Apply cluster override policy(p) for cluster(b) failed: "
    )
    assert plane.clusters() == {"a", "b"}


def test_a_cluster_that_does_not_exist_is_told():
    plan = Plane(make_template(), make_binding(on=["a", "nowhere"])).perform()
    assert kinds(plan) == ["create karmada-es-a"]
    assert messages(plan, "SyncWorkFailed")[0] == (
        "cluster nowhere: spec.clusters: 'nowhere': there is no such cluster"
    )


def test_the_work_of_another_binding_is_never_touched():
    other = make_binding(make_template(name="other"), on=["a"])
    plane = Plane(make_template(name="other"), other)
    plane.settle()
    work = plane.work("a")
    plane = Plane(make_template(), make_binding(on=["a", "b"]))
    plane.world.put({**work, "metadata": {**work["metadata"], "name": NAME}})
    foreign = plane.work("a")
    foreign["metadata"]["labels"][names.BINDING_ID] = "other-id"
    plan = plane.perform()
    assert kinds(plan) == ["create karmada-es-b"]
    assert messages(plan, "SyncWorkFailed")[0] == (
        f"cluster a: the Work: 'Work karmada-es-a/{NAME}': "
        "another object's Work stands there; rename one of the two objects"
    )
    plane.world.remove(plane.ref)
    assert "delete karmada-es-a" not in kinds(plane.perform())


def test_the_work_of_a_binding_that_had_the_name_before_is_taken_over():
    plane = settled(["a", "b"])
    binding = make_binding(on=["a"])
    binding["metadata"]["labels"] = {names.BINDING_ID: "next-id"}
    plane.world.put(binding)
    plane.settle()
    assert plane.clusters() == {"a"}
    assert plane.work("a")["metadata"]["labels"][names.BINDING_ID] == "next-id"


def test_an_object_that_an_override_renames_leaves_no_work_behind():
    plane = settled(["a"])
    plane.policies = (make_policy("p", sets("/metadata/name", "web2")),)
    plane.settle()
    (work,) = plane.world.all("Work")
    assert work["metadata"]["name"] == names.work_name("Deployment", "web2", "shop")


TARGETS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3))
TASKS = st.lists(
    st.fixed_dictionaries(
        {
            "fromCluster": st.sampled_from("abcd"),
            "purgeMode": st.sampled_from(["Directly", "Gracefully"]),
        }
    ),
    max_size=2,
)
STEPS = st.lists(st.tuples(TARGETS, TASKS), min_size=1, max_size=3)
POLICY = make_policy("p", sets("/spec/x", 1, labelSelector={"matchLabels": {"site": "west"}}))


def make_plane():
    return Plane(make_template(), make_binding(finalizers=()), POLICY)


@given(STEPS)
def test_in_the_end_the_targets_and_no_others_have_works_and_nothing_is_left_to_do(steps):
    plane = make_plane()
    for on, tasks in steps:
        plane.respec(clusters=targets(on), gracefulEvictionTasks=tasks)
        before = plane.clusters()
        plane.settle()
        kept = {each["fromCluster"] for each in tasks if each["purgeMode"] == "Gracefully"}
        purged = {each["fromCluster"] for each in tasks if each["purgeMode"] == "Directly"}
        assert plane.clusters() == set(on) | (before & kept - purged)
        assert plane.plan() == NOTHING


@settings(max_examples=60)
@given(STEPS, st.lists(st.integers(0, 3), max_size=6))
def test_a_plan_interrupted_anywhere_and_made_anew_reaches_the_same_end(steps, stops):
    whole, broken = make_plane(), make_plane()
    for on, tasks in steps:
        for plane in (whole, broken):
            plane.respec(clusters=targets(on), gracefulEvictionTasks=tasks)
        for stop in stops:
            broken.perform(stop)
            broken.deliver()
        whole.settle()
        broken.settle()
        assert broken.world.contents() == whole.world.contents()


@given(STEPS, st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=6))
def test_at_every_moment_of_a_move_all_old_copies_or_all_new_ones_are_there(steps, moments):
    plane = make_plane()
    for on, _ in steps:
        before = plane.clusters()
        plane.respec(clusters=targets(on))
        for stop, arrives in moments:
            plane.perform(stop)
            assert plane.clusters() >= before or plane.clusters() >= set(on)
            if arrives:
                plane.deliver()
        plane.settle()
        assert plane.clusters() == set(on)
