"""What users of a simulated plane write: templates, policies, overrides, as on the wire.

Names, groups and draws come in; objects go out. A template is of a group, and a policy means all
templates of its group, so that relabelling one changes its policy.
"""

from random import Random
from typing import Any

from atoll.client.api import Collection
from atoll.dialects.karmada import names
from atoll.wire import Wire

POLICY = "policy.karmada.io/v1alpha1"
DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
STATEFULSETS = Collection("apps/v1", "StatefulSet", "statefulsets", namespaced=True)
CONFIGMAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True)
NAMESPACES = Collection("v1", "Namespace", "namespaces", namespaced=False)
POLICIES = Collection(POLICY, "PropagationPolicy", "propagationpolicies", namespaced=True)
CLUSTER_POLICIES = Collection(
    POLICY, "ClusterPropagationPolicy", "clusterpropagationpolicies", namespaced=False
)
OVERRIDES = Collection(POLICY, "OverridePolicy", "overridepolicies", namespaced=True)
REBALANCERS = Collection(
    "apps.karmada.io/v1alpha1", "WorkloadRebalancer", "workloadrebalancers", namespaced=False
)
CLUSTERS = Collection("cluster.karmada.io/v1alpha1", "Cluster", "clusters", namespaced=False)

DEFAULT, EXTRA = "default", "extra"
FOREIGN = "theirs"
SETTINGS = "c0"
"""What every Deployment refers to."""
ORDINALS = "ordinals"
GROUPS = ("red", "green", "blue")
TIERS = ("a", "b")
TINT = "tint"
Place = tuple[Collection, str, str]  # a kind, a namespace and a name
TEMPLATES: tuple[Place, ...] = (
    (DEPLOYMENTS, DEFAULT, "d0"),
    (DEPLOYMENTS, DEFAULT, "d1"),
    (DEPLOYMENTS, DEFAULT, "d2"),
    (CONFIGMAPS, DEFAULT, "c0"),
    (CONFIGMAPS, DEFAULT, "c1"),
    (DEPLOYMENTS, EXTRA, "e0"),
    (CONFIGMAPS, EXTRA, "f0"),
    # Every member has one of this name that is not ours.
    (DEPLOYMENTS, DEFAULT, FOREIGN),
)
STATEFUL: Place = (STATEFULSETS, DEFAULT, "s0")


def placement(draws: Random, members: list[str]) -> dict[str, Any]:
    """Somewhere, in one of several ways."""
    chosen = draws.sample(members, draws.randint(1, len(members)))
    affinity: dict[str, Any] = {"clusterNames": chosen}
    if draws.random() < 0.2:
        affinity = {"labelSelector": {"matchLabels": {"tier": draws.choice(TIERS)}}}
    found: dict[str, Any] = {"clusterAffinity": affinity}
    if draws.random() < 0.2:
        found["clusterTolerations"] = [{"operator": "Exists"}]
    how = draws.choice(("Duplicated", "Weighted", "Weighted", "Aggregated"))
    if how == "Duplicated":
        return found
    scheduling: dict[str, Any] = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": how,
    }
    if how == "Weighted":
        weights = [
            {"targetCluster": {"clusterNames": [name]}, "weight": draws.randint(1, 3)}
            for name in chosen
        ]
        scheduling["weightPreference"] = {"staticWeightList": weights}
    return {**found, "replicaScheduling": scheduling}


def policy(collection: Collection, where: tuple[str, str], spec: dict[str, Any]) -> Wire:
    """A policy in a namespace, or in none, with a name."""
    return _named(collection, *where) | {"spec": spec}


def of_group(group: str) -> list[dict[str, Any]]:
    """Selectors of all templates of a group."""
    return [
        {
            "apiVersion": collection.api_version,
            "kind": collection.kind,
            "labelSelector": {"matchLabels": {"group": group}},
        }
        for collection in (DEPLOYMENTS, CONFIGMAPS)
    ]


def of_name(place: Place) -> list[dict[str, Any]]:
    """A selector of one template."""
    collection, namespace, name = place
    kind = {"apiVersion": collection.api_version, "kind": collection.kind}
    return [{**kind, "namespace": namespace, "name": name}]


def ordinal_policy(draws: Random, members: list[str]) -> Wire:
    """A policy that divides the StatefulSet so that every ordinal is there once."""
    chosen = draws.sample(members, draws.randint(1, len(members)))
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": 1} for name in chosen]
    division = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": weights},
    }
    spec = {
        "resourceSelectors": of_name(STATEFUL),
        "placement": {
            "clusterAffinity": {"clusterNames": chosen},
            "replicaScheduling": division,
        },
        "atoll": {"ordinals": {}},
    }
    return policy(POLICIES, (DEFAULT, ORDINALS), spec)


def rebalancer(name: str, places: list[Place]) -> Wire:
    """Someone wants these placed anew."""
    listed = [
        {"apiVersion": kind.api_version, "kind": kind.kind, "namespace": namespace, "name": of}
        for kind, namespace, of in places
    ]
    wire = _named(REBALANCERS, "", name)
    return wire | {"spec": {"workloads": listed, "ttlSecondsAfterFinished": 5}}


def override(namespace: str, name: str, draws: Random, members: list[str]) -> Wire:
    """A policy that gives all Deployments of a namespace a label of its own, in some clusters."""
    target: dict[str, Any] = {"clusterNames": draws.sample(members, draws.randint(1, 2))}
    if draws.random() < 0.5:
        target = {"labelSelector": {"matchLabels": {"tier": draws.choice(TIERS)}}}
    given = {f"{TINT}-{name}": draws.choice(("dark", "light"))}
    adds = [{"operator": "add", "value": given}]
    rule = {"targetCluster": target, "overriders": {"labelsOverrider": adds}}
    kind = {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind}
    spec = {"resourceSelectors": [kind], "overrideRules": [rule]}
    return _named(OVERRIDES, namespace, name) | {"spec": spec}


def template(place: Place, group: str, size: int) -> Wire:
    """A Deployment with so many replicas, or a ConfigMap that says the number."""
    collection, _, name = place
    labels = {"app": name}
    wire = _named(*place)
    wire["metadata"]["labels"] = {**labels, "group": group}
    if name == FOREIGN:
        # Whatever a policy says: what is not ours is not to become so.
        wire["metadata"]["annotations"] = {names.CONFLICT_RESOLUTION: "abort"}
    if collection is not CONFIGMAPS:
        container: dict[str, Any] = {"name": "main", "image": "nginx"}
        if collection is DEPLOYMENTS:
            container["envFrom"] = [{"configMapRef": {"name": SETTINGS}}]
        wire["spec"] = {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        }
    if collection is STATEFULSETS:
        wire["spec"]["serviceName"] = name
    return sized(wire, size)


def sized(wire: Wire, size: int) -> Wire:
    """The template with another size."""
    if wire["kind"] == CONFIGMAPS.kind:
        return {**wire, "data": {"size": str(size)}}
    return {**wire, "spec": {**wire["spec"], "replicas": size}}


def _named(collection: Collection, namespace: str, name: str) -> Wire:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": collection.api_version,
        "kind": collection.kind,
        "metadata": metadata,
    }
