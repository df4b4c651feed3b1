"""What scenarios ask for, in the short notation that people say aloud: objects as plain dicts."""

from collections.abc import Mapping, Sequence
from typing import Any

from atoll.wire import Wire

POLICY = "policy.karmada.io/v1alpha1"


def configmap(name: str, **data: str) -> Wire:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name: str, **data: str) -> Wire:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def pod_template(name: str, requests: Mapping[str, str] | None = None, **spec: Any) -> Wire:
    container: Wire = {"name": "main", "image": "registry.example.com/web:1"}
    if requests:
        container["resources"] = {"requests": dict(requests)}
    return {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **spec},
    }


def deployment(
    name: str, replicas: int = 2, requests: Mapping[str, str] | None = None, **pods: Any
) -> Wire:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": pod_template(name, requests, **pods),
        },
    }


def selector_of(wire: Wire) -> Wire:
    """What makes a policy select exactly this object."""
    found = {key: wire[key] for key in ("apiVersion", "kind")}
    return {**found, "name": wire["metadata"]["name"]}


def policy(
    name: str,
    selected: Sequence[Wire],
    clusters: Sequence[str],
    placement: Wire | None = None,
    **spec: Any,
) -> Wire:
    """A PropagationPolicy for these objects, or selectors, to these clusters."""
    chosen = [each if "metadata" not in each else selector_of(each) for each in selected]
    where = {"clusterAffinity": {"clusterNames": list(clusters)}, **(placement or {})}
    return {
        "apiVersion": POLICY,
        "kind": "PropagationPolicy",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": chosen, "placement": where, **spec},
    }


def cluster_wide(wire: Wire) -> Wire:
    """The same policy for objects of no namespace, or of any."""
    return {**wire, "kind": f"Cluster{wire['kind']}"}


def override(name: str, selected: Sequence[Wire], *rules: tuple[Sequence[str], Wire]) -> Wire:
    """An OverridePolicy: to each of these clusters, these overriders."""
    return {
        "apiVersion": POLICY,
        "kind": "OverridePolicy",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [selector_of(each) for each in selected],
            "overrideRules": [
                {"targetCluster": {"clusterNames": list(clusters)}, "overriders": overriders}
                for clusters, overriders in rules
            ],
        },
    }


def divided(preference: str, weights: Mapping[str, int] | str | None = None) -> Wire:
    """A placement that divides: by these weights, by a dynamic one, or aggregated."""
    found: Wire = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": preference,
    }
    if isinstance(weights, str):
        found["weightPreference"] = {"dynamicWeight": weights}
    elif weights is not None:
        found["weightPreference"] = {
            "staticWeightList": [
                {"targetCluster": {"clusterNames": [name]}, "weight": weight}
                for name, weight in weights.items()
            ]
        }
    return {"replicaScheduling": found}


def cluster_ref(name: str) -> Wire:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
    }
