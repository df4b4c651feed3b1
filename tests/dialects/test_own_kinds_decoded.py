"""Karmada's kinds as values: read whatever is written, and written back without losing anything."""

import copy
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_wire_junk import junk

from atoll.dialects.karmada.objects import encoding, kinds
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.binding import Target

BINDING: dict[str, Any] = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "kind": "ResourceBinding",
    "metadata": {
        "namespace": "shop",
        "name": "web-deployment",
        "uid": "b-1",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["f"],
        "ownerReferences": [{"kind": "Deployment", "uid": "u-1", "controller": True}],
        "creationTimestamp": "2026-05-01T10:00:00Z",
    },
    "spec": {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop"}
        | {"name": "web", "uid": "u-1"},
        "clusters": [{"name": "m1", "replicas": 2}],
        "requiredBy": [
            {"namespace": "shop", "name": "app", "clusters": [{"name": "m1"}, {"name": "m2"}]}
        ],
        "gracefulEvictionTasks": [{"fromCluster": "m3", "purgeMode": "Directly", "replicas": 1}],
        "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
        "replicas": 2,
        "suspension": {"dispatchingOnClusters": {"clusterNames": ["m2"]}},
        "failover": {"cluster": {"purgeMode": "Immediately"}},
        "schedulePriority": {"priority": 5},
        "conflictResolution": "Overwrite",
        "propagateDeps": True,
    },
    "status": {
        "conditions": [{"type": "Scheduled", "status": "True"}],
        "aggregatedStatus": [{"clusterName": "m1"}],
        "schedulerObservedGeneration": 3,
        "lastScheduledTime": "2026-05-01T10:00:01Z",
    },
}
WORK: dict[str, Any] = {
    "apiVersion": "work.karmada.io/v1alpha1",
    "kind": "Work",
    "metadata": {
        "namespace": "karmada-es-m1",
        "name": "web-1",
        "annotations": {
            "resourcebinding.karmada.io/namespace": "shop",
            "resourcebinding.karmada.io/name": "web-deployment",
        },
    },
    "spec": {"workload": {"manifests": [{"kind": "Deployment"}]}, "suspendDispatching": True},
    "status": {"conditions": [{"type": "Applied"}], "manifestStatuses": [{"health": "Healthy"}]},
}
SELECTOR = {"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {}}
POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"namespace": "shop", "name": "p"},
    "spec": {"resourceSelectors": [SELECTOR], "priority": 3, "preemption": "Always"}
    | {"activationPreference": "Lazy", "dependentOverrides": ["o"]},
}
OVERRIDE: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "OverridePolicy",
    "metadata": {"namespace": "shop", "name": "o"},
    "spec": {
        "resourceSelectors": [SELECTOR],
        "overrideRules": [
            {"targetCluster": {"clusterNames": ["m1"]}, "overriders": {"plaintext": []}}
        ],
    },
}
CLUSTER: dict[str, Any] = {
    "apiVersion": "cluster.karmada.io/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "m1"},
    "spec": {
        "syncMode": "Pull",
        "secretRef": {"namespace": "karmada-cluster", "name": "m1"},
        "taints": [{"key": "a", "effect": "NoExecute"}],
        "region": "eu",
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
TAINTING: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "ClusterTaintPolicy",
    "metadata": {"name": "t"},
    "spec": {
        "targetClusters": {"clusterNames": ["m1"]},
        "taints": [{"key": "a", "value": "b", "effect": "NoExecute"}],
        "addOnConditions": [
            {"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}
        ],
    },
}
REBALANCER: dict[str, Any] = {
    "apiVersion": "apps.karmada.io/v1alpha1",
    "kind": "WorkloadRebalancer",
    "metadata": {"name": "again"},
    "spec": {
        "workloads": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "ttlSecondsAfterFinished": 60,
    },
    "status": {
        "observedWorkloads": [{"workload": {"kind": "Deployment"}, "result": "Failed"}],
        "finishTime": "2026-05-01T10:00:01Z",
    },
}
PRICE: dict[str, Any] = {
    "apiVersion": "placement.atoll.io/v1alpha1",
    "kind": "ClusterPrice",
    "metadata": {"name": "m1"},
    "spec": {"currency": "EUR", "perCPUHour": "0.5", "validFrom": "2026-05-01T10:00:00Z"},
    "status": {"conditions": [{"type": "InForce", "status": "True"}]},
}
PARTS = ("spec", "status")
EACH = [
    pytest.param(kinds.RESOURCE_BINDING, BINDING, id="binding"),
    pytest.param(kinds.WORK, WORK, id="work"),
    pytest.param(kinds.PROPAGATION_POLICY, POLICY, id="propagation policy"),
    pytest.param(kinds.OVERRIDE_POLICY, OVERRIDE, id="override policy"),
    pytest.param(kinds.CLUSTER, CLUSTER, id="cluster"),
    pytest.param(kinds.CLUSTER_TAINT_POLICY, TAINTING, id="taint policy"),
    pytest.param(kinds.WORKLOAD_REBALANCER, REBALANCER, id="rebalancer"),
    pytest.param(kinds.CLUSTER_PRICE, PRICE, id="price"),
]


def paths(wire: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in an object's spec or status."""
    found = [here] if here and here[0] in ("spec", "status") else []
    if isinstance(wire, dict | list):
        for key, value in wire.items() if isinstance(wire, dict) else enumerate(wire):
            found += paths(value, (*here, key))
    return found


def with_value(wire: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(wire)
    inside: Any = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return changed


@pytest.mark.parametrize(("kind", "wire"), EACH)
@given(data=st.data())
@settings(max_examples=150)
def test_whatever_is_written_is_read_and_what_is_wrong_names_its_field(kind, wire, data) -> None:
    path = data.draw(st.sampled_from(paths(wire)))
    value = kind.decode(with_value(wire, path, data.draw(junk)), None)
    assert value.meta.ref == Ref.of(wire)
    assert value.problem is None or (isinstance(value.problem, Invalid) and value.problem.field)


@pytest.mark.parametrize(("kind", "wire"), EACH)
@given(data=st.data())
@settings(max_examples=60)
def test_what_is_taken_over_from_the_version_before_is_what_is_written(kind, wire, data) -> None:
    value = data.draw(junk)
    changed = with_value(wire, data.draw(st.sampled_from(paths(wire))), value)
    # Python takes true for one, and 2.0 for two.
    alike = [each for each in PARTS if changed.get(each) == wire.get(each)]
    assume(all(repr(changed.get(each)) == repr(wire.get(each)) for each in alike))
    before, fresh = kind.decode(copy.deepcopy(wire), None), kind.decode(changed, None)
    after = kind.decode(changed, before)
    read = ("meta", "spec", "status", "conditions", "selectors", "rules")
    for each in (name for name in read if hasattr(after, name)):
        assert repr(getattr(after, each)) == repr(getattr(fresh, each))
    assert str(after.problem) == str(fresh.problem)


def test_a_binding_says_where_it_goes_what_leaves_and_whose_it_is() -> None:
    binding = kinds.RESOURCE_BINDING.decode(BINDING, None)
    assert binding.targets == (Target("m1", 2), Target("m2", 0))
    assert binding.spec.clusters == (Target("m1", 2),)
    assert binding.spec.template == Ref("apps/v1", "Deployment", "shop", "web")
    eviction = binding.spec.evictions[0]
    assert (eviction.cluster, eviction.is_at_once, eviction.replicas) == ("m3", True, 1)
    assert binding.spec.suspended_in == ("m2",)
    assert binding.spec.is_divided
    assert (binding.spec.purge_mode, binding.spec.priority) == ("Immediately", 5)
    assert binding.status.last_scheduled == 1777629601.0
    assert binding.meta.owners[0].controller
    assert (binding.meta.created, binding.meta.is_going) == (1777629600.0, False)


def test_a_status_that_changed_leaves_the_spec_as_it_was_read() -> None:
    before = kinds.RESOURCE_BINDING.decode(BINDING, None)
    after = kinds.RESOURCE_BINDING.decode({**copy.deepcopy(BINDING), "status": {}}, before)
    assert after.spec is before.spec
    assert after.status != before.status


def test_what_cannot_be_read_of_a_placement_is_the_schedulers_problem_alone() -> None:
    path = ("spec", "placement", "clusterAffinity")
    binding = kinds.RESOURCE_BINDING.decode(with_value(BINDING, path, "nonsense"), None)
    problem = binding.standing()
    assert binding.problem is None
    assert isinstance(problem, Invalid)
    assert problem.field == "spec.placement.clusterAffinity"


fields = st.dictionaries(st.sampled_from("abcd"), junk, max_size=3)


@given(known=st.lists(st.sampled_from(["m1", "m2", "m3"]), unique=True), extra=fields)
def test_what_others_wrote_on_a_target_stays(known, extra) -> None:
    wires = [{"name": each, "replicas": 1, **extra} for each in known]
    targets = [Target("m2", 5), Target("m3")]
    written = encoding.clusters(targets, wires)
    assert [(each["name"], each.get("replicas", 0)) for each in written] == [("m2", 5), ("m3", 0)]
    for each in written:
        assert each["name"] not in known or {key: each[key] for key in extra} == extra


@given(wire=st.dictionaries(st.sampled_from("abxy"), junk), patch=fields)
def test_a_patch_changes_its_own_fields_and_nothing_else(wire, patch) -> None:
    before = copy.deepcopy(wire)
    after = encoding.patched(wire, patch)
    assert wire == before
    assert {key: after[key] for key in after if key not in patch} == {
        key: wire[key] for key in wire if key not in patch
    }
    for key, value in patch.items():
        assert (key not in after) if value is None else (key in after)
