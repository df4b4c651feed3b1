"""The binding of a template under a policy: what it asks for, as one object on the wire.

In come the template, the policy and what the interpreter found in the template; out comes the whole
binding. What others wrote on a binding that exists (where it is scheduled, evictions, who depends
on it, whether scheduling is suspended) stays as it is. Knows nothing of clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from atoll.dialects.karmada import names
from atoll.dialects.karmada.references import API_VERSION
from atoll.dialects.karmada.standing import ONLY_DECIDED
from atoll.dialects.policy_source import Claims, annotation
from atoll.model.policy import Claim, Policy
from atoll.wire import Object

BUILT_FROM = "atoll.io/built-from"
"""On a binding: the content of the template it was built from."""

_COPIED = ("atoll", "failover", "preserveResourcesOnDeletion", "propagateDeps")


@dataclass(frozen=True, slots=True)
class Interpreted:
    """What the interpreter found in a template, or the problem it had."""

    replicas: int | None = None
    requirements: Object | None = None
    components: tuple[Object, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """A template under a policy, with everything a binding is made of.

    `owner`: what the binding goes with: the template, or the policy that it is of.
    """

    template: Object
    owner: Object
    policy: Policy
    claim: Claim
    claims: Claims
    interpreted: Interpreted = field(default_factory=Interpreted)
    priority: int | None = None
    affinity: bool = False
    new_id: str = ""


def build(wish: Wish, existing: Object | None = None) -> Object:
    """The binding as it is to be; equal to the existing one if nothing is to be done."""
    template = wish.template
    namespace = template["metadata"].get("namespace") or ""
    cluster_wide = not namespace
    old: Object = existing or {
        "apiVersion": API_VERSION,
        "kind": "ClusterResourceBinding" if cluster_wide else "ResourceBinding",
        "metadata": {
            "name": names.binding_name(template["kind"], template["metadata"]["name"]),
            **({"namespace": namespace} if namespace else {}),
        },
    }
    content = wish.claims.digest(template)
    notes = {BUILT_FROM: content, **({ONLY_DECIDED: "true"} if wish.policy.only_decides else {})}
    built = wish.claims.claimed(old, wish.claim, notes)
    metadata = dict(built["metadata"])
    finalizer = names.CLUSTER_BINDING_FINALIZER if cluster_wide else names.BINDING_FINALIZER
    finalizers = metadata.get("finalizers") or []
    if finalizer not in finalizers:
        metadata["finalizers"] = [*finalizers, finalizer]
    metadata["ownerReferences"] = [_owner(wish.owner)]
    identity = names.CLUSTER_BINDING_ID if cluster_wide else names.BINDING_ID
    if wish.new_id and not metadata["labels"].get(identity):
        metadata["labels"] = {**metadata["labels"], identity: wish.new_id}
    return {**built, "metadata": metadata, "spec": _spec(wish, content, existing)}


def _owner(owner: Object) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _spec(wish: Wish, content: str, existing: Object | None) -> dict[str, Any]:
    old = (existing or {}).get("spec") or {}
    asked = wish.policy.asks
    interpreted = wish.interpreted
    ours: dict[str, Any] = {key: asked.get(key) for key in _COPIED}
    ours |= {
        "resource": _resource(wish.template, content, existing),
        # A binding without a placement is one that only follows another.
        "placement": asked.get("placement") or {},
        "schedulerName": asked.get("schedulerName") or "default-scheduler",
        "conflictResolution": asked.get("conflictResolution") or "Abort",
        "schedulePriority": None if wish.priority is None else {"priority": wish.priority},
        "workloadAffinityGroups": _groups(wish),
        # None at all is said as well: a number that the template gets later is not decided yet.
        "replicas": interpreted.replicas,
        "replicaRequirements": interpreted.requirements,
        "components": list(interpreted.components) or None,
        "suspension": _suspension(old.get("suspension") or {}, wish.policy.suspends),
    }
    ours["propagateDeps"] = ours["propagateDeps"] or None
    new = {key: value for key, value in old.items() if key not in ours}
    return new | {key: value for key, value in ours.items() if value is not None}


def _resource(template: Object, content: str, existing: Object | None) -> dict[str, Any]:
    """Which object, in which version: an older version with the same content stays named."""
    metadata = template["metadata"]
    found = {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    found = {key: value for key, value in found.items() if value}
    named = ((existing or {}).get("spec") or {}).get("resource") or {}
    same = {**named, "resourceVersion": None} == {**found, "resourceVersion": None}
    if existing and same and annotation(existing, BUILT_FROM) == content:
        return dict(named)
    return found


def _suspension(old: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the policy suspends, beside the scheduling that others suspend on the binding."""
    kept = {key: value for key, value in old.items() if key == "scheduling"}
    return {**kept, **asked} or None


def _groups(wish: Wish) -> dict[str, str] | None:
    """The groups that keep workloads together and apart, by the labels of the template."""
    labels = wish.template["metadata"].get("labels") or {}
    wanted = wish.policy.groups if wish.affinity else ()
    return {group: f"{key}={labels[key]}" for group, key in wanted if key in labels} or None
