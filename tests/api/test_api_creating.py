"""Creating: what the server adds, what it ignores, what it refuses, and in which words."""

import re

import pytest
from backends import Backend
from manifests import configmap, deployment

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def test_a_new_object_gets_its_stamps(api: Backend, configmaps: str, namespace: str) -> None:
    headers = {"user-agent": "tool/1.0"}
    answer = api.request("POST", configmaps, body=configmap("a", k="v"), headers=headers)
    made = answer.object(201)
    metadata = made["metadata"]
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"k": "v"})
    assert (metadata["name"], metadata["namespace"]) == ("a", namespace)
    assert UUID.fullmatch(metadata["uid"])
    assert TIME.fullmatch(metadata["creationTimestamp"])
    assert re.fullmatch(r"[1-9]\d*", metadata["resourceVersion"])
    assert "generation" not in metadata
    (entry,) = metadata["managedFields"]
    assert TIME.fullmatch(entry.pop("time"))  # a second may begin between the two stamps
    assert entry == {
        "manager": "tool",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {".": {}, "f:k": {}}},
    }


def test_a_new_object_is_read_as_it_was_answered(api: Backend, configmaps: str) -> None:
    made = api.request("POST", configmaps, body=configmap("a", k="v")).object(201)
    assert api.read(f"{configmaps}/a") == made


def test_system_fields_of_a_new_object_are_ignored(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    sent["metadata"] |= {
        "uid": "mine",
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "deletionTimestamp": "2000-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "selfLink": "/x",
    }
    metadata = api.create(configmaps, sent)["metadata"]
    assert set(metadata) <= {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    }
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2000")


def test_kinds_with_a_spec_start_at_generation_one(api: Backend, deployments: str) -> None:
    sent = deployment("web")
    sent["metadata"]["generation"] = 7
    sent["status"] = {"replicas": 5}
    made = api.create(deployments, sent)
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {}


def test_a_name_can_be_made_from_a_prefix(api: Backend, configmaps: str) -> None:
    letters = "[bcdfghjklmnpqrstvwxz2456789]{5}"
    first = api.create(configmaps, {"metadata": {"generateName": "some-"}})["metadata"]
    second = api.create(configmaps, {"metadata": {"generateName": "some-"}})["metadata"]
    assert re.fullmatch(f"some-{letters}", first["name"])
    assert first["generateName"] == "some-"
    assert first["name"] != second["name"]
    long = api.create(configmaps, {"metadata": {"generateName": "g" * 70}})["metadata"]
    assert re.fullmatch(f"{'g' * 58}{letters}", long["name"])


def test_a_name_is_needed(api: Backend, configmaps: str) -> None:
    for body in ({}, {"metadata": {}}, {"metadata": {"name": ""}}, b"null"):
        details = api.request("POST", configmaps, body=body).refusal(
            422,
            "Invalid",
            'ConfigMap "" is invalid: metadata.name: Required value: '
            "name or generateName is required",
        )
        (cause,) = details["causes"]
        assert cause == {
            "reason": "FieldValueRequired",
            "message": "Required value: name or generateName is required",
            "field": "metadata.name",
        }
        assert details["kind"] == "ConfigMap"


def test_a_taken_name_is_refused(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    answer = api.request("POST", configmaps, body=configmap("a"))
    details = answer.refusal(409, "AlreadyExists", 'configmaps "a" already exists')
    assert details == {"name": "a", "kind": "configmaps"}


def test_the_group_is_part_of_what_exists(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    answer = api.request("POST", deployments, body=deployment("web"))
    details = answer.refusal(409, "AlreadyExists", 'deployments.apps "web" already exists')
    assert details == {"name": "web", "group": "apps", "kind": "deployments"}


def test_the_namespace_must_be_that_of_the_path(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    sent["metadata"]["namespace"] = "other"
    api.request("POST", configmaps, body=sent).refusal(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )


def test_the_namespace_must_exist(api: Backend, unique: str) -> None:
    path = f"/api/v1/namespaces/{unique}/configmaps"
    answer = api.request("POST", path, body=configmap("a"))
    details = answer.refusal(404, "NotFound", f'namespaces "{unique}" not found')
    assert details == {"name": unique, "kind": "namespaces"}


def test_a_cluster_wide_object_forgets_its_namespace(api: Backend, unique: str) -> None:
    sent = {"metadata": {"name": unique, "namespace": "default"}, "rules": []}
    made = api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", sent)
    assert "namespace" not in made["metadata"]


def test_a_new_object_must_not_have_a_version(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    sent["metadata"]["resourceVersion"] = "5"
    api.request("POST", configmaps, body=sent).refusal(
        500, None, "resourceVersion should not be set on objects to be created"
    )


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        pytest.param(
            "Secret", "v1",
            'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to '
            "(core.ConfigMap): unknown conversion",
            id="another kind",
        ),
        pytest.param(
            "ConfigMap", "v2",
            'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is '
            'registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
            id="another version",
        ),
    ],
)  # fmt: skip
def test_the_kind_must_be_that_of_the_path(
    api: Backend, configmaps: str, kind: str, version: str, message: str
) -> None:
    sent = {"kind": kind, "apiVersion": version, "metadata": {"name": "a"}}
    api.request("POST", configmaps, body=sent).refusal(400, "BadRequest", message)


@pytest.mark.parametrize(
    "sent", [{}, {"kind": "ConfigMap"}, {"apiVersion": "v1"}], ids=["neither", "kind", "version"]
)
def test_kind_and_version_may_be_left_out(
    api: Backend, configmaps: str, sent: dict[str, str]
) -> None:
    made = api.create(configmaps, {**sent, "metadata": {"name": "a"}})
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")


@pytest.mark.parametrize(
    "name",
    ["A_b", "-a", "a..b", "a/b", "..", "a b", "ä", "a" * 254],
    ids=["upper case", "dash", "dots", "slash", "parent", "blank", "umlaut", "long"],
)
def test_odd_names_are_refused(api: Backend, configmaps: str, name: str) -> None:
    why = "must be no more than 253 characters" if len(name) > 253 else SUBDOMAIN
    details = api.request("POST", configmaps, body=configmap(name)).refusal(
        422,
        "Invalid",
        f'ConfigMap "{name}" is invalid: metadata.name: Invalid value: "{name}": {why}',
    )
    assert details["name"] == name
    assert details["causes"][0]["field"] == "metadata.name"


def test_all_faults_of_the_metadata_are_told_at_once(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    sent["metadata"] |= {
        "labels": {"a b": "x", "ok": "-bad"},
        "annotations": {"c d": "1"},
        "finalizers": ["bad"],
        "ownerReferences": [{"kind": "X"}],
    }
    details = api.request("POST", configmaps, body=sent).refusal(422, "Invalid")
    causes = [(cause["field"], cause["reason"]) for cause in details["causes"]]
    assert sorted(causes) == sorted(
        [
            ("metadata.labels", "FieldValueInvalid"),
            ("metadata.labels", "FieldValueInvalid"),
            ("metadata.annotations", "FieldValueInvalid"),
            ("metadata.finalizers[0]", "FieldValueInvalid"),
            ("metadata.ownerReferences.apiVersion", "FieldValueInvalid"),
            ("metadata.ownerReferences.name", "FieldValueInvalid"),
            ("metadata.ownerReferences.uid", "FieldValueInvalid"),
        ]
    )


def test_annotations_have_a_size_limit(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    sent["metadata"]["annotations"] = {"a": "x" * 262144}
    api.request("POST", configmaps, body=sent).refusal(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.annotations: Too long: may not be more than 262144 '
        "bytes",
    )


def test_an_owner_named_twice_is_kept_once(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "x", "uid": "u"}
    sent["metadata"]["ownerReferences"] = [owner, owner]
    answer = api.request("POST", f"{configmaps}?dryRun=All", body=sent)
    assert answer.object(201)["metadata"]["ownerReferences"] == [owner]
    assert "duplicate UID(s) observed: u" in answer.warnings
