"""Our defaults give the object that a real kube-apiserver gives for the same input."""

import copy

import pytest
from kinds_recorded import STAMPS, born, documents, recorded, resource_at

SAMPLES = [pytest.param(sample, id=sample["id"]) for sample in documents("samples")]


def made(sample):
    real = recorded("objects")[sample["id"]]
    stamps = {key: real["metadata"][key] for key in STAMPS if key in real["metadata"]}
    return born(resource_at(sample["resource"]), sample["object"], stamps)


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_new_object_is_defaulted_as_kubernetes_does(sample):
    real = copy.deepcopy(recorded("objects")[sample["id"]])
    # The one field that comes from the clock; ours is left to whoever moves the phase.
    real.get("status", {}).pop("lastPhaseTransitionTime", None)
    assert made(sample) == real


@pytest.mark.parametrize("sample", SAMPLES)
def test_defaulting_again_changes_nothing(sample):
    once = made(sample)
    twice = copy.deepcopy(once)
    resource_at(sample["resource"]).strategy.default(twice)
    assert twice == once


@pytest.mark.parametrize("sample", SAMPLES)
def test_what_kubernetes_accepts_breaks_no_rule(sample):
    assert not list(resource_at(sample["resource"]).strategy.errors(made(sample)))


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_object_may_be_replaced_by_itself(sample):
    obj = made(sample)
    assert not list(resource_at(sample["resource"]).strategy.update_errors(obj, copy.deepcopy(obj)))


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("nginx", "Always", id="no tag"),
        pytest.param("nginx:latest", "Always", id="latest"),
        pytest.param("nginx:1", "IfNotPresent", id="tag"),
        pytest.param("host:5000/nginx", "Always", id="port is no tag"),
        pytest.param("host:5000/nginx:1", "IfNotPresent", id="port and tag"),
        pytest.param("nginx@sha256:00", "IfNotPresent", id="digest"),
        pytest.param("nginx:latest@sha256:00", "Always", id="latest and digest"),
        pytest.param("", "IfNotPresent", id="none"),
    ],
)
def test_an_image_is_pulled_by_how_it_is_named(image, policy):
    pods = resource_at("/api/v1/pods")
    pod = {"metadata": {}, "spec": {"containers": [{"name": "a", "image": image}]}}
    pods.strategy.default(pod)
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        pytest.param({}, "BestEffort", id="nothing asked"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="a request"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits"),
        pytest.param(
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
            "Burstable",
            id="less than the limit",
        ),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="one limit of two"),
    ],
)
def test_a_pods_quality_of_service_follows_from_its_resources(resources, quality):
    pods = resource_at("/api/v1/pods")
    container = {"name": "a", "image": "a", "resources": resources}
    pod = {"metadata": {}, "spec": {"containers": [container]}}
    pods.strategy.default(pod)
    assert pod["status"]["qosClass"] == quality
