"""Scale: the one thing many kinds have in common, as a resource of its own."""

import pytest
from backends import Backend
from manifests import configmap, deployment


def test_scale_shows_what_the_object_has(api: Backend, deployments: str, namespace: str) -> None:
    made = api.create(deployments, deployment("web", replicas=3))
    scale = api.read(f"{deployments}/web/scale")
    assert scale == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            key: made["metadata"][key]
            for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        },
        "spec": {"replicas": 3},
        "status": {"replicas": 0, "selector": "app=web"},
    }


def test_scale_changes_the_object_and_its_generation(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    scale = api.read(f"{deployments}/web/scale")
    scale["spec"]["replicas"] = 5
    changed = api.update(f"{deployments}/web/scale", scale)
    assert (changed["kind"], changed["spec"]) == ("Scale", {"replicas": 5})
    found = api.read(f"{deployments}/web")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)
    assert changed["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]


def test_scale_can_be_patched_as_kubectl_does(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    changed = api.patch(f"{deployments}/web/scale?fieldManager=k", {"spec": {"replicas": 4}})
    assert changed["spec"] == {"replicas": 4}
    entries = api.read(f"{deployments}/web")["metadata"]["managedFields"]
    (mine,) = [one for one in entries if one["manager"] == "k"]
    assert (mine["subresource"], mine["apiVersion"]) == ("scale", "apps/v1")
    assert mine["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


def test_scale_of_zero_is_left_out(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web", replicas=0))
    assert api.read(f"{deployments}/web/scale")["spec"] == {}


def test_a_stale_scale_is_refused(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    scale = api.read(f"{deployments}/web/scale")
    api.patch(f"{deployments}/web", {"metadata": {"labels": {"a": "b"}}})
    scale["spec"]["replicas"] = 2
    answer = api.request("PUT", f"{deployments}/web/scale", body=scale)
    details = answer.refusal(409, "Conflict")
    assert (details["name"], details["kind"]) == ("web", "deployments")


def test_a_scale_without_a_version_wins(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    scale = {"metadata": {"name": "web"}, "spec": {"replicas": 2}}
    assert api.update(f"{deployments}/web/scale", scale)["spec"] == {"replicas": 2}


def test_a_negative_scale_is_refused(api: Backend, deployments: str) -> None:
    api.create(deployments, deployment("web"))
    answer = api.try_patch(f"{deployments}/web/scale", {"spec": {"replicas": -1}})
    details = answer.refusal(422, "Invalid")
    assert details["causes"][0]["field"] == "spec.replicas"
    assert details["causes"][0]["message"].endswith("must be greater than or equal to 0")


@pytest.mark.parametrize("plural", ["replicasets", "statefulsets"])
def test_other_workloads_have_a_scale_too(api: Backend, namespace: str, plural: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/{plural}"
    made = deployment("web", replicas=2)
    del made["kind"]
    if plural == "statefulsets":
        made["spec"]["serviceName"] = "web"
    api.create(path, made)
    assert api.read(f"{path}/web/scale")["spec"] == {"replicas": 2}


def test_what_has_no_scale_says_so(api: Backend, configmaps: str, deployments: str) -> None:
    api.create(configmaps, configmap("a"))
    message = "the server could not find the requested resource"
    assert api.request("GET", f"{configmaps}/a/scale").refusal(404, "NotFound", message) == {}
    details = api.request("GET", f"{deployments}/nope/scale").refusal(404, "NotFound")
    assert details["name"] == "nope"
