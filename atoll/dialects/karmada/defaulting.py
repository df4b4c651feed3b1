"""What Karmada fills in when one of its objects is written, before it is checked.

In: the object as proposed, not yet known to be well-formed; so whatever is not of the type it
should be stays as it is, for validation to refuse. Out: a new object. Ids and the time are handed
in: an id only where the object is new.
"""

from collections.abc import Callable, Mapping
from typing import Any

from atoll.dialects.karmada import names
from atoll.wire import Wire

GRACE_PERIOD_S = 600
_UNBOUNDED = str(2**63 - 1)
_CPU = ("0", "1", "2", "4", "8", "16", "32", "64", "128", _UNBOUNDED)
_MEMORY = ("0", *(f"{size}Gi" for size in (4, 16, 32, 64, 128, 256, 512)), "1Ti", _UNBOUNDED)
_GRACIOUS = ("Gracefully", "Graciously")


def defaulted(obj: Mapping[str, Any], *, namespace: str, new_id: str | None, now: str) -> Wire:
    """The object with what Karmada fills in; `new_id` is None for an update."""
    kind = obj.get("kind")
    found = dict(obj)
    spec = obj.get("spec")
    if isinstance(spec, dict):
        found["spec"] = _spec(kind, spec, namespace, now, is_new=new_id is not None)
    if new_id is not None:
        _identify(kind, found, new_id)
    return found


def _spec(kind: Any, spec: Wire, namespace: str, now: str, *, is_new: bool) -> Wire:
    match kind:
        case "PropagationPolicy":
            return _propagation(_in_namespace(spec, namespace))
        case "ClusterPropagationPolicy":
            return _propagation(spec)
        case "OverridePolicy":
            return _in_namespace(spec, namespace)
        case "Cluster":
            return _cluster(spec, now, is_new=is_new)
    return spec


def _identify(kind: Any, obj: Wire, new_id: str) -> None:
    """Give a new object its permanent id, and a policy the finalizer of its controller."""
    label, finalizer, may_choose = {
        "PropagationPolicy": (names.POLICY_ID, names.POLICY_FINALIZER, False),
        "ClusterPropagationPolicy": (
            names.CLUSTER_POLICY_ID,
            names.CLUSTER_POLICY_FINALIZER,
            False,
        ),
        "ResourceBinding": (names.BINDING_ID, "", True),
        "ClusterResourceBinding": (names.CLUSTER_BINDING_ID, "", True),
        "Work": (names.WORK_ID, "", True),
    }.get(str(kind), ("", "", True))
    if not label:
        return
    metadata = obj["metadata"]
    labels, held = metadata.get("labels") or {}, metadata.get("finalizers") or []
    if not isinstance(labels, dict) or not isinstance(held, list):
        return
    if not labels.get(label) or not may_choose:
        metadata = {**metadata, "labels": {**labels, label: new_id}}
    if finalizer and finalizer not in held:
        metadata = {**metadata, "finalizers": [*held, finalizer]}
    obj["metadata"] = metadata


def _each(wire: Wire, key: str, change: Callable[[Wire], Wire]) -> Wire:
    """The same with every object of a list changed."""
    listed = wire.get(key)
    if not isinstance(listed, list):
        return wire
    return {**wire, key: [change(one) if isinstance(one, dict) else one for one in listed]}


def _inside(wire: Wire, key: str, change: Callable[[Wire], Wire]) -> Wire:
    """The same with one object inside it changed."""
    found = wire.get(key)
    return {**wire, key: change(found)} if isinstance(found, dict) else wire


def _in_namespace(spec: Wire, namespace: str) -> Wire:
    def located(selector: Wire) -> Wire:
        return selector if selector.get("namespace") else {**selector, "namespace": namespace}

    return _each(spec, "resourceSelectors", located)


def _propagation(spec: Wire) -> Wire:
    spec = _inside(spec, "placement", _placement)
    spec = _inside(spec, "failover", lambda failover: _inside(failover, "application", _failover))
    selectors = spec.get("resourceSelectors")
    wanted = selectors if isinstance(selectors, list) else []
    imports = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")
    if any(
        isinstance(one, dict) and (one.get("apiVersion"), one.get("kind")) == imports
        for one in wanted
    ):
        return {**spec, "propagateDeps": True}
    return spec


def _placement(placement: Wire) -> Wire:
    placement = _each(placement, "spreadConstraints", _constraint)
    return _inside(placement, "replicaScheduling", _strategy)


def _constraint(constraint: Wire) -> Wire:
    if not constraint.get("spreadByField") and not constraint.get("spreadByLabel"):
        constraint = {**constraint, "spreadByField": "cluster"}
    return constraint if constraint.get("minGroups") else {**constraint, "minGroups": 1}


def _strategy(strategy: Wire) -> Wire:
    divided = strategy.get("replicaSchedulingType", "Divided") == "Divided"
    if divided and not strategy.get("replicaDivisionPreference"):
        return {**strategy, "replicaDivisionPreference": "Weighted"}
    return strategy


def _failover(application: Wire) -> Wire:
    mode = application.get("purgeMode", "Gracefully")
    if mode in _GRACIOUS and application.get("gracePeriodSeconds") is None:
        return {**application, "gracePeriodSeconds": GRACE_PERIOD_S}
    return application


def _cluster(spec: Wire, now: str, *, is_new: bool) -> Wire:
    def timed(taint: Wire) -> Wire:
        lasting = taint.get("effect") != "NoExecute" or taint.get("timeAdded")
        return taint if lasting else {**taint, "timeAdded": now}

    spec = _each(spec, "taints", timed)
    if spec.get("zone") and not spec.get("zones"):
        zone = spec["zone"]
        spec = {key: value for key, value in spec.items() if key != "zone"} | {"zones": [zone]}
    if spec.get("resourceModels"):
        return _bounded(spec)
    return {**spec, "resourceModels": default_models()} if is_new else spec


def default_models() -> list[Wire]:
    """The grades of nodes that a cluster has which names none."""
    bounds = {"cpu": _CPU, "memory": _MEMORY}
    return [
        {
            "grade": grade,
            "ranges": [
                {"name": name, "min": steps[grade], "max": steps[grade + 1]}
                for name, steps in bounds.items()
            ],
        }
        for grade in range(len(_CPU) - 1)
    ]


def _bounded(spec: Wire) -> Wire:
    """Models by grade, the first from zero and the last without end."""
    models = spec["resourceModels"]
    if not isinstance(models, list) or not all(isinstance(one, dict) for one in models):
        return spec
    if not all(type(one.get("grade", 0)) is int for one in models):
        return spec
    ordered = sorted(models, key=lambda one: one.get("grade", 0))
    ordered[0] = _each(ordered[0], "ranges", lambda one: {**one, "min": "0"})
    ordered[-1] = _each(ordered[-1], "ranges", lambda one: {**one, "max": _UNBOUNDED})
    return {**spec, "resourceModels": ordered}
