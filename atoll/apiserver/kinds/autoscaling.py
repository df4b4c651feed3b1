"""HorizontalPodAutoscaler as autoscaling/v2, in which it is stored: how it is written.

Version 1 is another form of the same objects: see `autoscaling_v1`.
"""

from functools import partial
from typing import Any

from atoll.apiserver.fields.error import Errors, forbidden, invalid, named, not_supported, required
from atoll.apiserver.kinds.reading import fill, given, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import (
    Check,
    chosen,
    if_given,
    in_each,
    in_range,
    named_errors,
    not_negative,
    one_of,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, path_segment_faults
from atoll.model.quantity import parse
from atoll.wire import Wire

CPU_PERCENT = 80  # what is aimed at where nothing is said
_WINDOW_MAX, _PERIOD_MAX = 3600, 1800
_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_BY_PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}
_UP: Wire = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _BY_PERCENT],
}
_DOWN: Wire = {"selectPolicy": "Max", "policies": [_BY_PERCENT]}


def cpu_metric(percent: int) -> Wire:
    """The metric that is meant by a plain percentage of CPU."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def default_autoscaler(autoscaler: Wire) -> None:
    spec = grown(autoscaler, "spec")
    fill(spec, minReplicas=1)
    if not items(spec, "metrics"):
        spec["metrics"] = [cpu_metric(CPU_PERCENT)]
    status = grown(autoscaler, "status")
    status["currentMetrics"] = status.get("currentMetrics") or None  # where there are none: null
    behavior = given(spec, "behavior")
    if behavior is not None:
        for key, rules in (("scaleUp", _UP), ("scaleDown", _DOWN)):
            there = grown(behavior, key)
            missing = {name: value for name, value in rules.items() if there.get(name) is None}
            there |= {name: _copied(value) for name, value in missing.items()}


def _copied(value: Any) -> Any:
    return [dict(policy) for policy in value] if isinstance(value, list) else value


def autoscaler_errors(autoscaler: Wire) -> Errors:
    spec = part(autoscaler, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    where = "spec.maxReplicas"
    if most == 0:
        yield required(where, "must be set and greater than 0")
    elif most < 0:
        yield invalid(where, most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid(where, most, "must be greater than or equal to `minReplicas`")
    target = part(spec, "scaleTargetRef")
    yield from _reference_errors(target, "spec.scaleTargetRef", of_a_group=True)
    yield from in_each(spec, "spec", "metrics", _metric_errors)
    if least == 0 and not {"Object", "External"} & {
        text(metric, "type") for metric in parts(spec, "metrics")
    }:
        why = (
            "must specify at least one Object or External metric to support scaling to zero"
            " replicas"
        )
        yield forbidden("spec.metrics", why)
    for key in ("scaleUp", "scaleDown"):
        yield from if_given(part(spec, "behavior"), "spec.behavior", key, _scaling_errors)


def _reference_errors(reference: Wire, where: str, *, of_a_group: bool) -> Errors:
    yield from named_errors(reference, where, "kind", "name")
    version = text(reference, "apiVersion")
    if version.count("/") > 1:
        yield invalid(f"{where}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif of_a_group and ("/" not in version or version.startswith("/")):
        yield invalid(f"{where}.apiVersion", version, "apiVersion must specify API group")


def _metric_errors(metric: Wire, where: str) -> Errors:
    kind = text(metric, "type")
    unknown = not_supported(f"{where}.type", kind, tuple(_SOURCES))
    if not kind:
        yield required(f"{where}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield unknown
    present = [key for key in _CHECKS if given(metric, key) is not None]
    if present:
        yield from _CHECKS[present[0]](part(metric, present[0]), f"{where}.{present[0]}")
    expected = _SOURCES.get(kind)
    if expected is None:
        yield unknown
    elif expected not in present:
        why = "must populate information for the given metric source"
        yield required(f"{where}.{expected}", why)
    if len(present) != 1:
        why = "must populate the given metric source only"
        yield from (forbidden(f"{where}.{key}", why) for key in present if key != expected)


def _object_errors(source: Wire, where: str) -> Errors:
    described = part(source, "describedObject")
    yield from _reference_errors(described, f"{where}.describedObject", of_a_group=False)
    yield from _named_metric_errors(source, where)
    target = part(source, "target")
    if target.get("value") is None and target.get("averageValue") is None:
        why = "must set either a target value or averageValue"
        yield required(f"{where}.target.averageValue", why)


def _external_errors(source: Wire, where: str) -> Errors:
    yield from _named_metric_errors(source, where)
    both = "a target value for metric", "a per-pod target"
    yield from _either(part(source, "target"), f"{where}.target", "averageValue", "value", both)


def _either(target: Wire, where: str, first: str, second: str, both: tuple[str, str]) -> Errors:
    """One of two aims must be set, and not the other: what lacks is told of the first."""
    there = [key for key in (first, second) if target.get(key) is not None]
    if not there:
        yield required(f"{where}.{first}", f"must set either {both[0]} or {both[1]}")
    if len(there) == 2:
        yield forbidden(f"{where}.{second}", f"may not set both {both[0]} and {both[1]}")


def _pods_errors(source: Wire, where: str) -> Errors:
    yield from _named_metric_errors(source, where)
    if part(source, "target").get("averageValue") is None:
        why = "must specify a positive target averageValue"
        yield required(f"{where}.target.averageValue", why)


def _resource_errors(source: Wire, where: str, *, of_container: bool = False) -> Errors:
    if not text(source, "name"):
        yield required(f"{where}.name", "must specify a resource name")
    if of_container:
        name, why = text(source, "container"), "must specify a container"
        yield from named(f"{where}.container", name, label_faults, why)
    target, where = part(source, "target"), f"{where}.target"
    yield from _target_errors(target, where)
    both = "a target raw value", "a target utilization"
    yield from _either(target, where, "averageUtilization", "averageValue", both)


def _named_metric_errors(source: Wire, where: str) -> Errors:
    name, place = text(source, "metric", "name"), f"{where}.metric.name"
    yield from named(place, name, path_segment_faults, "must specify a metric name")
    yield from _target_errors(part(source, "target"), f"{where}.target")


def _target_errors(target: Wire, where: str) -> Errors:
    kind = text(target, "type")
    if not kind:
        yield required(f"{where}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(f"{where}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        amount = parse(target.get(key))
        if amount is not None and amount <= 0:
            yield invalid(f"{where}.{key}", target[key], "must be positive")
    yield from in_range(target, where, "averageUtilization", "must be greater than 0", 1)


# In the order in which they are looked at: of several sources only the first is checked.
_CHECKS: dict[str, Check] = {
    "object": _object_errors,
    "external": _external_errors,
    "pods": _pods_errors,
    "resource": _resource_errors,
    "containerResource": partial(_resource_errors, of_container=True),
}


def _scaling_errors(rules: Wire, where: str) -> Errors:
    window = rules.get("stabilizationWindowSeconds") or 0
    if not 0 <= window <= _WINDOW_MAX:
        least = "greater than or equal to zero"
        why = least if window < 0 else f"less than or equal to {_WINDOW_MAX}"
        yield invalid(f"{where}.stabilizationWindowSeconds", window, f"must be {why}")
    yield from one_of(rules, where, "selectPolicy", _SELECT_POLICIES)
    if not parts(rules, "policies"):
        yield required(f"{where}.policies", "must specify at least one Policy")
    yield from in_each(rules, where, "policies", _policy_errors)


def _policy_errors(policy: Wire, where: str) -> Errors:
    value, period = policy.get("value") or 0, policy.get("periodSeconds") or 0
    yield from chosen({"type": text(policy, "type")}, where, "type", _POLICY_TYPES)
    if value <= 0:
        yield invalid(f"{where}.value", value, "must be greater than zero")
    place = f"{where}.periodSeconds"
    if period <= 0:
        yield invalid(place, period, "must be greater than zero")
    if period > _PERIOD_MAX:
        yield invalid(place, period, f"must be less than or equal to {_PERIOD_MAX}")


def autoscaler_status_errors(autoscaler: Wire) -> Errors:
    return not_negative(part(autoscaler, "status"), "status", "currentReplicas", "desiredReplicas")


HORIZONTAL_POD_AUTOSCALER = Strategy(
    has_status=True,
    default=default_autoscaler,
    errors=autoscaler_errors,
    status_errors=autoscaler_status_errors,
)
