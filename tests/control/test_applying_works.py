"""From a Work to objects in its member and back: the stories a user would tell."""

import copy
from typing import Any

import pytest
from working_plane import (
    FOREIGN,
    NOW,
    OBJECT,
    QUESTIONS,
    WORK,
    Plane,
    health,
    manifest,
    retain,
    work,
)

from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide.applying import Attempt, version_of
from atoll.control.delivery.decide.reflecting import Questions
from atoll.control.patience import Waited
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import works
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Create, Delete, Plan, Ref, Update
from atoll.wire import Wire

APPLIED = ("True", "AppliedSuccessful", "Manifest has been successfully applied")


def test_an_object_is_created_and_all_there_is_to_say_is_said_in_one_write() -> None:
    plane = Plane()
    assert plane.settle() == 2  # the object; the Work's status
    assert plane.object is not None
    assert plane.object["spec"] == {"replicas": 2}
    assert plane.condition("Applied") == APPLIED
    assert plane.condition("Dispatching") == (
        "True",
        "Dispatching",
        "Work is being dispatched to member clusters.",
    )
    assert plane.work["status"]["manifestStatuses"] == [
        {
            "identifier": {
                "ordinal": 0,
                "group": "apps",
                "version": "v1",
                "kind": "Deployment",
                "resource": "",
                "namespace": "shop",
                "name": "web",
            },
            "health": "Unhealthy",
        }
    ]


def test_a_member_that_becomes_ready_costs_one_write() -> None:
    plane = Plane()
    plane.settle()
    assert plane.object is not None
    plane.world.put({**plane.object, "status": {"ready": True}}, "m1")
    assert plane.settle() == 1
    entry = plane.work["status"]["manifestStatuses"][0]
    assert (entry["health"], entry["status"]) == ("Healthy", {"ready": True})


def test_a_script_that_forgets_the_version_does_not_make_a_write_unconditional() -> None:
    plane = Plane()
    plane.settle()
    observed = plane.object or {}
    plane.change(work(manifest(replicas=5)))

    def forgetful(desired: Wire, _observed: Wire) -> Wire:
        metadata = {key: desired["metadata"][key] for key in ("namespace", "name", "labels")}
        return {**desired, "metadata": {**metadata, "uid": "of-the-script"}}

    seen = working.SeenWork(
        works.decode(plane.work), True, forgetful, QUESTIONS, {OBJECT: observed}
    )
    write = next(each for each in working.plan(seen, NOW).actions if isinstance(each, Update))
    kept = {key: observed["metadata"][key] for key in ("uid", "resourceVersion")}
    assert write.at == "m1"
    assert {key: write.object["metadata"][key] for key in kept} == kept


def test_applied_says_of_which_state_of_the_work_it_was_found() -> None:
    plane = Plane()
    for generation in (1, 2):
        fresh = work(manifest(replicas=generation))
        plane.change({**fresh, "metadata": {**fresh["metadata"], "generation": generation}})
        plane.settle()
        known = plane.work["status"]["conditions"]
        assert [each.get("observedGeneration") for each in known] == [None, generation]


DRIFTS = [
    pytest.param(lambda o: {**o, "spec": {"replicas": 9}}, id="a field of ours is changed"),
    pytest.param(lambda o: {**o, "spec": {}}, id="a field of ours is removed"),
    pytest.param(lambda o: {**o, "spec": {**o["spec"], "more": 1}}, id="a field is added"),
    pytest.param(
        lambda o: {**o, "metadata": {**o["metadata"], "labels": {names.MANAGED: "true"}}},
        id="a label of ours is removed",
    ),
    pytest.param(
        lambda o: {**o, "metadata": {**o["metadata"], "annotations": {}}},
        id="the annotations that say whose it is are removed",
    ),
]


@pytest.mark.parametrize("drift", DRIFTS)
def test_drift_in_a_member_is_corrected(drift: Any) -> None:
    plane = Plane()
    plane.settle()
    before = plane.world.contents()
    plane.world.put(drift(plane.object), "m1")
    plane.settle()
    assert plane.world.contents() == before


def test_an_object_deleted_in_a_member_is_made_anew_without_a_word() -> None:
    plane = Plane()
    plane.settle()
    before = plane.world.contents()
    plane.world.remove(OBJECT, "m1")
    assert plane.settle() == 1
    assert plane.world.contents() == before


def test_what_the_member_adds_is_kept() -> None:
    plane = Plane()
    plane.settle()
    assert plane.object is not None
    metadata = {
        **plane.object["metadata"],
        "labels": {**plane.object["metadata"]["labels"], "theirs": "yes"},
        "finalizers": ["someone/else"],
        "ownerReferences": [{"uid": "1"}],
    }
    spec = {**plane.object["spec"], "kept": "10.0.0.1"}
    plane.world.put({**plane.object, "metadata": metadata, "spec": spec}, "m1")
    plane.change(work(manifest(replicas=5)))
    plane.settle()
    assert plane.object["spec"] == {"replicas": 5, "kept": "10.0.0.1"}
    assert plane.object["metadata"]["labels"]["theirs"] == "yes"
    assert plane.object["metadata"]["finalizers"] == ["someone/else"]
    assert plane.object["metadata"]["ownerReferences"] == [{"uid": "1"}]


def test_a_label_taken_off_the_template_is_taken_off_the_object() -> None:
    plane = Plane(work(manifest({"tier": "gold"}, {"note": "x"})))
    plane.settle()
    plane.change(work(manifest()))
    plane.settle()
    assert plane.object is not None
    assert "tier" not in plane.object["metadata"]["labels"]
    assert "note" not in plane.object["metadata"]["annotations"]


@pytest.mark.parametrize("generation", [None, 4], ids=["without-generation", "with-generation"])
def test_what_the_member_filled_in_at_our_write_is_no_drift(generation: int | None) -> None:
    plane = Plane()
    plane.settle()
    assert plane.object is not None
    metadata = {**plane.object["metadata"], **({"generation": generation} if generation else {})}
    spec = {**plane.object["spec"], "strategy": "RollingUpdate"}
    defaulted = plane.world.put({**plane.object, "metadata": metadata, "spec": spec}, "m1")
    plane.attempts[OBJECT] = Attempt(manifest(), version=version_of(defaulted))
    assert plane.plan().actions == ()
    plane.change(work(manifest(replicas=3)))
    plane.settle()
    assert plane.object["spec"] == {"replicas": 3}


def test_a_foreign_object_is_left_alone_and_the_user_is_told() -> None:
    plane = Plane()
    plane.world.put(FOREIGN, "m1")
    before = copy.deepcopy(plane.object)
    plane.settle()
    assert plane.object == before
    assert plane.condition("Applied") == (
        "False",
        "AppliedFailed",
        "Failed to apply all manifests (0/1): resource(kind=Deployment, shop/web) already exists "
        "in the cluster m1 and the work.karmada.io/conflict-resolution strategy value is empty, "
        "Karmada will not manage this resource",
    )
    assert [each.reason for each in plane.world.told if each.warning] == ["SyncFailed"]
    assert plane.work["status"].get("manifestStatuses", []) == []


@pytest.mark.parametrize("on", ["work", "manifest"])
def test_a_foreign_object_is_adopted_when_asked_for(on: str) -> None:
    asked = {names.CONFLICT_RESOLUTION: "overwrite"}
    first = work(annotations=asked) if on == "work" else work(manifest(annotations=asked))
    plane = Plane(first)
    plane.world.put(FOREIGN, "m1")
    plane.settle()
    assert plane.object is not None
    assert plane.object["spec"] == {"replicas": 2}
    assert plane.object["metadata"]["labels"]["owner"] == "someone"
    assert plane.condition("Applied") == APPLIED


def test_an_object_of_another_work_is_foreign() -> None:
    plane = Plane()
    plane.world.put(manifest(annotations={names.WORK_NAME: "other"}), "m1")
    plane.settle()
    assert plane.condition("Applied")[0] == "False"


def test_a_refusal_is_told_in_the_members_words_and_tried_again() -> None:
    plane = Plane()
    plane.attempts[OBJECT] = Attempt(manifest(), refusal="spec.replicas: Invalid value: -1")
    first = plane.plan().actions
    assert [type(each) for each in first if not isinstance(each, Update)][-1] is Create
    plane.world.perform(first[0])
    assert plane.condition("Applied") == (
        "False",
        "AppliedFailed",
        "Failed to apply all manifests (0/1): "
        "cluster m1 refused Deployment shop/web: spec.replicas: Invalid value: -1",
    )
    assert [type(each) for each in plane.plan().actions] == [Create]
    plane.change(work(manifest(replicas=1)))
    plane.settle()
    assert plane.condition("Applied") == APPLIED


def test_one_refused_manifest_does_not_hold_back_the_others() -> None:
    bad, good = manifest(), manifest()
    good["metadata"] = {**good["metadata"], "name": "good"}
    plane = Plane(work(bad, good))
    plane.attempts[OBJECT] = Attempt(bad, refusal="no")
    actions = plane.plan().actions
    assert isinstance(actions[0], Create)
    assert Ref.of(actions[0].object).name == "good"
    assert isinstance(actions[-1], Create)
    assert Ref.of(actions[-1].object) == OBJECT
    plane.world.perform(actions[1])
    assert "manifests (1/2): cluster m1 refused" in plane.condition("Applied")[2]


def test_an_object_that_is_going_in_its_member_is_waited_for() -> None:
    plane = Plane()
    plane.settle()
    assert plane.object is not None
    metadata = {**plane.object["metadata"], "finalizers": ["slow"]}
    plane.world.put({**plane.object, "metadata": metadata}, "m1")
    plane.world.remove(OBJECT, "m1")
    plane.settle()
    assert "is being deleted in cluster m1" in plane.condition("Applied")[2]
    plane.world.put({**plane.object, "metadata": {**metadata, "finalizers": []}}, "m1")
    plane.world.remove(OBJECT, "m1")
    plane.settle()
    assert plane.condition("Applied") == APPLIED


def test_a_manifest_that_names_nothing_is_a_failure_and_no_traceback() -> None:
    plane = Plane(work({"kind": "Deployment"}))
    plane.settle()
    assert plane.condition("Applied")[2].endswith(
        "(0/1): spec.workload.manifests[0] must give apiVersion, kind and a name"
    )


def test_suspended_dispatching_sends_nothing_and_still_reflects() -> None:
    plane = Plane()
    plane.settle()
    plane.change(work(manifest(replicas=9), suspendDispatching=True))
    assert plane.object is not None
    plane.world.put({**plane.object, "status": {"ready": True}}, "m1")
    assert plane.settle() == 1
    assert plane.object["spec"]["replicas"] == 2
    assert plane.work["status"]["manifestStatuses"][0]["health"] == "Healthy"
    assert plane.condition("Dispatching") == (
        "False",
        "SuspendDispatching",
        "Work dispatching is in a suspended state.",
    )
    plane.change(work(manifest(replicas=9)))
    plane.settle()
    assert plane.object["spec"]["replicas"] == 9
    assert plane.condition("Dispatching")[0] == "True"
    assert [each.reason for each in plane.world.told] == ["WorkDispatching", "WorkDispatching"]


def test_a_cluster_that_does_not_answer_is_waited_for() -> None:
    plane = Plane()
    plane.ready = False
    assert plane.plan() == NOTHING


def test_a_status_that_cannot_be_told_keeps_the_last_one_and_is_told_of() -> None:
    def broken(_: Wire) -> Any:
        raise Invalid("spec.customizations.statusReflection", "script", "did not end in 100 ms")

    plane = Plane()
    plane.settle()
    seen = working.SeenWork(
        works.decode(plane.work),
        True,
        retain,
        Questions(broken, health),
        {OBJECT: plane.object or {}},
    )
    [told] = working.plan(seen, NOW).actions
    assert "Deployment shop/web cannot be told" in getattr(told, "message", "")


def test_fields_whose_keeping_cannot_be_told_are_not_overwritten() -> None:
    def broken(_: Wire, __: Wire) -> Wire:
        raise Invalid("spec.customizations.retention", "script", "did not end in 100 ms")

    plane = Plane()
    plane.settle()
    seen = working.SeenWork(
        works.decode(plane.work), True, broken, QUESTIONS, {OBJECT: plane.object or {}}
    )
    actions = working.plan(seen, NOW).actions
    assert [each.at for each in actions if isinstance(each, Update)] == [""]
    assert "did not end in 100 ms" in str(actions)


DELETIONS = [
    pytest.param(True, False, "gone", id="its objects are withdrawn"),
    pytest.param(False, False, "waits", id="a cluster that does not answer is waited for"),
    pytest.param(False, True, "let go", id="a leaving cluster that does not answer keeps them"),
    pytest.param(True, True, "gone", id="a leaving cluster that answers is cleaned"),
    pytest.param(None, False, "let go", id="a cluster that is gone keeps them"),
]


@pytest.mark.parametrize(("ready", "leaving", "end"), DELETIONS)
def test_a_work_is_deleted(*, ready: bool | None, leaving: bool, end: str) -> None:
    plane = Plane()
    plane.settle()
    plane.ready, plane.leaving = ready, leaving
    plane.world.remove(WORK)
    plane.settle()
    assert (plane.object is None) == (end == "gone")
    assert (plane.world.get(WORK) is None) == (end != "waits")
    assert plane.plan() == NOTHING


@pytest.mark.parametrize("leaving", [False, True])
def test_a_namespace_goes_with_its_template_and_stays_when_its_cluster_leaves(
    *, leaving: bool
) -> None:
    made = manifest()["metadata"]
    metadata = {key: made[key] for key in ("labels", "annotations")} | {"name": "shop"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    plane = Plane(work(space))
    plane.settle()
    plane.leaving = leaving
    plane.world.remove(WORK)
    plane.settle()
    found = plane.world.get(Ref.of(space), "m1")
    assert (found is not None) is leaving
    assert found is None or found["metadata"]["labels"] == {"app": "web"}
    assert plane.world.get(WORK) is None


def test_a_deleted_work_withdraws_before_it_ends_and_by_uid() -> None:
    plane = Plane()
    plane.settle()
    plane.world.remove(WORK)
    assert plane.object is not None
    assert plane.plan().actions == (Delete.of(plane.object, at="m1"),)
    plane.world.remove(Ref.of(plane.object), "m1")
    [end] = plane.plan().actions
    assert isinstance(end, Update)
    assert Ref.of(end.object) == WORK


def test_a_deleted_work_leaves_what_another_work_made_and_what_goes_already() -> None:
    others = manifest(annotations={names.WORK_NAME: "other"})
    going = manifest()
    going["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["slow"]}
    for there in (others, going):
        plane = Plane()
        plane.world.put(there, "m1")
        plane.world.remove(WORK)
        [end] = plane.plan().actions
        assert isinstance(end, Update)
        assert Ref.of(end.object) == WORK


def test_a_correction_carries_the_status_that_stands_there() -> None:
    plane = Plane()
    plane.world.put({**manifest(replicas=9), "status": {"ready": True}}, "m1")
    correction = plane.plan().actions[0]
    assert isinstance(correction, Update)
    assert correction.object["status"] == {"ready": True}


def test_preserved_objects_lose_our_marks_and_nothing_else() -> None:
    plane = Plane(work(manifest({names.BINDING_ID: "1"}), preserveResourcesOnDeletion=True))
    plane.settle()
    plane.world.remove(WORK)
    plane.settle()
    assert plane.object is not None
    assert plane.object["metadata"]["labels"] == {"app": "web"}
    assert plane.object["metadata"]["annotations"] == {}
    assert plane.object["spec"] == {"replicas": 2}
    assert plane.world.get(WORK) is None


def over(observed: Wire, **spec: Any) -> Plan:
    """What is done about an object in a member whose Work has ended."""
    known = working.remains(works.decode(work(**spec)))
    seen = working.SeenWork(
        known, True, retain, QUESTIONS, {Ref.of(observed): observed}, is_over=True
    )
    return working.plan(seen, NOW)


def there(**metadata: Any) -> Wire:
    """What the Work asks for, as a member has it."""
    plane = Plane()
    plane.settle()
    assert plane.object is not None
    return {**plane.object, "metadata": {**plane.object["metadata"], **metadata}}


def test_what_comes_after_the_end_of_its_work_is_taken_back_by_uid() -> None:
    observed = there()
    assert over(observed).actions == (Delete.of(observed, at="m1"),)


def test_what_comes_after_the_end_of_a_work_that_preserves_is_let_go_of() -> None:
    (action,) = over(there(), preserveResourcesOnDeletion=True).actions
    assert isinstance(action, Update)
    assert names.MANAGED not in action.object["metadata"]["labels"]


@pytest.mark.parametrize(
    "observed",
    [
        pytest.param(there(labels={}), id="not managed"),
        pytest.param(there(annotations={}), id="of no Work"),
        pytest.param(there(name="other"), id="not asked for"),
        pytest.param(there(deletionTimestamp="2026-01-01T00:00:00Z"), id="on its way out"),
        pytest.param(
            there(annotations={names.WORK_NAMESPACE: "karmada-es-m1", names.WORK_NAME: "other"}),
            id="of another Work",
        ),
    ],
)
def test_nothing_else_is_touched_after_the_end_of_a_work(observed: Wire) -> None:
    assert over(observed) == NOTHING


@pytest.mark.parametrize(
    ("ready", "waited_s", "again_in"),
    [
        pytest.param(True, 0.0, None, id="well"),
        pytest.param(False, 0.25, 0.75, id="not well for a moment"),
        pytest.param(False, 1.0, None, id="not well for long"),
    ],
)
def test_what_may_get_well_is_told_a_moment_later(
    *, ready: bool, waited_s: float, again_in: float | None
) -> None:
    plane = Plane()
    plane.world.perform(plane.plan().actions[0])
    assert plane.object is not None
    observed = {OBJECT: {**plane.object, "status": {"ready": ready}}}
    seen = working.SeenWork(
        works.decode(plane.work), True, retain, QUESTIONS, observed, waited=Waited(waited_s)
    )
    plan = working.plan(seen, NOW)
    assert plan.again_in == again_in
    assert bool(plan.actions) is (again_in is None)


def test_what_is_refused_is_told_at_once() -> None:
    plane = Plane()
    plane.world.put(FOREIGN, "m1")
    seen = working.SeenWork(
        works.decode(plane.work), True, retain, QUESTIONS, {OBJECT: FOREIGN}, waited=Waited(0.0)
    )
    assert working.plan(seen, NOW).actions
