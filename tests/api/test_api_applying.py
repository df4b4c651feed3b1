"""Server-side apply: who owns which field, what happens when two want the same one."""

import pytest
from backends import Backend
from manifests import configmap, deployment

from atoll.wire import Wire


def owners(obj: Wire) -> dict[tuple[str, str], Wire]:
    """The fields of each manager, by its name and operation."""
    entries = obj["metadata"]["managedFields"]
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in entries}


def version(obj: Wire) -> int:
    return int(obj["metadata"]["resourceVersion"])


def test_applying_what_is_missing_creates_it(api: Backend, configmaps: str) -> None:
    made = api.apply(f"{configmaps}/a", configmap("a", k="v"), "m").object(201)
    assert made["data"] == {"k": "v"}
    (entry,) = made["metadata"]["managedFields"]
    assert entry.pop("time")
    assert entry == {
        "manager": "m",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }


def test_a_configuration_may_be_yaml(api: Backend, configmaps: str) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n"
    made = api.try_patch(f"{configmaps}/a?fieldManager=m", text, "apply").object(201)
    assert made["data"] == {"k": "v"}


def test_two_managers_own_what_each_applied(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", one="1"), "m1").object(201)
    both = api.apply(path, configmap("a", two="2"), "m2").object()
    assert both["data"] == {"one": "1", "two": "2"}
    assert owners(both) == {
        ("m1", "Apply"): {"f:data": {"f:one": {}}},
        ("m2", "Apply"): {"f:data": {"f:two": {}}},
    }


def test_a_field_that_is_applied_no_more_goes_away(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", keep="1", drop="2"), "m").object(201)
    changed = api.apply(path, configmap("a", keep="1"), "m").object()
    assert changed["data"] == {"keep": "1"}
    assert owners(changed) == {("m", "Apply"): {"f:data": {"f:keep": {}}}}


def test_a_shared_field_stays_until_its_last_owner_lets_go(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", k="v"), "m1").object(201)
    shared = api.apply(path, configmap("a", k="v"), "m2").object()
    assert set(owners(shared)) == {("m1", "Apply"), ("m2", "Apply")}
    assert api.apply(path, configmap("a"), "m1").object()["data"] == {"k": "v"}
    assert "data" not in api.apply(path, configmap("a"), "m2").object()


def test_another_managers_value_is_a_conflict(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", a="1", b="1"), "m1").object(201)
    details = api.apply(path, configmap("a", a="2"), "m2").refusal(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "m1": .data.a'
    )
    assert details["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "m1"',
            "field": ".data.a",
        }
    ]
    api.apply(path, configmap("a", a="2", b="2"), "m2").refusal(
        409,
        "Conflict",
        'Apply failed with 2 conflicts: conflicts with "m1":\n- .data.a\n- .data.b',
    )


def test_the_owner_by_update_is_named_with_its_version(api: Backend, configmaps: str) -> None:
    api.create(f"{configmaps}?fieldManager=upd", configmap("a", k="1"))
    answer = api.apply(f"{configmaps}/a", configmap("a", k="2"), "m")
    message = 'Apply failed with 1 conflict: conflict with "upd" using v1: .data.k'
    answer.refusal(409, "Conflict", message)


def test_conflicts_in_lists_are_named_by_key(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    api.apply(path, deployment("web"), "m1").object(201)
    answer = api.apply(path, deployment("web", image="nginx:2.0"), "m2")
    assert answer.refusal(409, "Conflict")["causes"][0]["field"] == (
        '.spec.template.spec.containers[name="main"].image'
    )


def test_force_takes_the_field_over(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", k="1"), "m1").object(201)
    taken = api.apply(path, configmap("a", k="2"), "m2", "&force=true").object()
    assert taken["data"] == {"k": "2"}
    assert owners(taken) == {("m2", "Apply"): {"f:data": {"f:k": {}}}}


def test_applying_the_same_again_changes_nothing(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    first = api.apply(path, deployment("web"), "m").object(201)
    assert api.apply(path, deployment("web"), "m").object() == first


def test_owning_more_is_a_change(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    first = api.apply(path, configmap("a", k="1"), "m1").object(201)
    second = api.apply(path, configmap("a", k="1"), "m2").object()
    assert version(second) > version(first)


def test_defaults_are_nobodys(api: Backend, deployments: str) -> None:
    ports = [{"containerPort": 80}]
    made = api.apply(f"{deployments}/web", deployment("web", ports=ports), "m").object(201)
    container = {
        ".": {},
        "f:image": {},
        "f:name": {},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
    }
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "Always"
    assert owners(made)["m", "Apply"] == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {"f:containers": {'k:{"name":"main"}': container}},
            },
        }
    }


def test_ports_are_told_apart_by_number_and_protocol(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    api.apply(path, deployment("web", ports=[{"containerPort": 80}]), "m").object(201)
    udp = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    changed = api.apply(path, deployment("web", ports=udp), "m").object()
    ports = changed["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert [port["protocol"] for port in ports] == ["TCP", "UDP"]


def test_an_update_takes_what_it_changes(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.apply(path, configmap("a", one="1", two="2"), "m").object(201)
    changed = api.patch(f"{path}?fieldManager=upd", {"data": {"one": "x"}})
    assert owners(changed) == {
        ("m", "Apply"): {"f:data": {"f:two": {}}},
        ("upd", "Update"): {"f:data": {"f:one": {}}},
    }


def test_what_was_there_before_the_first_apply_is_remembered(api: Backend, configmaps: str) -> None:
    path = f"{configmaps}/a"
    api.create(configmaps, configmap("a", k="1"))
    api.patch(path, {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in api.read(path)["metadata"]
    applied = api.apply(path, configmap("a", mine="2"), "m").object()
    assert ("before-first-apply", "Update") in owners(applied)


def test_applied_status_is_owned_apart(api: Backend, deployments: str) -> None:
    path = f"{deployments}/web"
    api.apply(path, deployment("web"), "m").object(201)
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    changed = api.apply(f"{path}/status", {**status, "status": {"replicas": 2}}, "s").object()
    assert changed["status"] == {"replicas": 2}
    (entry,) = [one for one in changed["metadata"]["managedFields"] if one["manager"] == "s"]
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    assert entry["fieldsV1"] == {"f:status": {"f:replicas": {}}}
    answer = api.apply(f"{path}/status", {**status, "status": {"replicas": 3}}, "t")
    answer.refusal(
        409,
        "Conflict",
        'Apply failed with 1 conflict: conflict with "s" with subresource "status": '
        ".status.replicas",
    )


def test_a_dry_apply_stores_nothing(api: Backend, configmaps: str) -> None:
    dry = api.apply(f"{configmaps}/a", configmap("a", k="v"), "m", "&dryRun=All").object(201)
    assert dry["data"] == {"k": "v"}
    assert api.request("GET", f"{configmaps}/a").status == 404


def test_an_apply_can_be_a_lock(api: Backend, configmaps: str) -> None:
    made = api.apply(f"{configmaps}/a", configmap("a", k="1"), "m").object(201)
    api.patch(f"{configmaps}/a", {"data": {"x": "y"}})
    sent = configmap("a", k="2")
    sent["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    details = api.apply(f"{configmaps}/a", sent, "m").refusal(409, "Conflict")
    assert details == {"name": "a", "kind": "configmaps"}


def test_a_uid_cannot_be_applied_into_being(api: Backend, configmaps: str) -> None:
    sent = configmap("a")
    sent["metadata"]["uid"] = "x"
    answer = api.apply(f"{configmaps}/a", sent, "m")
    answer.refusal(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object '
        "specified uid x, and no existing object was found",
    )


def test_a_manager_is_needed(api: Backend, configmaps: str) -> None:
    details = api.try_patch(f"{configmaps}/a", configmap("a"), "apply").refusal(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for '
        "apply patch",
    )
    assert details["causes"][0]["field"] == "fieldManager"


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        pytest.param({"kind": ""}, 400, "", id="no kind"),
        pytest.param({"apiVersion": "v2"}, 400, "", id="another version"),
        pytest.param(
            {"metadata": {"name": "a", "managedFields": [{"manager": "x"}]}},
            400, "metadata.managedFields must be nil", id="with managed fields",
        ),
        pytest.param({"metadata": {"name": "b"}}, 400, "", id="another name"),
    ],
)  # fmt: skip
def test_wrong_configurations_are_refused(
    api: Backend, configmaps: str, change: Wire, code: int, message: str
) -> None:
    answer = api.apply(f"{configmaps}/a", {**configmap("a"), **change}, "m")
    assert (answer.status, answer.json()["kind"]) == (code, "Status")
    assert message in answer.json()["message"]


def test_an_unknown_field_cannot_be_applied(api: Backend, configmaps: str) -> None:
    answer = api.apply(f"{configmaps}/a", {**configmap("a"), "foo": 1}, "m")
    assert answer.status == 500
    assert answer.json()["message"].endswith(".foo: field not declared in schema")


def test_fields_can_be_handed_over_as_kubectl_does(api: Backend, deployments: str) -> None:
    """From client-side to server-side apply: rewrite the managers, then apply again."""
    path = f"{deployments}/web"
    api.create(f"{deployments}?fieldManager=kubectl-client-side-apply", deployment("web"))
    applied = api.apply(path, deployment("web"), "kubectl").object()
    entries = applied["metadata"]["managedFields"]
    kept = [one for one in entries if one["manager"] == "kubectl"]
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": kept},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": applied["metadata"]["resourceVersion"],
        },
    ]
    moved = api.patch(f"{path}?fieldManager=kubectl", patch, "json")
    assert set(owners(moved)) == {("kubectl", "Apply")}
    final = deployment("web")
    del final["spec"]["replicas"]
    assert api.apply(path, final, "kubectl").object()["spec"]["replicas"] == 1
