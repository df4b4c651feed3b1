"""The objects that the growth bench fills a plane with; all of them as users write them."""

from collections.abc import Sequence
from typing import Any

from atoll.dialects.karmada import names

Object = dict[str, Any]

POLICY = "policy.karmada.io/v1alpha1"
_GIB = 1024 * 1024


def deployment(name: str, namespace: str, replicas: int = 2) -> Object:
    labels = {"app": name}
    requests = {"cpu": "10m", "memory": "16Mi"}
    container = {"name": "web", "image": "nginx", "resources": {"requests": requests}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def policy(
    name: str, namespace: str, clusters: Sequence[str], *, only: str = "", divided: bool = False
) -> Object:
    """A policy for all Deployments, or for `only` one; cluster-wide where there is no namespace."""
    selector = {"apiVersion": "apps/v1", "kind": "Deployment"} | ({"name": only} if only else {})
    placement: Object = {"clusterAffinity": {"clusterNames": list(clusters)}}
    if divided:
        placement["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        }
    return {
        "apiVersion": POLICY,
        "kind": "PropagationPolicy" if namespace else "ClusterPropagationPolicy",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "spec": {"resourceSelectors": [selector], "placement": placement},
    }


def override(name: str, namespace: str, only: str, value: str) -> Object:
    """An OverridePolicy for one Deployment."""
    annotate = {"operator": "add", "value": {"bench": value}}
    return {
        "apiVersion": POLICY,
        "kind": "OverridePolicy",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": only}],
            "overrideRules": [{"overriders": {"annotationsOverrider": [annotate]}}],
        },
    }


def taint_policy(name: str, cluster: str, when: str) -> Object:
    """A ClusterTaintPolicy that means one cluster, which it would taint at some condition."""
    condition = {"conditionType": when, "operator": "In", "statusValues": ["True"]}
    return {
        "apiVersion": POLICY,
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": name},
        "spec": {
            "targetClusters": {"clusterNames": [cluster]},
            "addOnConditions": [condition],
            "removeOnConditions": [condition | {"statusValues": ["False"]}],
            "taints": [{"key": "bench", "effect": "NoSchedule"}],
        },
    }


def cluster_role(name: str, resource: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}],
    }


def cluster(name: str) -> Object:
    """A cluster whose agent tells of it: the plane itself never speaks to such a one."""
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": {"bench": "0"}},
        "spec": {
            "syncMode": "Pull",
            "id": f"bench-{name}",
            "impersonatorSecretRef": {"namespace": names.CLUSTER_NAMESPACE, "name": name},
        },
    }


def cluster_status(used: int, ready_since: str) -> Object:
    """What an agent would tell: ready, and room for very much; `used` is what is not free."""
    resources = [{"name": "deployments", "kind": "Deployment"}]
    return {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "ClusterReady",
                "message": "cluster is healthy",
                "lastTransitionTime": ready_since,
            }
        ],
        "apiEnablements": [{"groupVersion": "apps/v1", "resources": resources}],
        "resourceSummary": {
            "allocatable": {"cpu": "1000000", "memory": f"{_GIB}Gi", "pods": "10000000"},
            "allocated": {"cpu": f"{used}m", "memory": "1Gi", "pods": "1"},
        },
    }
