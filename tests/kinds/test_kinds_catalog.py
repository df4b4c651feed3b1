"""The catalog finds what is served, in the order in which clients prefer it."""

import random

import pytest
from kinds_recorded import builtins, with_definitions

from atoll.apiserver.catalog import subresources, version_rank


def test_a_resource_is_found_by_its_place_and_by_its_kind():
    catalog = builtins()
    deployments = catalog.find("apps", "v1", "deployments")
    assert deployments is not None
    assert deployments is catalog.kind("apps", "v1", "Deployment")
    assert catalog.find("apps", "v1", "pods") is None
    assert "v1" in catalog.versions("apps")
    assert "v1beta1" not in catalog.versions("apps")


def test_the_core_group_comes_first_and_custom_groups_last():
    groups = list(with_definitions().index.groups)
    assert groups[:4] == ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]
    assert groups[-1] == "ex.io"


def test_versions_are_preferred_as_kubernetes_prefers_them():
    preferred = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "foo1", "foo10"]
    shuffled = list(preferred)
    random.Random(1).shuffle(shuffled)
    assert sorted(shuffled, key=version_rank) == preferred
    assert with_definitions().versions("ex.io") == ("v1", "v1beta1")


def test_a_definition_is_replaced_as_a_whole():
    catalog = with_definitions()
    first = catalog.generation
    widgets = catalog.find("ex.io", "v1", "widgets")
    catalog.put("widgets.ex.io", [widgets])
    assert catalog.find("ex.io", "v1beta1", "widgets") is None
    assert catalog.find("ex.io", "v1", "widgets") is widgets
    assert catalog.generation > first


def test_what_is_dropped_is_served_no_more():
    catalog = with_definitions()
    catalog.drop("widgets.ex.io")
    catalog.drop("gears.ex.io")
    assert "v1" not in catalog.versions("ex.io")
    assert "ex.io" not in catalog.index.groups


def test_dropping_what_is_not_there_changes_nothing():
    catalog = with_definitions()
    before = catalog.index
    catalog.drop("nothing.ex.io")
    assert catalog.index is before


def test_an_index_once_taken_never_changes():
    catalog = with_definitions()
    before = catalog.index
    catalog.drop("widgets.ex.io")
    assert ("ex.io", "v1", "widgets") in before.places


def test_both_groups_of_events_share_one_collection_led_by_core():
    catalog = builtins()
    core = catalog.find("", "v1", "events")
    assert core is not None
    assert catalog.find("events.k8s.io", "v1", "events").collection == core.collection
    assert catalog.index.collections["events"] is core


@pytest.mark.parametrize(
    ("place", "names"),
    [
        pytest.param(("", "v1", "namespaces"), ["finalize", "status"], id="namespaces"),
        pytest.param(("", "v1", "configmaps"), [], id="configmaps"),
        pytest.param(("apps", "v1", "deployments"), ["scale", "status"], id="deployments"),
        pytest.param(("apps", "v1", "daemonsets"), ["status"], id="daemonsets"),
        pytest.param(("ex.io", "v1", "widgets"), ["status", "scale"], id="custom"),
        pytest.param(("ex.io", "v1beta1", "widgets"), [], id="custom without"),
    ],
)
def test_each_resource_has_its_subresources(place, names):
    resource = with_definitions().find(*place)
    assert [sub.name for sub in subresources(resource)] == names


# The kinds of which Kubernetes keeps these facts, among those that are served.
ADMISSION = {
    *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
}
UNCONDITIONAL_REFUSED = {
    *("CustomResourceDefinition", "Lease", "APIService", "PodDisruptionBudget", "RuntimeClass"),
    *("CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment"),
    *ADMISSION,
}
CREATED_BY_PUT = {
    *("Lease", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"),
    *("Service", "Endpoints", "Event", "LimitRange", "RuntimeClass"),
}
WITH_GENERATION = {
    *("Pod", "PodTemplate", "ReplicationController", "Deployment", "ReplicaSet", "StatefulSet"),
    *("DaemonSet", "Job", "CronJob", "CustomResourceDefinition", "EndpointSlice", "PriorityClass"),
    *("Ingress", "IngressClass", "NetworkPolicy", "PodDisruptionBudget"),
    *("FlowSchema", "PriorityLevelConfiguration", "DeviceClass", "ResourceSlice"),
    *ADMISSION,
}
RETURNED_WHEN_DELETED = {
    *("Pod", "Service", "Namespace", "ServiceAccount", "PersistentVolume"),
    *("PersistentVolumeClaim", "PodTemplate", "ResourceQuota", "StorageClass"),
    *("CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass"),
    *("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
}


@pytest.mark.parametrize(
    ("holds", "kinds"),
    [
        pytest.param(lambda s: not s.unconditional_update, UNCONDITIONAL_REFUSED, id="needs rv"),
        pytest.param(lambda s: s.creates_on_update, CREATED_BY_PUT, id="created by put"),
        pytest.param(lambda s: s.tracks_generation, WITH_GENERATION, id="generation"),
        pytest.param(lambda s: s.returns_deleted, RETURNED_WHEN_DELETED, id="returned"),
        pytest.param(
            lambda s: s.orphans_by_default, {"Job", "ReplicationController"}, id="orphans"
        ),
        pytest.param(lambda s: s.deletes_gracefully, {"Pod"}, id="graceful"),
        pytest.param(lambda s: not s.has_dependents, {"Event"}, id="no dependents"),
    ],
)
def test_the_strategies_are_those_of_kubernetes(holds, kinds):
    assert {resource.kind for resource in builtins() if holds(resource.strategy)} == kinds
