"""The objects that the growth bench fills a plane with; all of them as users write them."""

from collections.abc import Sequence
from typing import Any

from atoll.dialects.karmada import names

Object = dict[str, Any]

POLICY = "policy.karmada.io/v1alpha1"
PRICE = "placement.atoll.io/v1alpha1"
PRIORITY = "scheduling.k8s.io/v1"
_GIB = 1024 * 1024
_OTHERS: Object = {"labelSelector": {"matchLabels": {"others": "yes"}}}
"""Clusters that there are none of."""


def deployment(name: str, namespace: str, replicas: int = 2, policy: str = "") -> Object:
    """A Deployment; `policy` is that of its own, if it has one."""
    labels = {"app": name}
    requests = {"cpu": "10m", "memory": "16Mi"}
    container = {"name": "web", "image": "nginx", "resources": {"requests": requests}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name, "labels": {**labels, "policy": policy}},
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
    """A policy for all Deployments; cluster-wide where there is no namespace.

    `only`: for those alone whose policy it is, with a placement that no other policy has.
    """
    selector: Object = {"apiVersion": "apps/v1", "kind": "Deployment"}
    affinity: Object = {"clusterNames": list(clusters)}
    if only:
        selector["labelSelector"] = {"matchLabels": {"policy": only}}
        affinity["exclude"] = [f"not-{only}"]
    placement: Object = {"clusterAffinity": affinity}
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
    """An override for one Deployment; without a namespace, for one Namespace."""
    annotate = {"operator": "add", "value": {"bench": value}}
    api_version, kind = ("apps/v1", "Deployment") if namespace else ("v1", "Namespace")
    return {
        "apiVersion": POLICY,
        "kind": "OverridePolicy" if namespace else "ClusterOverridePolicy",
        "metadata": {"name": name} | ({"namespace": namespace} if namespace else {}),
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind, "name": only}],
            "overrideRules": [
                {"overriders": {"annotationsOverrider": [annotate]}},
                {"overriders": {"annotationsOverrider": [annotate]}, "targetCluster": _OTHERS},
            ],
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


def cluster_role(name: str, group: str, resource: str, only: Sequence[str] = ()) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": [group], "resources": [resource], "verbs": ["get"]}
            | ({"resourceNames": list(only)} if only else {})
        ],
    }


def priority_class(name: str) -> Object:
    meta = {"name": name}
    return {"apiVersion": PRIORITY, "kind": "PriorityClass", "metadata": meta, "value": 1}


def cluster_price(name: str, price: int) -> Object:
    """What the cluster of this name costs."""
    spec = {"perCPUHour": str(price), "currency": "EUR"}
    return {"apiVersion": PRICE, "kind": "ClusterPrice", "metadata": {"name": name}, "spec": spec}


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


def cluster_status(used: int, ready_since: str, *, ready: bool = True) -> Object:
    """What an agent would tell: room for very much; `used` is what is not free."""
    resources = [{"name": "deployments", "kind": "Deployment"}]
    return {
        "conditions": [
            {
                "type": "Ready",
                "status": str(ready),
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
