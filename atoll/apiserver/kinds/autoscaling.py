"""HorizontalPodAutoscaler as autoscaling/v2, in which it is stored: how it is written.

Version 1 is another form of the same objects: see `autoscaling_v1`.
"""

from collections.abc import Callable
from typing import Any

from atoll.apiserver.fields.error import (
    Errors,
    faulty,
    forbidden,
    invalid,
    not_supported,
    required,
)
from atoll.apiserver.kinds.reading import Object, each, fill, given, grown, items, part, parts, text
from atoll.apiserver.kinds.rules import named_errors, not_negative
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults, path_segment_faults
from atoll.model.quantity import parse

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
_UP: Object = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _BY_PERCENT],
}
_DOWN: Object = {"selectPolicy": "Max", "policies": [_BY_PERCENT]}


def cpu_metric(percent: int) -> Object:
    """The metric that is meant by a plain percentage of CPU."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def default_autoscaler(autoscaler: Object) -> None:
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


def autoscaler_errors(autoscaler: Object) -> Errors:
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
    for metric, place in each(parts(spec, "metrics"), "spec.metrics"):
        yield from _metric_errors(metric, place)
    if least == 0 and not {"Object", "External"} & {
        text(metric, "type") for metric in parts(spec, "metrics")
    }:
        why = (
            "must specify at least one Object or External metric to support scaling to zero"
            " replicas"
        )
        yield forbidden("spec.metrics", why)
    for key in ("scaleUp", "scaleDown"):
        rules = given(spec, "behavior", key)
        if rules is not None:
            yield from _scaling_errors(rules, f"spec.behavior.{key}")


def _reference_errors(reference: Object, where: str, *, of_a_group: bool) -> Errors:
    yield from named_errors(reference, where, "kind", "name")
    version = text(reference, "apiVersion")
    if version.count("/") > 1:
        yield invalid(f"{where}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif of_a_group and ("/" not in version or version.startswith("/")):
        yield invalid(f"{where}.apiVersion", version, "apiVersion must specify API group")


def _metric_errors(metric: Object, where: str) -> Errors:
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


def _object_errors(source: Object, where: str) -> Errors:
    described = part(source, "describedObject")
    yield from _reference_errors(described, f"{where}.describedObject", of_a_group=False)
    yield from _named_metric_errors(source, where)
    target = part(source, "target")
    if target.get("value") is None and target.get("averageValue") is None:
        why = "must set either a target value or averageValue"
        yield required(f"{where}.target.averageValue", why)


def _external_errors(source: Object, where: str) -> Errors:
    target = part(source, "target")
    yield from _named_metric_errors(source, where)
    whole, each_pod = target.get("value"), target.get("averageValue")
    if whole is None and each_pod is None:
        why = "must set either a target value for metric or a per-pod target"
        yield required(f"{where}.target.averageValue", why)
    if whole is not None and each_pod is not None:
        why = "may not set both a target value for metric and a per-pod target"
        yield forbidden(f"{where}.target.value", why)


def _pods_errors(source: Object, where: str) -> Errors:
    yield from _named_metric_errors(source, where)
    if part(source, "target").get("averageValue") is None:
        why = "must specify a positive target averageValue"
        yield required(f"{where}.target.averageValue", why)


def _resource_errors(source: Object, where: str) -> Errors:
    if not text(source, "name"):
        yield required(f"{where}.name", "must specify a resource name")
    yield from _amount_errors(part(source, "target"), f"{where}.target")


def _container_errors(source: Object, where: str) -> Errors:
    container = text(source, "container")
    if not text(source, "name"):
        yield required(f"{where}.name", "must specify a resource name")
    if container:
        place = f"{where}.container"
        yield from faulty(place, container, label_faults(container))
    else:
        yield required(f"{where}.container", "must specify a container")
    yield from _amount_errors(part(source, "target"), f"{where}.target")


def _amount_errors(target: Object, where: str) -> Errors:
    yield from _target_errors(target, where)
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    if share is None and amount is None:
        why = "must set either a target raw value or a target utilization"
        yield required(f"{where}.averageUtilization", why)
    if share is not None and amount is not None:
        why = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{where}.averageValue", why)


def _named_metric_errors(source: Object, where: str) -> Errors:
    name, place = text(source, "metric", "name"), f"{where}.metric.name"
    yield from faulty(place, name, path_segment_faults(name))
    if not name:
        yield required(place, "must specify a metric name")
    yield from _target_errors(part(source, "target"), f"{where}.target")


def _target_errors(target: Object, where: str) -> Errors:
    kind = text(target, "type")
    if not kind:
        yield required(f"{where}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(f"{where}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        amount = parse(target.get(key))
        if amount is not None and amount <= 0:
            yield invalid(f"{where}.{key}", target[key], "must be positive")
    share = target.get("averageUtilization")
    if isinstance(share, int) and share < 1:
        yield invalid(f"{where}.averageUtilization", share, "must be greater than 0")


# In the order in which they are looked at: of several sources only the first is checked.
_CHECKS: dict[str, Callable[[Object, str], Errors]] = {
    "object": _object_errors,
    "external": _external_errors,
    "pods": _pods_errors,
    "resource": _resource_errors,
    "containerResource": _container_errors,
}


def _scaling_errors(rules: Object, where: str) -> Errors:
    window, place = rules.get("stabilizationWindowSeconds"), f"{where}.stabilizationWindowSeconds"
    if isinstance(window, int) and window < 0:
        yield invalid(place, window, "must be greater than or equal to zero")
    if isinstance(window, int) and window > _WINDOW_MAX:
        yield invalid(place, window, f"must be less than or equal to {_WINDOW_MAX}")
    select = rules.get("selectPolicy")
    if select is not None and select not in _SELECT_POLICIES:
        yield not_supported(f"{where}.selectPolicy", select, _SELECT_POLICIES)
    policies = parts(rules, "policies")
    if not policies:
        yield required(f"{where}.policies", "must specify at least one Policy")
    for policy, place in each(policies, f"{where}.policies"):
        yield from _policy_errors(policy, place)


def _policy_errors(policy: Object, where: str) -> Errors:
    kind = text(policy, "type")
    value, period = policy.get("value") or 0, policy.get("periodSeconds") or 0
    if kind not in _POLICY_TYPES:
        yield not_supported(f"{where}.type", kind, _POLICY_TYPES)
    if value <= 0:
        yield invalid(f"{where}.value", value, "must be greater than zero")
    place = f"{where}.periodSeconds"
    if period <= 0:
        yield invalid(place, period, "must be greater than zero")
    if period > _PERIOD_MAX:
        yield invalid(place, period, f"must be less than or equal to {_PERIOD_MAX}")


def autoscaler_status_errors(autoscaler: Object) -> Errors:
    return not_negative(part(autoscaler, "status"), "status", "currentReplicas", "desiredReplicas")


HORIZONTAL_POD_AUTOSCALER = Strategy(
    has_status=True,
    default=default_autoscaler,
    errors=autoscaler_errors,
    status_errors=autoscaler_status_errors,
)
