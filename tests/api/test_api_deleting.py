"""Deleting: what is answered, what holds an object back, and what is deleted along."""

import pytest
from backends import Backend
from manifests import configmap, deployment

from atoll.wire import Wire


def held(name: str, *finalizers: str) -> Wire:
    made = configmap(name)
    made["metadata"]["finalizers"] = list(finalizers) or ["example.com/hold"]
    return made


def release(api: Backend, path: str) -> Wire:
    return api.patch(path, {"metadata": {"finalizers": None}})


def test_a_deletion_tells_what_is_gone(api: Backend, configmaps: str, deployments: str) -> None:
    made = api.create(configmaps, configmap("a"))
    assert api.delete(f"{configmaps}/a") == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "a", "kind": "configmaps", "uid": made["metadata"]["uid"]},
    }
    made = api.create(deployments, deployment("web"))
    assert api.delete(f"{deployments}/web")["details"] == {
        "name": "web",
        "group": "apps",
        "kind": "deployments",
        "uid": made["metadata"]["uid"],
    }
    assert api.request("GET", f"{configmaps}/a").status == 404


def test_some_kinds_answer_with_the_object(api: Backend, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.create(path, {"metadata": {"name": "a"}})
    assert api.delete(f"{path}/a")["kind"] == "ServiceAccount"


def test_what_is_missing_cannot_be_deleted(api: Backend, configmaps: str) -> None:
    answer = api.request("DELETE", f"{configmaps}/nope")
    details = answer.refusal(404, "NotFound", 'configmaps "nope" not found')
    assert details == {"name": "nope", "kind": "configmaps"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"propagationPolicy": "Background"},
        {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0},
        {"kind": "DeleteOptions", "apiVersion": "apps/v1"},
    ],
    ids=["none", "kubectl", "whole", "of another group"],
)
def test_options_may_come_in_the_body(api: Backend, configmaps: str, options: Wire) -> None:
    api.create(configmaps, configmap("a"))
    assert api.delete(f"{configmaps}/a", options)["status"] == "Success"


def test_options_may_come_in_the_query(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    dry = api.delete(f"{configmaps}/a?dryRun=All")
    assert dry["status"] == "Success"
    assert api.read(f"{configmaps}/a")
    gone = api.delete(f"{configmaps}/a?propagationPolicy=Orphan")
    assert "orphan" in gone["metadata"]["finalizers"]


def test_a_dry_deletion_deletes_nothing(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    assert api.delete(f"{configmaps}/a", {"dryRun": ["All"]})["status"] == "Success"
    assert api.read(f"{configmaps}/a") == made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"propagationPolicy": "Zzz"},
            'propagationPolicy: Unsupported value: "Zzz": supported values: "Foreground", '
            '"Background", "Orphan", "nil"',
            id="propagation",
        ),
        pytest.param(
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation '
            "cannot be both set",
            id="both",
        ),
        pytest.param(
            {"dryRun": ["Zzz"]},
            'dryRun: Unsupported value: ["Zzz"]: supported values: "All"',
            id="dry run",
        ),
    ],
)
def test_impossible_options_are_refused(
    api: Backend, configmaps: str, options: Wire, message: str
) -> None:
    api.create(configmaps, configmap("a"))
    answer = api.request("DELETE", f"{configmaps}/a", body=options)
    details = answer.refusal(422, "Invalid", f'DeleteOptions.meta.k8s.io "" is invalid: {message}')
    assert details["kind"] == "DeleteOptions"
    assert api.read(f"{configmaps}/a")


def test_a_deletion_can_insist_on_a_uid(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    uid = made["metadata"]["uid"]
    answer = api.request("DELETE", f"{configmaps}/a", body={"preconditions": {"uid": "bad"}})
    answer.refusal(
        409,
        "Conflict",
        'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (bad) does '
        f"not match the UID in record ({uid}). The object might have been deleted and then "
        "recreated",
    )
    assert api.delete(f"{configmaps}/a", {"preconditions": {"uid": uid}})["status"] == "Success"


def test_a_deletion_can_insist_on_a_version(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    changed = api.patch(f"{configmaps}/a", {"data": {"k": "v"}})
    old, new = (one["metadata"]["resourceVersion"] for one in (made, changed))
    options = {"preconditions": {"resourceVersion": old}}
    api.request("DELETE", f"{configmaps}/a", body=options).refusal(
        409,
        "Conflict",
        'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition '
        f"({old}) does not match the ResourceVersion in record ({new}). The object might have been "
        "modified",
    )
    options = {"preconditions": {"resourceVersion": new}}
    assert api.delete(f"{configmaps}/a", options)["status"] == "Success"


def test_finalizers_hold_an_object_until_they_are_gone(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    made = api.create(configmaps, held("a"))
    start = made["metadata"]["resourceVersion"]
    with api.watch(f"{configmaps}?watch=1&resourceVersion={start}") as watch:
        ending = api.delete(path)
        assert ending["kind"] == "ConfigMap"
        assert ending["metadata"]["deletionTimestamp"]
        assert ending["metadata"]["deletionGracePeriodSeconds"] == 0
        assert api.delete(path) == ending, "deleting twice changes nothing"
        assert api.read(path) == ending
        last = release(api, path)
        assert last["metadata"]["deletionTimestamp"]
        modified, deleted = watch.take(2)
    assert modified == {"type": "MODIFIED", "object": ending}
    assert deleted["type"] == "DELETED"
    assert deleted["object"]["metadata"]["finalizers"] == ["example.com/hold"]
    assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(
        ending["metadata"]["resourceVersion"]
    )
    assert api.request("GET", path).status == 404


def test_a_name_is_taken_while_its_object_is_ending(api: Backend, configmaps: str) -> None:
    api.create(configmaps, held("a"))
    api.delete(f"{configmaps}/a")
    api.request("POST", configmaps, body=configmap("a")).refusal(
        409, "AlreadyExists", 'object is being deleted: configmaps "a" already exists'
    )
    release(api, f"{configmaps}/a")


def test_no_finalizer_may_join_an_ending_object(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.create(configmaps, held("a"))
    api.delete(path)
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    api.try_patch(path, patch).refusal(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added '
        'if the object is being deleted, found new finalizers []string{"example.com/more"}',
    )
    release(api, path)


def test_an_ending_object_can_still_be_changed(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.create(configmaps, held("a"))
    ending = api.delete(path)
    sent = held("a")
    sent["data"] = {"k": "v"}
    changed = api.update(path, sent)
    assert changed["data"] == {"k": "v"}
    for stamp in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        assert changed["metadata"][stamp] == ending["metadata"][stamp]
    release(api, path)


def test_ending_counts_as_a_generation(api: Backend, deployments: str) -> None:
    made = deployment("web")
    made["metadata"]["finalizers"] = ["example.com/hold"]
    api.create(deployments, made)
    assert api.delete(f"{deployments}/web")["metadata"]["generation"] == 2
    release(api, f"{deployments}/web")


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
def test_propagation_is_a_finalizer(
    api: Backend, configmaps: str, policy: str, finalizer: str
) -> None:
    api.create(configmaps, held("a"))
    ending = api.delete(f"{configmaps}/a", {"propagationPolicy": policy})
    assert set(ending["metadata"]["finalizers"]) == {"example.com/hold", finalizer}
    release(api, f"{configmaps}/a")


def test_a_pod_without_a_node_goes_at_once(api: Backend, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.create(
        pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    assert api.delete(f"{pods}/p")["kind"] == "Pod"
    assert api.request("GET", f"{pods}/p").status == 404


def test_a_pod_on_a_node_is_given_time(api: Backend, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    api.create(pods, {"metadata": {"name": "p"}, "spec": spec})
    ending = api.delete(f"{pods}/p")
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 30
    sooner = api.delete(f"{pods}/p", {"gracePeriodSeconds": 5})
    assert sooner["metadata"]["deletionGracePeriodSeconds"] == 5
    assert sooner["metadata"]["deletionTimestamp"] < ending["metadata"]["deletionTimestamp"]
    api.delete(f"{pods}/p", {"gracePeriodSeconds": 0})
    assert api.request("GET", f"{pods}/p").status == 404


def test_a_collection_can_be_deleted_by_selector(api: Backend, configmaps: str) -> None:
    for name in "abc":
        api.create(configmaps, configmap(name, {"drop": "no" if name == "b" else "yes"}))
    gone = api.delete(f"{configmaps}?labelSelector=drop%3Dyes")
    assert gone["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    left = api.read(configmaps)["items"]
    assert [item["metadata"]["name"] for item in left] == ["b"]


def test_deleting_a_collection_respects_finalizers(api: Backend, configmaps: str) -> None:
    api.create(configmaps, held("a"))
    api.create(configmaps, configmap("b"))
    api.delete(configmaps)
    (left,) = api.read(configmaps)["items"]
    assert left["metadata"]["deletionTimestamp"]
    release(api, f"{configmaps}/a")
