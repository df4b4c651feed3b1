"""HorizontalPodAutoscalers are one thing in two versions: written in either, read in both."""

import json
from typing import Any

import pytest
from backends import Backend

from atoll.wire import Wire

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS: list[Any] = [
    {"type": "Pods", "pods": {"metric": {"name": "queue"}, "target": {"type": "AverageValue"}}},
    {
        "type": "Object",
        "object": {
            "metric": {"name": "hits", "selector": {"matchLabels": {"a": "b"}}},
            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
            "target": {"type": "Value", "value": "2k"},
        },
    },
    {
        "type": "External",
        "external": {
            "metric": {"name": "mails"},
            "target": {"type": "AverageValue", "averageValue": "30"},
        },
    },
    {
        "type": "ContainerResource",
        "containerResource": {
            "name": "cpu",
            "container": "main",
            "target": {"type": "Utilization", "averageUtilization": 60},
        },
    },
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    },
]
METRICS[0]["pods"]["target"]["averageValue"] = "5"


def places(namespace: str) -> tuple[str, str]:
    """The collections of both versions."""
    return (
        f"/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers",
        f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers",
    )


def autoscaler(name: str, **spec: Any) -> Wire:
    return {
        "metadata": {"name": name},
        "spec": {"maxReplicas": 5, "scaleTargetRef": TARGET, **spec},
    }


def of_cpu(percent: int) -> Wire:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


@pytest.mark.parametrize(
    ("given", "percent"),
    [
        pytest.param({}, 80, id="unsaid"),
        pytest.param({"targetCPUUtilizationPercentage": 30}, 30, id="said"),
    ],
)
def test_a_percentage_is_a_metric_in_the_newer_version(
    api: Backend, namespace: str, given: Wire, percent: int
) -> None:
    old, new = places(namespace)
    made = api.create(old, autoscaler("a", **given))
    assert made["spec"]["targetCPUUtilizationPercentage"] == percent
    assert (made["apiVersion"], made["spec"]["minReplicas"]) == ("autoscaling/v1", 1)
    seen = api.read(f"{new}/a")
    assert (seen["apiVersion"], seen["spec"]["metrics"]) == ("autoscaling/v2", [of_cpu(percent)])
    assert "annotations" not in seen["metadata"]


def test_what_the_older_version_has_no_field_for_is_in_annotations(
    api: Backend, namespace: str
) -> None:
    old, new = places(namespace)
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    made = api.create(new, autoscaler("a", metrics=METRICS, behavior=behavior))
    seen = api.read(f"{old}/a")
    assert seen["spec"]["targetCPUUtilizationPercentage"] == 50
    notes = {key.removeprefix(PREFIX): json.loads(value) for key, value in annotations(seen)}
    service = {"kind": "Service", "name": "web", "apiVersion": "v1"}
    assert notes["metrics"] == [
        {"type": "Pods", "pods": {"metricName": "queue", "targetAverageValue": "5"}},
        {
            "type": "Object",
            "object": {
                "target": service,
                "metricName": "hits",
                "targetValue": "2k",
                "selector": {"matchLabels": {"a": "b"}},
            },
        },
        {"type": "External", "external": {"metricName": "mails", "targetAverageValue": "30"}},
        {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "container": "main",
                "targetAverageUtilization": 60,
            },
        },
    ]
    assert notes["behavior"]["ScaleDown"]["StabilizationWindowSeconds"] == 60
    assert notes["behavior"]["ScaleUp"]["Policies"][0] == {
        "Type": "Pods",
        "Value": 4,
        "PeriodSeconds": 15,
    }
    assert made["spec"]["behavior"]["scaleDown"]["selectPolicy"] == "Max"


def annotations(seen: Wire) -> Any:
    return seen["metadata"]["annotations"].items()


def test_a_round_through_the_older_version_loses_nothing(api: Backend, namespace: str) -> None:
    old, new = places(namespace)
    made = api.create(new, autoscaler("a", metrics=METRICS, behavior={"scaleUp": {}}))
    seen = api.read(f"{old}/a")
    api.update(f"{old}/a", {**seen, "spec": {**seen["spec"], "maxReplicas": 7}})
    after = api.read(f"{new}/a")
    assert after["spec"] == {**made["spec"], "maxReplicas": 7}
    assert "annotations" not in after["metadata"]


def test_what_is_measured_is_read_in_both_versions(api: Backend, namespace: str) -> None:
    old, new = places(namespace)
    api.create(new, autoscaler("a"))
    current = {"averageValue": "10m", "averageUtilization": 7}
    status = {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}],
        "conditions": [
            {
                "type": "AbleToScale",
                "status": "True",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }
    api.patch(f"{new}/a/status", {"status": status})
    seen = api.read(f"{old}/a")
    assert seen["status"] == {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "currentCPUUtilizationPercentage": 7,
    }
    notes = dict(annotations(seen))
    assert json.loads(notes[f"{PREFIX}conditions"]) == status["conditions"]
    measured = json.loads(notes[f"{PREFIX}current-metrics"])
    assert measured == [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "currentAverageUtilization": 7,
                "currentAverageValue": "10m",
            },
        }
    ]
    api.patch(f"{old}/a/status", {"status": {"desiredReplicas": 4}})
    assert api.read(f"{new}/a")["status"] == {**status, "desiredReplicas": 4}


def test_both_versions_are_watched(api: Backend, namespace: str) -> None:
    old, new = places(namespace)
    since = api.read(old)["metadata"]["resourceVersion"]
    api.create(old, autoscaler("a"))
    for place, version in ((old, "autoscaling/v1"), (new, "autoscaling/v2")):
        with api.watch(f"{place}?watch=true&resourceVersion={since}") as watch:
            event = watch.next()
            assert (event["type"], event["object"]["apiVersion"]) == ("ADDED", version)
            assert ("metrics" in event["object"]["spec"]) is (version == "autoscaling/v2")


def test_patches_in_either_version_meet(api: Backend, namespace: str) -> None:
    old, new = places(namespace)
    api.create(old, autoscaler("a"))
    api.patch(f"{new}/a", {"spec": {"metrics": [of_cpu(20)]}})
    changed = api.patch(f"{old}/a", {"spec": {"minReplicas": 2}})
    assert changed["spec"]["targetCPUUtilizationPercentage"] == 20
    assert api.read(f"{new}/a")["spec"]["minReplicas"] == 2
