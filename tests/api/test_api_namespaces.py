"""Namespaces: how they are made, what they refuse while they end, how they are finalized."""

import pytest
from backends import Backend
from manifests import configmap

from atoll.wire import Wire

NAMESPACES = "/api/v1/namespaces"


def finalize(api: Backend, name: str) -> Wire:
    found = api.read(f"{NAMESPACES}/{name}")
    found["spec"] = {"finalizers": []}
    return api.request("PUT", f"{NAMESPACES}/{name}/finalize", body=found).object()


def test_a_namespace_is_active_and_labelled_with_its_name(api: Backend, unique: str) -> None:
    made = api.create(NAMESPACES, {"metadata": {"name": unique}})
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["status"] == {"phase": "Active"}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": unique}


def test_the_name_of_a_namespace_is_a_label(api: Backend) -> None:
    answer = api.request("POST", NAMESPACES, body={"metadata": {"name": "a.b"}})
    answer.refusal(
        422,
        "Invalid",
        'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots',
    )
    answer = api.request("POST", NAMESPACES, body={"metadata": {"name": "A"}})
    answer.refusal(
        422,
        "Invalid",
        'Namespace "A" is invalid: metadata.name: Invalid value: "A": a lowercase RFC 1123 '
        "label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation "
        "is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    )


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_system_namespaces_are_there_to_stay(api: Backend, name: str) -> None:
    assert api.read(f"{NAMESPACES}/{name}")["status"] == {"phase": "Active"}
    answer = api.request("DELETE", f"{NAMESPACES}/{name}")
    message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert answer.refusal(403, "Forbidden", message) == {"name": name, "kind": "namespaces"}


def test_deleting_a_namespace_begins_its_end(api: Backend, unique: str) -> None:
    api.create(NAMESPACES, {"metadata": {"name": unique, "finalizers": ["example.com/hold"]}})
    ending = api.delete(f"{NAMESPACES}/{unique}")
    assert ending["kind"] == "Namespace"
    assert ending["status"]["phase"] == "Terminating"
    assert ending["metadata"]["deletionTimestamp"]
    assert ending["spec"] == {"finalizers": ["kubernetes"]}
    api.patch(f"{NAMESPACES}/{unique}", {"metadata": {"finalizers": None}})


def test_an_ending_namespace_takes_nothing_new(api: Backend, configmaps: str, unique: str) -> None:
    held = configmap("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    api.create(configmaps, held)
    api.delete(f"{NAMESPACES}/{unique}")
    details = api.request("POST", configmaps, body=configmap("late")).refusal(
        403,
        "Forbidden",
        f'configmaps "late" is forbidden: unable to create new content in namespace {unique} '
        "because it is being terminated",
    )
    assert details == {
        "name": "late",
        "kind": "configmaps",
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {unique} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }
    assert api.patch(f"{configmaps}/a", {"data": {"k": "v"}})["data"] == {"k": "v"}
    api.patch(f"{configmaps}/a", {"metadata": {"finalizers": None}})


def test_a_namespace_goes_with_its_last_finalizers(api: Backend, unique: str) -> None:
    api.create(NAMESPACES, {"metadata": {"name": unique, "finalizers": ["example.com/hold"]}})
    finalize(api, unique)
    api.delete(f"{NAMESPACES}/{unique}")
    assert api.read(f"{NAMESPACES}/{unique}")["status"]["phase"] == "Terminating"
    api.patch(f"{NAMESPACES}/{unique}", {"metadata": {"finalizers": None}})
    assert api.request("GET", f"{NAMESPACES}/{unique}").status == 404


def test_finalizers_of_the_spec_change_through_finalize_only(api: Backend, unique: str) -> None:
    api.create(NAMESPACES, {"metadata": {"name": unique}})
    sent = {"metadata": {"name": unique}, "spec": {"finalizers": ["kubernetes", "example.com/x"]}}
    assert api.update(f"{NAMESPACES}/{unique}", sent)["spec"] == {"finalizers": ["kubernetes"]}
    changed = api.request("PUT", f"{NAMESPACES}/{unique}/finalize", body=sent).object()
    assert changed["spec"] == sent["spec"]
    finalize(api, unique)
    assert api.read(f"{NAMESPACES}/{unique}")["spec"] == {}


def test_status_of_a_namespace_is_written_apart(api: Backend, unique: str) -> None:
    made = api.create(NAMESPACES, {"metadata": {"name": unique}})
    condition = {"type": "X", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    made["status"]["conditions"] = [condition]
    changed = api.update(f"{NAMESPACES}/{unique}/status", made)
    assert changed["status"]["conditions"] == [condition]


def test_namespaces_can_be_selected_by_phase(api: Backend, namespace: str) -> None:
    query = f"fieldSelector=status.phase%3DActive,metadata.name%3D{namespace}"
    assert len(api.read(f"{NAMESPACES}?{query}")["items"]) == 1
    query = query.replace("Active", "Terminating")
    assert api.read(f"{NAMESPACES}?{query}")["items"] == []
