"""Karmada's propagation and override policies, read from the wire.

A label selector that cannot be read means nothing: whoever wrote it was told on writing.
"""

from collections.abc import Iterator
from dataclasses import replace

from atoll.dialects.karmada import affinity, names, policy_rules
from atoll.dialects.kubernetes import metadata
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.dialects.wire import INT32, at, checked, name, number, part, parts, text, texts
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.policy import (
    Claim,
    ClusterTaintPolicy,
    ConditionIs,
    OverridePolicy,
    OverrideRule,
    Policy,
)
from atoll.model.resource_selector import ResourceSelector
from atoll.model.selector import NOTHING, Selector
from atoll.wire import Object

API_VERSION = "policy.karmada.io/v1alpha1"
POLICY, CLUSTER_POLICY = "PropagationPolicy", "ClusterPropagationPolicy"
OVERRIDE, CLUSTER_OVERRIDE = "OverridePolicy", "ClusterOverridePolicy"
_ASKED = (
    *("placement", "atoll", "failover", "preserveResourcesOnDeletion"),
    *("propagateDeps", "schedulerName", "conflictResolution"),
)
_GROUPS = (("affinity", "affinityGroup"), ("antiAffinity", "antiAffinityGroup"))


def decode_override(wire: Object, before: OverridePolicy | None = None) -> OverridePolicy:
    """The override policy that this object is."""
    meta = metadata.decode(wire)
    selectors: tuple[ResourceSelector, ...] = ()
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        selectors = _selectors(spec)
        return OverridePolicy(wire, meta, selectors, _rules(spec))
    except Invalid as problem:
        return OverridePolicy(wire, meta, selectors, problem=problem)


def decode_propagation(wire: Object, before: Policy | None = None) -> Policy:
    """The propagation policy that this object is."""
    meta = metadata.decode(wire)
    space, is_wide = meta.namespace, meta.ref.kind == CLUSTER_POLICY
    permanent_id = meta.labels.get(names.CLUSTER_POLICY_ID if is_wide else names.POLICY_ID)
    policy = Policy(
        wire,
        meta,
        claim(space, meta.name, permanent_id) if permanent_id else None,
        finalizer=names.CLUSTER_POLICY_FINALIZER if is_wide else names.POLICY_FINALIZER,
    )
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        selectors = _selectors(spec)
        problems = {each: _ignored(each, space) for each in selectors}
        policy = replace(
            policy,
            selectors=tuple(
                replace(each, namespace=each.namespace or space)
                for each, problem in problems.items()
                if not problem
            ),
            ignored=tuple(filter(None, problems.values())),
        )
        return _wanted(policy, spec)
    except Invalid as problem:
        return replace(policy, problem=problem, ignored=(*policy.ignored, str(problem)))


def claim(namespace: str, name: str, permanent_id: str) -> Claim:
    """The claim of a policy; one made anew under an old name has another id, and is another one."""
    if namespace:
        labels = ((names.POLICY_ID, permanent_id),)
        notes = ((names.POLICY_NAMESPACE, namespace), (names.POLICY_NAME, name))
        return Claim(Ref(API_VERSION, POLICY, namespace, name), labels, notes)
    labels, wide = ((names.CLUSTER_POLICY_ID, permanent_id),), ((names.CLUSTER_POLICY_NAME, name),)
    return Claim(Ref(API_VERSION, CLUSTER_POLICY, "", name), labels, wide)


def _wanted(policy: Policy, spec: Object) -> Policy:
    """The same policy with what it says beside what it selects."""
    space, here = policy.meta.namespace, "spec.placement.workloadAffinity"
    prioritized = part(spec, "schedulePriority", "spec") or {}
    placement = part(spec, "placement", "spec") or {}
    together = part(placement, "workloadAffinity", "spec.placement") or {}
    override = OVERRIDE if space else CLUSTER_OVERRIDE
    named = texts(spec, "dependentOverrides", "spec")
    return replace(
        policy,
        asks={key: spec[key] for key in _ASKED if spec.get(key) is not None},
        suspends=part(spec, "suspension", "spec") or {},
        groups=tuple(
            (group, text(part(together, term, here) or {}, "groupByLabelKey", at(here, term)))
            for term, group in _GROUPS
        ),
        priority=number(spec, "priority", "spec", least=-INT32 - 1) or 0,
        preempts=text(spec, "preemption", "spec") == "Always",
        is_lazy=text(spec, "activationPreference", "spec") == "Lazy",
        awaits={Ref(API_VERSION, override, space, each): "dependentOverrides" for each in named},
        priority_class=text(prioritized, "priorityClassName", "spec.schedulePriority"),
    )


def _ignored(selector: ResourceSelector, space: str) -> str:
    """Why a selector finds nothing whatever there is, if it does not."""
    if space and selector.namespace not in ("", space):
        return f"a {POLICY} selects nothing outside its own namespace, as in {selector.namespace}"
    if selector.labels is NOTHING and not selector.name:
        return f"the labelSelector for {selector.kind} of {selector.api_version} cannot be meant"
    return ""


def decode_tainting(wire: Object, before: ClusterTaintPolicy | None = None) -> ClusterTaintPolicy:
    """The taint policy that this object is; one that asks for what cannot be means no cluster."""
    meta = metadata.decode(wire)
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        taints = tuple(_taint(each, here) for here, each in parts(spec, "taints", "spec"))
        adds_on, removes_on = _asked(spec, "addOnConditions"), _asked(spec, "removeOnConditions")
        for problem in policy_rules.tainting({"spec": spec}):
            raise problem
        target = part(spec, "targetClusters", "spec")
        meant = None if target is None else affinity.decode(target, "spec.targetClusters")
        return ClusterTaintPolicy(wire, meta, meant, taints, adds_on, removes_on)
    except Invalid as problem:
        return ClusterTaintPolicy(wire, meta, problem=problem)


def _taint(wire: Object, path: str) -> Object:
    name(wire, "key", path), text(wire, "value", path), name(wire, "effect", path)
    return wire


def _asked(spec: Object, key: str) -> tuple[ConditionIs, ...]:
    return tuple(
        ConditionIs(
            name(each, "conditionType", here),
            texts(each, "statusValues", here),
            name(each, "operator", here) == "In",
        )
        for here, each in parts(spec, key, "spec")
    )


def _selectors(spec: Object) -> tuple[ResourceSelector, ...]:
    return tuple(
        ResourceSelector(
            text(each, "apiVersion", here),
            text(each, "kind", here),
            text(each, "namespace", here),
            text(each, "name", here),
            _labels(each),
        )
        for here, each in parts(spec, "resourceSelectors", "spec")
    )


def _labels(selector: Object) -> Selector | None:
    written = selector.get("labelSelector")
    if written is None:
        return None
    try:
        return label_selector(checked(written, "labelSelector"), "labelSelector")
    except Invalid:
        return NOTHING


def _rules(spec: Object) -> tuple[OverrideRule, ...]:
    written = list(parts(spec, "overrideRules", "spec")) or [("spec", spec)]
    return tuple(_rule(each, here) for here, each in written)


def _rule(wire: Object, path: str) -> OverrideRule:
    target = part(wire, "targetCluster", path)
    overriders, here = part(wire, "overriders", path) or {}, at(path, "overriders")
    touched = list(_touched(overriders, here))
    return OverrideRule(
        overriders=overriders,
        path=here,
        target=None if target is None else affinity.decode(target, at(path, "targetCluster")),
        relabels=bool(overriders.get("labelsOverrider")) or any(map(_is_of_labels, touched)),
        renames=any(map(_is_of_name, touched)),
    )


def _touched(overriders: Object, path: str) -> Iterator[str]:
    """The places in an object that are named as such."""
    for key, named in (("plaintext", "path"), ("fieldOverrider", "fieldPath")):
        for here, each in parts(overriders, key, path):
            yield text(each, named, here)
    for here, each in parts(overriders, "imageOverrider", path):
        predicate = part(each, "predicate", here)
        if predicate is not None:
            yield text(predicate, "path", at(here, "predicate"))


def _is_of_labels(path: str) -> bool:
    return path in ("", "/metadata") or f"{path}/".startswith("/metadata/labels/")


def _is_of_name(path: str) -> bool:
    """Whether a patch there may change what an object is, or what it is called."""
    if path in ("", "/metadata", "/metadata/name", "/metadata/namespace"):
        return True
    return path in ("/apiVersion", "/kind")
