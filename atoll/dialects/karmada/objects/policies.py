"""Karmada's propagation and override policies, read from the wire.

A label selector that cannot be read means nothing: whoever wrote it was told on writing.
"""

from collections.abc import Iterator

from atoll.dialects.karmada import affinity, policy_rules
from atoll.dialects.kubernetes import metadata
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.dialects.wire import INT32, Wire, at, checked, name, number, part, parts, text, texts
from atoll.errors import Invalid
from atoll.model.action import Object
from atoll.model.policy import (
    ClusterTaintPolicy,
    ConditionIs,
    OverridePolicy,
    OverrideRule,
    PropagationPolicy,
)
from atoll.model.resource_selector import ResourceSelector
from atoll.model.selector import NOTHING, Selector


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


def decode_propagation(wire: Object, before: PropagationPolicy | None = None) -> PropagationPolicy:
    """The propagation policy that this object is."""
    meta = metadata.decode(wire)
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        prioritized = part(spec, "schedulePriority", "spec") or {}
        return PropagationPolicy(
            wire=wire,
            meta=meta,
            selectors=_selectors(spec),
            priority=number(spec, "priority", "spec", least=-INT32 - 1) or 0,
            preempts=text(spec, "preemption", "spec") == "Always",
            is_lazy=text(spec, "activationPreference", "spec") == "Lazy",
            dependent_overrides=texts(spec, "dependentOverrides", "spec"),
            priority_class=text(prioritized, "priorityClassName", "spec.schedulePriority"),
        )
    except Invalid as problem:
        return PropagationPolicy(wire, meta, problem=problem)


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


def _taint(wire: Wire, path: str) -> Wire:
    name(wire, "key", path), text(wire, "value", path), name(wire, "effect", path)
    return wire


def _asked(spec: Wire, key: str) -> tuple[ConditionIs, ...]:
    return tuple(
        ConditionIs(
            name(each, "conditionType", here),
            texts(each, "statusValues", here),
            name(each, "operator", here) == "In",
        )
        for here, each in parts(spec, key, "spec")
    )


def _selectors(spec: Wire) -> tuple[ResourceSelector, ...]:
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


def _labels(selector: Wire) -> Selector | None:
    written = selector.get("labelSelector")
    if written is None:
        return None
    try:
        return label_selector(checked(written, "labelSelector"), "labelSelector")
    except Invalid:
        return NOTHING


def _rules(spec: Wire) -> tuple[OverrideRule, ...]:
    written = list(parts(spec, "overrideRules", "spec")) or [("spec", spec)]
    return tuple(_rule(each, here) for here, each in written)


def _rule(wire: Wire, path: str) -> OverrideRule:
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


def _touched(overriders: Wire, path: str) -> Iterator[str]:
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
