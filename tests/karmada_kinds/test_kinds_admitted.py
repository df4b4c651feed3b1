"""What the server fills in and refuses when Karmada's kinds are written."""

import re
from typing import Any

import pytest
from karmada_plane import Asking
from karmada_samples import BY_KIND, DEPLOYMENTS, RULE

from atoll.wire import Wire

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
MERGE = "application/merge-patch+json"
PROTECTED = "resourcetemplate.karmada.io/deletion-protected"


def written(kind: str, name: str, **spec: Any) -> Wire:
    sample = BY_KIND[kind]
    return {**sample.named(name), "spec": {**sample.content["spec"], **spec}}


def made(plane: Asking, kind: str, name: str, **spec: Any) -> Wire:
    return plane.done("POST", BY_KIND[kind].path(), written(kind, name, **spec))


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("PropagationPolicy", "propagationpolicy.karmada.io/permanent-id"),
        ("ClusterPropagationPolicy", "clusterpropagationpolicy.karmada.io/permanent-id"),
        ("ResourceBinding", "resourcebinding.karmada.io/permanent-id"),
        ("ClusterResourceBinding", "clusterresourcebinding.karmada.io/permanent-id"),
        ("Work", "work.karmada.io/permanent-id"),
    ],
)
def test_objects_get_an_id_that_outlives_their_name(
    plane: Asking, name: str, kind: str, label: str
):
    first, second = made(plane, kind, name), made(plane, kind, f"{name}-b")
    ids = [one["metadata"]["labels"][label] for one in (first, second)]
    assert all(map(UUID.fullmatch, ids))
    assert ids[0] != ids[1]


def test_a_policy_is_held_by_its_controllers_finalizer(plane: Asking, name: str):
    held = made(plane, "PropagationPolicy", name)["metadata"]["finalizers"]
    assert held == ["karmada.io/propagation-policy-controller"]
    held = made(plane, "ClusterPropagationPolicy", name)["metadata"]["finalizers"]
    assert held == ["karmada.io/cluster-propagation-policy-controller"]


def test_a_policy_is_filled_in_by_schema_and_admission(plane: Asking, name: str):
    spec = made(
        plane,
        "PropagationPolicy",
        name,
        propagateDeps=True,
        placement={"spreadConstraints": [{"maxGroups": 2}], "replicaScheduling": {}},
        failover={"application": {"decisionConditions": {}}},
    )["spec"]
    assert spec["resourceSelectors"] == [{**DEPLOYMENTS, "namespace": "default"}]
    assert (spec["priority"], spec["preemption"], spec["conflictResolution"]) == (
        0,
        "Never",
        "Abort",
    )
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["placement"] == {
        "spreadConstraints": [{"maxGroups": 2, "minGroups": 1, "spreadByField": "cluster"}],
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
        },
    }
    assert spec["failover"]["application"] == {
        "decisionConditions": {"tolerationSeconds": 300},
        "purgeMode": "Gracefully",
        "gracePeriodSeconds": 600,
    }


def test_cluster_policies_keep_selecting_everywhere(plane: Asking, name: str):
    spec = made(plane, "ClusterPropagationPolicy", name)["spec"]
    assert spec["resourceSelectors"] == [DEPLOYMENTS]


def test_overrides_select_in_their_namespace(plane: Asking, name: str):
    spec = made(plane, "OverridePolicy", name)["spec"]
    assert spec["resourceSelectors"] == [{**DEPLOYMENTS, "namespace": "default"}]


def test_a_cluster_is_filled_in(plane: Asking, name: str):
    taint = {"key": "gone", "effect": "NoExecute"}
    spec = made(plane, "Cluster", name, zone="a", taints=[taint])["spec"]
    assert "zone" not in spec
    assert spec["zones"] == ["a"]
    assert spec["taints"][0]["timeAdded"].endswith("Z")
    models = spec["resourceModels"]
    assert [model["grade"] for model in models] == list(range(9))
    assert models[0]["ranges"] == [
        {"name": "cpu", "min": "0", "max": "1"},
        {"name": "memory", "min": "0", "max": "4Gi"},
    ]
    assert models[8]["ranges"][0] == {"name": "cpu", "min": "128", "max": str(2**63 - 1)}


def test_models_of_a_cluster_are_put_in_order_and_made_whole(plane: Asking, name: str):
    upper = {"grade": 1, "ranges": [{"name": "cpu", "min": "4", "max": "9"}]}
    lower = {"ranges": [{"name": "cpu", "min": "1", "max": "4"}]}
    models = made(plane, "Cluster", name, resourceModels=[upper, lower])["spec"]["resourceModels"]
    assert models == [
        {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "4"}]},
        {"grade": 1, "ranges": [{"name": "cpu", "min": "4", "max": str(2**63 - 1)}]},
    ]


def test_the_same_manifest_applied_again_changes_nothing(plane: Asking, name: str):
    sample = BY_KIND["PropagationPolicy"]
    manifest = written("PropagationPolicy", name, placement={"replicaScheduling": {}})
    path = f"{sample.path(name)}?fieldManager=me"
    applied = "application/apply-patch+yaml"
    first = plane.done("PATCH", path, manifest, content_type=applied)
    assert plane.done("PATCH", path, manifest, content_type=applied) == first


REFUSALS: dict[str, tuple[str, Wire, str, str]] = {
    "foreign-namespace": (
        "PropagationPolicy",
        {"resourceSelectors": [{**DEPLOYMENTS, "namespace": "other"}]},
        "spec.resourceSelectors[0].namespace",
        'Invalid value: "other": namespace of resource selector must be the same',
    ),
    "no-selector": (
        "PropagationPolicy",
        {"resourceSelectors": []},
        "spec.resourceSelectors",
        "should have at least 1 items",
    ),
    "two-affinities": (
        "ClusterPropagationPolicy",
        {"placement": {"clusterAffinity": {}, "clusterAffinities": [{"affinityName": "a"}]}},
        "spec.placement",
        "clusterAffinities cannot co-exist with clusterAffinity",
    ),
    "preempting-all": (
        "PropagationPolicy",
        {"preemption": "Always"},
        "spec.resourceSelectors[0].name",
        "name cannot be empty if preemption is Always",
    ),
    "unknown-conflict-resolution": (
        "PropagationPolicy",
        {"conflictResolution": "Fight"},
        "spec.conflictResolution",
        'Unsupported value: "Fight": supported values: "Abort", "Overwrite"',
    ),
    "suspended-twice": (
        "PropagationPolicy",
        {"suspension": {"dispatching": True, "dispatchingOnClusters": {"clusterNames": ["a"]}}},
        "spec.suspension",
        "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames",
    ),
    "failover-without-dependencies": (
        "PropagationPolicy",
        {"failover": {"application": {"decisionConditions": {}}}},
        "spec.propagateDeps",
        "Invalid value: false: application failover is set, propagateDeps must be true",
    ),
    "grace-without-grace": (
        "PropagationPolicy",
        {
            "propagateDeps": True,
            "failover": {
                "application": {
                    "decisionConditions": {},
                    "purgeMode": "Never",
                    "gracePeriodSeconds": 5,
                }
            },
        },
        "spec.failover.application.gracePeriodSeconds",
        "Invalid value: 5: only takes effect when purgeMode is gracefully",
    ),
    "state-under-no-label": (
        "PropagationPolicy",
        {
            "failover": {
                "cluster": {
                    "statePreservation": {"rules": [{"aliasLabelName": "a b", "jsonPath": "{.x}"}]}
                }
            },
        },
        "spec.failover.cluster.statePreservation.rules[0].aliasLabelName",
        'Invalid value: "a b": must be a name',
    ),
    "our-own-field": (
        "PropagationPolicy",
        {"atoll": {"select": {"minClusters": 3, "maxClusters": 2}}},
        "spec.atoll.select.maxClusters",
        "Invalid value: 2: must not be less than minClusters (3)",
    ),
    "our-own-choice": (
        "PropagationPolicy",
        {"atoll": {"select": {"order": "Prettiest"}}},
        "spec.atoll.select.order",
        'supported values: "Best", "MostFree", "Cheapest", "Random"',
    ),
    "deep-in-our-own": (
        "PropagationPolicy",
        {"atoll": {"clusters": {"anyOf": [{"anyOf": [{"colour": "red"}]}]}}},
        "spec.atoll.clusters.anyOf[0].anyOf[0].colour",
        "unknown field",
    ),
    "old-and-new-overrides": (
        "OverridePolicy",
        {"overrideRules": [RULE], "targetCluster": {"clusterNames": ["a"]}},
        "spec.targetCluster",
        "overrideRules and targetCluster can't co-exist",
    ),
    "bad-override-label": (
        "ClusterOverridePolicy",
        {
            "overrideRules": [
                {"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b c"}}]}}
            ]
        },
        "spec.overrideRules[0].overriders.labelsOverrider[0].value[a]",
        'Invalid value: "b c": must be a label\'s value',
    ),
    "bad-image-path": (
        "OverridePolicy",
        {
            "overrideRules": [
                {
                    "overriders": {
                        "imageOverrider": [
                            {
                                "component": "Tag",
                                "operator": "remove",
                                "predicate": {"path": "spec/image"},
                            }
                        ]
                    }
                }
            ]
        },
        "spec.overrideRules[0].overriders.imageOverrider[0].predicate.path",
        'Invalid value: "spec/image": must be a JSON pointer',
    ),
    "no-taints": ("ClusterTaintPolicy", {"taints": []}, "spec.taints", "at least 1 items"),
    "no-effect": (
        "ClusterTaintPolicy",
        {"taints": [{"key": "slow", "effect": "NoWay"}]},
        "spec.taints[0].effect",
        'Invalid value: "NoWay": must be one of NoSchedule, PreferNoSchedule, NoExecute',
    ),
    "no-key": (
        "ClusterTaintPolicy",
        {"taints": [{"key": "a b", "effect": "NoSchedule"}]},
        "spec.taints[0].key",
        'Invalid value: "a b": ',
    ),
    "no-value": (
        "ClusterTaintPolicy",
        {"taints": [{"key": "a", "value": "b c", "effect": "NoSchedule"}]},
        "spec.taints[0].value",
        'Invalid value: "b c": must be empty or at most 63',
    ),
    "same-taint": (
        "ClusterTaintPolicy",
        {
            "taints": [
                {"key": "slow", "effect": "NoExecute"},
                {"key": "slow", "effect": "NoExecute", "value": "very"},
            ]
        },
        "spec.taints[0]",
        "Duplicate taint with the same key(slow) and effect(NoExecute) is not allowed",
    ),
    "no-operator": (
        "ClusterTaintPolicy",
        {
            "removeOnConditions": [
                {"conditionType": "Ready", "operator": "Is", "statusValues": ["True"]}
            ]
        },
        "spec.removeOnConditions[0].operator",
        'Invalid value: "Is": must be one of In, NotIn',
    ),
    "no-mode": (
        "Cluster",
        {"syncMode": "Maybe"},
        "spec.syncMode",
        'Invalid value: "Maybe": must be one of Pull, Push',
    ),
    "unknown-taint": (
        "Cluster",
        {"taints": [{"key": "a", "effect": "NoWay"}]},
        "spec.taints[0].effect",
        'supported values: "NoExecute", "NoSchedule", "PreferNoSchedule"',
    ),
    "proxy-by-letter": (
        "Cluster",
        {"proxyURL": "ftp://proxy"},
        "spec.proxyURL",
        'unsupported scheme "ftp", must be http, https, or socks5',
    ),
    "gap-in-models": (
        "Cluster",
        {
            "resourceModels": [
                {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "2"}]},
                {"grade": 1, "ranges": [{"name": "cpu", "min": "3", "max": "9"}]},
            ]
        },
        "spec.resourceModels",
        "Model intervals for resources must be contiguous and non-overlapping",
    ),
    "no-workloads": ("WorkloadRebalancer", {"workloads": []}, "spec.workloads", "at least 1 items"),
}


@pytest.mark.parametrize(("kind", "spec", "field", "words"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_meant_is_refused_with_field_value_and_remedy(
    plane: Asking, name: str, kind: str, spec: Wire, field: str, words: str
):
    path = BY_KIND[kind].path()
    refusal = plane.refused("POST", path, written(kind, name, **spec), 422)
    causes = {cause["field"]: cause["message"] for cause in refusal["details"]["causes"]}
    assert words in causes[field]
    assert plane.ask("GET", BY_KIND[kind].path(name))[0] == 404


@pytest.mark.parametrize("bad", ["m" * 49, "Member", "a.b"])
def test_clusters_have_names_that_namespaces_can_be_made_of(plane: Asking, bad: str):
    refusal = plane.refused("POST", BY_KIND["Cluster"].path(), written("Cluster", bad), 422)
    assert refusal["details"]["causes"][0]["field"] == "metadata.name"
    assert made(plane, "Cluster", "m" * 48)["metadata"]["name"] == "m" * 48
    plane.done("DELETE", BY_KIND["Cluster"].path("m" * 48))


def test_a_taint_policy_may_evict(plane: Asking, name: str):
    taint = {"key": "slow", "effect": "NoExecute"}
    assert made(plane, "ClusterTaintPolicy", name, taints=[taint])["spec"]["taints"] == [taint]


def test_webhooks_are_asked_over_https_and_know_our_version(plane: Asking, name: str):
    sample = BY_KIND["ResourceInterpreterWebhookConfiguration"]
    hook = {
        "name": "short",
        "clientConfig": {"url": "http://example.com"},
        "interpreterContextVersions": ["v2"],
        "timeoutSeconds": 31,
    }
    refusal = plane.refused("POST", sample.path(), {**sample.named(name), "webhooks": [hook]}, 422)
    fields = [cause["field"] for cause in refusal["details"]["causes"]]
    assert fields == [
        "webhooks[0].name",
        "webhooks[0].timeoutSeconds",
        "webhooks[0].clientConfig.url",
        "webhooks[0].interpreterContextVersions",
    ]


class TestWhatStays:
    def test_the_scheduler_of_a_policy(self, plane: Asking, name: str):
        policy = made(plane, "PropagationPolicy", name)
        policy["spec"]["schedulerName"] = "another"
        path = BY_KIND["PropagationPolicy"].path(name)
        refusal = plane.refused("PUT", path, policy, 422)
        assert 'spec.schedulerName: Invalid value: "another"' in refusal["message"]
        assert "the schedulerName should not be updated" in refusal["message"]

    @pytest.mark.parametrize("new", ["mine", None])
    def test_the_id_of_a_policy(self, plane: Asking, name: str, new: str | None):
        made(plane, "PropagationPolicy", name)
        label = "propagationpolicy.karmada.io/permanent-id"
        path = BY_KIND["PropagationPolicy"].path(name)
        change = {"metadata": {"labels": {label: new}}}
        status, refusal = plane.ask("PATCH", path, change, content_type=MERGE)
        assert status == 422
        assert f"label {label} is" in refusal["message"]

    def test_a_binding_whose_dependencies_cannot_be_read(self, plane: Asking, name: str):
        made(plane, "ResourceBinding", name)
        note = {"resourcebinding.karmada.io/dependencies": "{not json"}
        path = BY_KIND["ResourceBinding"].path(name)
        change = {"metadata": {"annotations": note}}
        status, refusal = plane.ask("PATCH", path, change, content_type=MERGE)
        assert status == 422
        assert "annotation value must be a valid JSON" in refusal["message"]


class TestProtection:
    CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

    def test_a_protected_object_of_any_kind_is_not_deleted(self, plane: Asking, name: str):
        labels = {PROTECTED: "Always"}
        plane.done("POST", self.CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
        path = f"{self.CONFIG_MAPS}/{name}"
        refusal = plane.refused("DELETE", path, None, 403)
        assert refusal["message"].endswith(f"please make sure to remove the label: {PROTECTED}")
        change = {"metadata": {"labels": {PROTECTED: None}}}
        plane.done("PATCH", path, change, content_type=MERGE)
        assert plane.done("DELETE", path)["status"] == "Success"

    def test_other_values_protect_nothing(self, plane: Asking, name: str):
        labels = {PROTECTED: "Sometimes"}
        plane.done("POST", self.CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
        assert plane.done("DELETE", f"{self.CONFIG_MAPS}/{name}")["status"] == "Success"
