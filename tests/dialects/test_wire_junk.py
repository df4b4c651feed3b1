"""Whatever comes over the wire, reading it ends in a model or in an error that names the field."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.dialects.karmada import admission, binding, cluster, placement
from atoll.dialects.kubernetes import pods
from atoll.errors import Invalid
from atoll.model.binding import Binding

words = st.sampled_from(
    ["", "a", "In", "Exists", "Gt", "zone", "cluster", "Divided", "Weighted", "1", "-1", "1Gi"]
)
numbers = st.integers(-3, 3) | st.sampled_from([2**31, -(2**63), 2**64])
scalars = st.none() | st.booleans() | numbers | st.floats() | words | st.text(max_size=3)
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)

EXPRESSION = {"key": "zone", "operator": "In", "values": ["a"]}
SELECTING = {
    "clusterNames": ["a"],
    "exclude": ["b"],
    "labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [EXPRESSION]},
    "fieldSelector": {"matchExpressions": [EXPRESSION]},
}
PLACEMENT = {
    "clusterAffinity": SELECTING,
    "clusterAffinities": [
        {"affinityName": "a", "overflowAffinities": [{"affinityName": "b", **SELECTING}]}
    ],
    "clusterTolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}],
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}],
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {
            "staticWeightList": [{"targetCluster": SELECTING, "weight": 1}],
            "dynamicWeight": "",
        },
    },
    "workloadAffinity": {"affinity": {"groupByLabelKey": "a"}},
}
MORE = SELECTING | {
    "properties": [EXPRESSION],
    "clusterSets": ["s"],
    "expressions": ["e"],
    "anyOf": [SELECTING],
}
ADDITIONS = {
    "clusters": MORE,
    "select": {
        "order": "Best",
        "minClusters": 1,
        "spread": [{"by": "zone", "maxSkew": 1}],
        "quotas": [{"clusters": MORE, "count": 1}],
    },
    "divide": {"weights": [{"clusters": MORE, "weight": 1}]},
    "replicasPerCluster": [{"clusters": MORE, "min": 1, "max": 2}],
    "prefer": [{"clusters": MORE, "weight": 2}],
    "scores": {"a": 1},
    "preemption": {"mayPreempt": True},
}
CLUSTER = {
    "metadata": {
        "name": "a",
        "labels": {"a": "b"},
        "annotations": {"atoll.io/price": "cpu=1", "atoll.io/scores": "a=1"},
    },
    "spec": {
        "zones": ["a"],
        "taints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "2026-05-01T10:00:00Z"}],
        "resourceModels": [{"grade": 0, "ranges": [{"name": "cpu", "min": "1"}]}],
    },
    "status": {
        "apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "a", "kind": "A"}]}],
        "conditions": [{"type": "Ready", "status": "True"}],
        "resourceSummary": {
            "allocatable": {"cpu": "1", "pods": "1"},
            "allocated": {"cpu": "1"},
            "allocatableModelings": [{"grade": 0, "count": 1}],
        },
    },
}
CLAIM = {
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "a"}],
    "hardNodeAffinity": {
        "nodeSelectorTerms": [{"matchExpressions": [EXPRESSION], "matchFields": [EXPRESSION]}]
    },
}
NEEDS = {"resourceRequest": {"cpu": "1"}, "nodeClaim": CLAIM}
BINDING = {
    "metadata": {"name": "a", "resourceVersion": "1"},
    "cluster": "a",
    "components": [{"name": "a", "replicas": 1, "replicaRequirements": NEEDS}],
    "status": {"lastScheduledTime": "2026-05-01T10:00:00Z"},
    "spec": {
        "resource": {"apiVersion": "v1", "kind": "A", "name": "a"},
        "placement": PLACEMENT,
        "replicas": 1,
        "replicaRequirements": NEEDS,
        "components": [{"name": "a", "replicas": 1, "replicaRequirements": NEEDS}],
        "clusters": [{"name": "a", "replicas": 1}],
        "gracefulEvictionTasks": [{"fromCluster": "a"}],
        "rescheduleTriggeredAt": "2026-05-01T10:00:00Z",
        "schedulePriority": {"priority": 1},
        "workloadAffinityGroups": {"affinityGroup": "a=b"},
    },
}
CONTAINER = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}, "limits": {}}}
POD = CLAIM | {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "overhead": {"cpu": "1"},
    "resources": {"limits": {"cpu": "1"}},
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": CLAIM["hardNodeAffinity"]
        }
    },
}


def decode_binding(wire: Any) -> Binding:
    return binding.decode(wire["spec"], wire["status"])


READERS: dict[str, tuple[Callable[[Any], object], Any]] = {
    "cluster": (cluster.decode, CLUSTER),
    "placement": (placement.decode, PLACEMENT),
    "additions": (lambda wire: placement.decode({}, wire), ADDITIONS),
    "admission": (admission.validate, PLACEMENT),
    "neighbour": (binding.neighbour, BINDING),
    "pod": (pods.demand, POD),
}
ALL = READERS | {"binding": (decode_binding, BINDING)}


def places(wire: Any) -> list[tuple[str | int, ...]]:
    """Every place inside a document."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(wire, dict):
        inner = list(wire.items())
    if isinstance(wire, list):
        inner = list(enumerate(wire))
    return [(), *((key, *rest) for key, value in inner for rest in places(value))]


def put(wire: Any, place: tuple[str | int, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.copy(wire)
    changed[place[0]] = put(wire[place[0]], place[1:], value)
    return changed


def expect_read_or_refused(read: Callable[[Any], object], wire: Any) -> None:
    before, refusal = repr(wire), None
    try:
        read(wire)
    except Invalid as refused:
        refusal = refused
    assert refusal is None or (refusal.field and refusal.problem)
    assert repr(wire) == before, "reading must not change what it reads"


@pytest.mark.parametrize("what", READERS)
@settings(max_examples=40)
@given(wire=junk)
def test_junk_is_read_or_refused(what: str, wire: Any) -> None:
    expect_read_or_refused(READERS[what][0], wire)


@settings(max_examples=40)
@given(spec=junk, status=junk)
def test_junk_of_a_binding_is_read_or_refused(spec: Any, status: Any) -> None:
    expect_read_or_refused(decode_binding, {"spec": spec, "status": status})


@pytest.mark.parametrize("what", ALL)
@settings(max_examples=40)
@given(data=st.data())
def test_junk_anywhere_in_a_good_document_is_read_or_refused(what: str, data: Any) -> None:
    read, good = ALL[what]
    spots = [place for place in places(good) if place or what != "binding"]
    wire = put(good, data.draw(st.sampled_from(spots)), data.draw(junk))
    expect_read_or_refused(read, wire)


@pytest.mark.parametrize("what", ALL)
def test_the_good_documents_are_read(what: str) -> None:
    read, good = ALL[what]
    assert read(good)
