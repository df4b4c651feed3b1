"""Patching in three dialects: JSON patch, merge patch, strategic merge patch."""

import pytest
from backends import Backend
from manifests import configmap, deployment

from atoll.wire import Wire

REJECTED = "the server rejected our request due to an error in our request"


def containers(obj: Wire) -> list[Wire]:
    found: list[Wire] = obj["spec"]["template"]["spec"]["containers"]
    return found


def in_pod(**spec: object) -> Wire:
    return {"spec": {"template": {"spec": spec}}}


def test_a_json_patch_is_a_list_of_operations(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a", {"l": "1"}, k="v", gone="x"))
    patch = [
        {"op": "test", "path": "/data/k", "value": "v"},
        {"op": "add", "path": "/data/new", "value": "n"},
        {"op": "replace", "path": "/data/k", "value": "w"},
        {"op": "remove", "path": "/data/gone"},
        {"op": "copy", "from": "/data/new", "path": "/data/copy"},
        {"op": "move", "from": "/metadata/labels/l", "path": "/metadata/labels/example.com~1m"},
    ]
    changed = api.patch(f"{configmaps}/a", patch, "json")
    assert changed["data"] == {"k": "w", "new": "n", "copy": "n"}
    assert changed["metadata"]["labels"] == {"example.com/m": "1"}


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/data/k", "value": "other"}, id="test"),
        pytest.param({"op": "remove", "path": "/data/nope"}, id="remove"),
        pytest.param({"op": "replace", "path": "/nope/deep", "value": "1"}, id="replace"),
        pytest.param({"op": "add", "path": "/nope/deep", "value": "1"}, id="add"),
    ],
)
def test_a_json_patch_that_does_not_fit_changes_nothing(
    api: Backend, configmaps: str, operation: Wire
) -> None:
    made = api.create(configmaps, configmap("a", k="v"))
    patch = [{"op": "add", "path": "/data/x", "value": "1"}, operation]
    details = api.try_patch(f"{configmaps}/a", patch, "json").refusal(422, "Invalid", REJECTED)
    assert details == {}
    assert api.read(f"{configmaps}/a") == made


@pytest.mark.parametrize("kind", ["json", "merge", "strategic"])
def test_a_patch_that_is_no_json_is_refused(api: Backend, configmaps: str, kind: str) -> None:
    api.create(configmaps, configmap("a"))
    api.try_patch(f"{configmaps}/a", b"{bad", kind).refusal(400, "BadRequest")


def test_a_json_patch_must_be_a_list(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    api.try_patch(f"{configmaps}/a", {"op": "add"}, "json").refusal(400, "BadRequest")


def test_a_json_patch_has_at_most_ten_thousand_operations(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    patch = [{"op": "add", "path": "/data/k", "value": "1"}] * 10_001
    answer = api.try_patch(f"{configmaps}/a", patch, "json")
    answer.refusal(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got "
        "10001",
    )


def test_a_json_patch_may_replace_a_key_that_is_not_there(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a", k="v"))
    patch = [{"op": "replace", "path": "/data/new", "value": "1"}]
    assert api.patch(f"{configmaps}/a", patch, "json")["data"] == {"k": "v", "new": "1"}


def test_a_merge_patch_sets_and_deletes(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a", {"l": "1", "m": "2"}, k="v", gone="x"))
    patch = {"data": {"k": "w", "gone": None}, "metadata": {"labels": None}}
    changed = api.patch(f"{configmaps}/a", patch)
    assert changed["data"] == {"k": "w"}
    assert "labels" not in changed["metadata"]


def test_a_merge_patch_replaces_lists(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    sidecar = {"name": "side", "image": "side:1"}
    changed = api.patch(f"{deployments}/web", in_pod(containers=[sidecar]))
    assert [one["name"] for one in containers(changed)] == ["side"]


def test_a_strategic_patch_merges_containers_by_name(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web", env=[{"name": "A", "value": "1"}]))
    patch = in_pod(
        containers=[
            {"name": "main", "env": [{"name": "B", "value": "2"}]},
            {"name": "side", "image": "side:1"},
        ]
    )
    changed = api.patch(f"{deployments}/web", patch, "strategic")
    by_name = {one["name"]: one for one in containers(changed)}
    assert set(by_name) == {"main", "side"}
    assert by_name["main"]["image"] == "nginx:1.0"
    assert by_name["main"]["env"] == [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]


def test_a_strategic_patch_deletes_by_directive(api: Backend, deployments: str) -> None:
    api.create(
        deployments,
        deployment("web", env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
    )
    patch = in_pod(containers=[{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}])
    (main,) = containers(api.patch(f"{deployments}/web", patch, "strategic"))
    assert main["env"] == [{"name": "B", "value": "2"}]


def test_a_strategic_patch_can_order_a_list(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web", env=[{"name": "A", "value": "1"}]))
    order = [{"name": "A"}, {"name": "B"}]
    main = {
        "name": "main",
        "$setElementOrder/env": order,
        "env": [{"name": "B", "value": "2"}],
    }
    (changed,) = containers(api.patch(f"{deployments}/web", in_pod(containers=[main]), "strategic"))
    assert [one["name"] for one in changed["env"]] == ["A", "B"]


def test_a_strategic_patch_can_replace_a_list(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    patch = in_pod(containers=[{"$patch": "replace"}, {"name": "only", "image": "o:1"}])
    changed = api.patch(f"{deployments}/web", patch, "strategic")
    assert [one["name"] for one in containers(changed)] == ["only"]


def test_a_strategic_patch_merges_ports_by_their_number(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web", ports=[{"containerPort": 80, "name": "http"}]))
    ports = [{"containerPort": 80, "name": "web"}, {"containerPort": 443}]
    patch = in_pod(containers=[{"name": "main", "ports": ports}])
    (main,) = containers(api.patch(f"{deployments}/web", patch, "strategic"))
    found = {port["containerPort"]: port for port in main["ports"]}
    assert found == {
        80: {"containerPort": 80, "name": "web", "protocol": "TCP"},
        443: {"containerPort": 443, "protocol": "TCP"},
    }


def test_a_strategic_patch_keeps_only_the_keys_it_retains(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    changed = api.patch(f"{deployments}/web", patch, "strategic")
    assert changed["spec"]["strategy"] == {"type": "Recreate"}


def test_finalizers_are_a_set_to_strategic_patches(api: Backend, configmaps: str) -> None:
    made = configmap("a")
    made["metadata"]["finalizers"] = ["example.com/a"]
    api.create(configmaps, made)
    path = f"{configmaps}/a"
    added = api.patch(path, {"metadata": {"finalizers": ["example.com/b"]}}, "strategic")
    assert set(added["metadata"]["finalizers"]) == {"example.com/a", "example.com/b"}
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}
    left = api.patch(path, gone, "strategic")
    assert left["metadata"]["finalizers"] == ["example.com/b"]
    api.patch(path, {"metadata": {"finalizers": None}})


def test_a_patch_can_be_a_lock(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1"))
    api.patch(f"{configmaps}/a", {"data": {"k": "2"}})
    old = made["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": old}, "data": {"k": "3"}}
    for kind in ("merge", "strategic"):
        answer = api.try_patch(f"{configmaps}/a", patch, kind)
        details = answer.refusal(409, "Conflict")
        assert details == {"name": "a", "kind": "configmaps"}


def test_a_patch_must_not_rename(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    api.try_patch(f"{configmaps}/a", {"metadata": {"name": "b"}}).refusal(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


def test_a_uid_cannot_be_patched(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    api.try_patch(f"{configmaps}/a", {"metadata": {"uid": "x"}}).refusal(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: metadata.uid: Invalid value: "x": field is immutable',
    )


def test_a_merge_patch_that_gives_a_wrong_type_is_refused(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    answer = api.try_patch(f"{configmaps}/a", {"data": {"x": 5}})
    (cause,) = answer.refusal(422, "Invalid")["causes"]
    assert (cause["field"], cause["reason"]) == ("patch", "FieldValueInvalid")
    assert cause["message"].endswith(
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


def test_a_strategic_patch_of_a_wrong_type_is_refused(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    details = api.try_patch(f"{configmaps}/a", {"data": {"x": 5}}, "strategic").refusal(
        422,
        "Invalid",
        ' "" is invalid: patch: Invalid value: "map[data:map[x:5]]": cannot convert int64 to '
        "string",
    )
    assert details["causes"][0]["field"] == "patch"


def test_a_patch_that_gives_an_invalid_object_is_refused(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    api.try_patch(f"{deployments}/web", {"spec": {"replicas": -1}}).refusal(
        422,
        "Invalid",
        'Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1: must be greater than '
        "or equal to 0",
    )


def test_a_strict_patch_names_unknown_fields(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    path = f"{configmaps}/a?fieldValidation=Strict"
    details = api.try_patch(path, {"foo": 1}).refusal(422, "Invalid")
    (cause,) = details["causes"]
    assert cause["field"] == "patch"
    assert cause["message"].endswith('strict decoding error: unknown field "foo"')
    answer = api.try_patch(f"{configmaps}/a", {"foo": 1})
    assert (answer.status, answer.warnings) == (200, r'299 - "unknown field \"foo\""')


def test_what_is_missing_cannot_be_patched(api: Backend, configmaps: str) -> None:
    for kind in ("merge", "strategic"):
        answer = api.try_patch(f"{configmaps}/nope", {}, kind)
        answer.refusal(404, "NotFound", 'configmaps "nope" not found')


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_a_patch_must_say_its_dialect(api: Backend, configmaps: str, kind: str) -> None:
    api.create(configmaps, configmap("a"))
    answer = api.request("PATCH", f"{configmaps}/a", body={}, headers={"content-type": kind})
    details = answer.refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type")
    assert details == {}


def test_force_is_for_apply_alone(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    details = api.try_patch(f"{configmaps}/a?force=true", {}).refusal(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for '
        "non-apply patch",
    )
    assert details["kind"] == "PatchOptions"


def test_a_patch_can_be_a_dry_run(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1"))
    dry = api.patch(f"{configmaps}/a?dryRun=All", {"data": {"k": "2"}})
    assert dry["data"] == {"k": "2"}
    assert api.read(f"{configmaps}/a") == made
