"""Updating: versions as locks, writes that change nothing, generations, and status apart."""

import pytest
from backends import Backend
from manifests import configmap, deployment, lease

from atoll.wire import Wire

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def version(obj: Wire) -> int:
    return int(obj["metadata"]["resourceVersion"])


def test_an_update_replaces_all_but_the_stamps(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", {"l": "1"}, k="v"))
    sent = configmap("a", k="w")
    sent["metadata"] |= {"creationTimestamp": "2000-01-01T00:00:00Z"}
    changed = api.update(f"{configmaps}/a", sent)
    assert changed["data"] == {"k": "w"}
    assert "labels" not in changed["metadata"]
    for stamp in ("uid", "creationTimestamp"):
        assert changed["metadata"][stamp] == made["metadata"][stamp]
    assert version(changed) > version(made)
    assert api.read(f"{configmaps}/a") == changed


def test_a_stale_version_is_refused(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1"))
    api.update(f"{configmaps}/a", configmap("a", k="2"))
    made["data"]["k"] = "3"
    details = api.request("PUT", f"{configmaps}/a", body=made).refusal(
        409, "Conflict", f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}'
    )
    assert details == {"name": "a", "kind": "configmaps"}
    assert api.read(f"{configmaps}/a")["data"] == {"k": "2"}


def test_a_current_version_is_accepted(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1"))
    made["data"]["k"] = "2"
    assert version(api.update(f"{configmaps}/a", made)) > version(made)


def test_an_update_without_a_version_wins(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a", k="1"))
    api.update(f"{configmaps}/a", configmap("a", k="2"))
    assert api.update(f"{configmaps}/a", configmap("a", k="3"))["data"] == {"k": "3"}


def test_a_version_that_is_no_number_is_an_error(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    made["metadata"]["resourceVersion"] = "abc"
    api.request("PUT", f"{configmaps}/a", body=made).refusal(
        500, None, 'strconv.ParseUint: parsing "abc": invalid syntax'
    )


def test_a_lease_must_be_updated_with_its_version(api: Backend, namespace: str) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    api.create(leases, lease("l", holderIdentity="a"))
    details = api.request("PUT", f"{leases}/l", body=lease("l", holderIdentity="b")).refusal(
        422,
        "Invalid",
        'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update",
    )
    assert details["causes"][0]["field"] == "metadata.resourceVersion"


@pytest.mark.parametrize("verb", ["put", "merge", "strategic", "json", "apply"])
def test_a_write_that_changes_nothing_keeps_the_version(
    api: Backend, configmaps: str, verb: str
) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", k="v"), "m").object(201)
    before = api.read(path)
    with api.watch(f"{configmaps}?watch=1&resourceVersion={version(before)}") as watch:
        if verb == "put":
            after = api.update(path, before)
        elif verb == "json":
            after = api.patch(path, [{"op": "replace", "path": "/data/k", "value": "v"}], "json")
        elif verb == "apply":
            after = api.apply(path, configmap("a", k="v"), "m").object()
        else:
            after = api.patch(path, {"data": {"k": "v"}}, verb)
        assert after == before
        marker = api.create(configmaps, configmap("marker"))
        assert watch.next()["object"] == marker


def test_the_name_must_be_that_of_the_path(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    api.request("PUT", f"{configmaps}/a", body=configmap("b")).refusal(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


def test_a_wrong_uid_is_a_conflict(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    sent = configmap("a", k="v")
    sent["metadata"]["uid"] = "wrong"
    answer = api.request("PUT", f"{configmaps}/a", body=sent)
    answer.refusal(409, "Conflict")
    message = answer.json()["message"]
    assert message.startswith('Operation cannot be fulfilled on configmaps "a": ')
    assert message.endswith(
        "Precondition failed: UID in precondition: wrong, UID in object meta: "
        + made["metadata"]["uid"]
    )


def test_what_is_missing_cannot_be_updated(api: Backend, configmaps: str) -> None:
    answer = api.request("PUT", f"{configmaps}/nope", body=configmap("nope"))
    details = answer.refusal(404, "NotFound", 'configmaps "nope" not found')
    assert details == {"name": "nope", "kind": "configmaps"}


def test_an_update_makes_the_lease_that_is_missing(api: Backend, namespace: str) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/l"
    answer = api.request("PUT", path, body=lease("l", holderIdentity="a"))
    made = answer.object(201)
    assert api.read(path) == made


def test_an_update_makes_the_role_that_is_missing(api: Backend, namespace: str) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/r"
    answer = api.request("PUT", path, body={"metadata": {"name": "r"}, "rules": []})
    assert answer.object(201)["kind"] == "Role"


def test_the_generation_counts_changes_of_the_spec_only(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    api.create(deployments, deployment("web"))
    assert api.patch(path, {"spec": {"replicas": 2}})["metadata"]["generation"] == 2
    assert api.patch(path, {"metadata": {"labels": {"a": "b"}}})["metadata"]["generation"] == 2
    assert api.patch(path, {"spec": {"replicas": 2}})["metadata"]["generation"] == 2
    assert api.patch(f"{path}/status", {"status": {"replicas": 2}})["metadata"]["generation"] == 2
    assert api.patch(path, {"metadata": {"generation": 9}})["metadata"]["generation"] == 2


def test_annotations_of_a_deployment_count_as_a_generation(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    annotated = api.patch(f"{deployments}/web", {"metadata": {"annotations": {"a": "b"}}})
    assert annotated["metadata"]["generation"] == 2


def test_status_cannot_be_written_through_the_object(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    api.create(deployments, deployment("web"))
    api.patch(f"{path}/status", {"status": {"replicas": 3}})
    changed = api.read(path)
    changed["status"] = {"replicas": 9}
    changed["spec"]["replicas"] = 4
    changed = api.update(path, changed)
    assert (changed["status"], changed["spec"]["replicas"]) == ({"replicas": 3}, 4)
    assert api.patch(path, {"status": {"replicas": 9}})["status"] == {"replicas": 3}


def test_only_status_can_be_written_through_status(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    made = api.create(deployments, deployment("web"))
    made["status"] = {"replicas": 3, "observedGeneration": 1}
    made["spec"]["replicas"] = 7
    made["metadata"]["labels"] = {"a": "b"}
    changed = api.update(f"{path}/status", made)
    assert changed["status"] == {"replicas": 3, "observedGeneration": 1}
    assert (changed["spec"]["replicas"], changed["metadata"]["generation"]) == (1, 1)
    assert "labels" not in changed["metadata"]
    assert api.read(f"{path}/status") == api.read(path) == changed


def test_status_has_the_same_lock(api: Backend, deployments: str) -> None:
    made = api.create(deployments, deployment("web"))
    api.patch(f"{deployments}/web", {"spec": {"replicas": 2}})
    made["status"] = {"replicas": 3}
    api.request("PUT", f"{deployments}/web/status", body=made).refusal(
        409, "Conflict", f'Operation cannot be fulfilled on deployments.apps "web": {MODIFIED}'
    )


def test_the_selector_of_a_deployment_is_immutable(api: Backend, deployments: str) -> None:
    made = api.create(deployments, deployment("web"))
    made["spec"]["selector"]["matchLabels"] = {"app": "other"}
    made["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    details = api.request("PUT", f"{deployments}/web", body=made).refusal(422, "Invalid")
    (cause,) = details["causes"]
    assert cause["field"] == "spec.selector"
    assert cause["message"].endswith("field is immutable")


def test_an_immutable_configmap_stays_as_it_is(api: Backend, configmaps: str) -> None:
    api.create(configmaps, {**configmap("a", k="v"), "immutable": True})
    details = api.try_patch(f"{configmaps}/a", {"data": {"k": "w"}}).refusal(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
    assert details["causes"][0]["reason"] == "FieldValueForbidden"


def test_an_update_can_be_a_dry_run(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1"))
    dry = api.update(f"{configmaps}/a?dryRun=All", configmap("a", k="2"))
    assert (dry["data"], version(dry)) == ({"k": "2"}, version(made))
    assert api.read(f"{configmaps}/a") == made


def test_versions_grow_over_all_kinds(api: Backend, configmaps: str, deployments: str) -> None:
    first = api.create(configmaps, configmap("a"))
    second = api.create(deployments, deployment("web"))
    third = api.update(f"{configmaps}/a", configmap("a", k="v"))
    assert version(first) < version(second) < version(third)
