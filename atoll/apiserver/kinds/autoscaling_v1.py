"""HorizontalPodAutoscaler as autoscaling/v1: a percentage of CPU, and the rest in annotations.

Objects are stored as autoscaling/v2. `from_v2` and `to_v2` lose nothing: what version 1 has no
field for travels as JSON in annotations, which version 2 never shows.
"""

from typing import Any

import orjson

from atoll.apiserver.kinds.autoscaling import (
    CPU_PERCENT,
    autoscaler_errors,
    autoscaler_status_errors,
    cpu_metric,
)
from atoll.apiserver.kinds.reading import at, fill, grown, part, parts, text
from atoll.apiserver.kinds.rules import in_go
from atoll.apiserver.resource import Strategy
from atoll.wire import Wire

_V1, _V2 = "autoscaling/v1", "autoscaling/v2"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _CURRENT = _PREFIX + "metrics", _PREFIX + "current-metrics"
_CONDITIONS, _BEHAVIOR = _PREFIX + "conditions", _PREFIX + "behavior"
_TOLERANCES = (_PREFIX + "scale-down-tolerance", _PREFIX + "scale-up-tolerance")
_CARRYING = frozenset([_METRICS, _CURRENT, _CONDITIONS, _BEHAVIOR, *_TOLERANCES])
_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")

# A source's fields in version 1, by where version 2 has them. The first is never absent there.
_SPECS: dict[str, dict[str, tuple[str, ...]]] = {
    "object": {
        "targetValue": ("target", "value"),
        "averageValue": ("target", "averageValue"),
        "target": ("describedObject",),
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
    },
    "pods": {
        "targetAverageValue": ("target", "averageValue"),
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
    },
    "external": {
        "metricName": ("metric", "name"),
        "targetValue": ("target", "value"),
        "targetAverageValue": ("target", "averageValue"),
        "metricSelector": ("metric", "selector"),
    },
    "resource": {
        "name": ("name",),
        "targetAverageUtilization": ("target", "averageUtilization"),
        "targetAverageValue": ("target", "averageValue"),
    },
    "containerResource": {
        "name": ("name",),
        "container": ("container",),
        "targetAverageUtilization": ("target", "averageUtilization"),
        "targetAverageValue": ("target", "averageValue"),
    },
}
_STATUSES: dict[str, dict[str, tuple[str, ...]]] = {
    "object": {
        "currentValue": ("current", "value"),
        "averageValue": ("current", "averageValue"),
        "target": ("describedObject",),
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
    },
    "pods": {
        "currentAverageValue": ("current", "averageValue"),
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
    },
    "external": {
        "currentValue": ("current", "value"),
        "metricName": ("metric", "name"),
        "currentAverageValue": ("current", "averageValue"),
        "metricSelector": ("metric", "selector"),
    },
    "resource": {
        "currentAverageValue": ("current", "averageValue"),
        "name": ("name",),
        "currentAverageUtilization": ("current", "averageUtilization"),
    },
    "containerResource": {
        "currentAverageValue": ("current", "averageValue"),
        "name": ("name",),
        "container": ("container",),
        "currentAverageUtilization": ("current", "averageUtilization"),
    },
}
_NEVER_ABSENT = frozenset(["targetValue", "currentValue", "currentAverageValue"])


def from_v2(autoscaler: Wire) -> Wire:
    """A stored autoscaler as version 1 shows it."""
    spec, status = part(autoscaler, "spec"), part(autoscaler, "status")
    shown = {key: spec[key] for key in _SPEC if key in spec}
    others = [metric for metric in parts(spec, "metrics") if _percent(metric) is None]
    percents = [p for metric in parts(spec, "metrics") if (p := _percent(metric)) is not None]
    if percents:
        shown["targetCPUUtilizationPercentage"] = percents[0]
    carried: dict[str, Any] = {}
    if others:
        carried[_METRICS] = [_written(metric, _SPECS) for metric in others]
    if spec.get("behavior") is not None:
        carried[_BEHAVIOR] = _behavior_written(spec["behavior"])
    current = parts(status, "currentMetrics")
    if current:
        carried[_CURRENT] = [_written(metric, _STATUSES) for metric in current]
    if parts(status, "conditions"):
        carried[_CONDITIONS] = status["conditions"]
    made = {**autoscaler, "spec": shown, **_versioned(autoscaler, _V1)}
    if "status" in autoscaler:
        told = {key: status[key] for key in _STATUS if key in status}
        used = [at(m, "resource", "current", "averageUtilization") for m in current if _is_cpu(m)]
        if used and used[-1] is not None:
            told["currentCPUUtilizationPercentage"] = used[-1]
        made["status"] = told
    notes = {key: orjson.dumps(value).decode() for key, value in carried.items()}
    return _annotated(made, notes)


def to_v2(autoscaler: Wire) -> Wire:
    """An autoscaler of version 1 as it is stored."""
    notes = part(autoscaler, "metadata", "annotations")
    given_spec, given_status = part(autoscaler, "spec"), part(autoscaler, "status")
    spec = {key: given_spec[key] for key in _SPEC if key in given_spec}
    percent = given_spec.get("targetCPUUtilizationPercentage")
    metrics = [_read(metric, _SPECS) for metric in _listed(notes, _METRICS)]
    if isinstance(percent, int):
        metrics.append(cpu_metric(percent))
    spec["metrics"] = metrics or [cpu_metric(CPU_PERCENT)]
    behavior = _carried(notes, _BEHAVIOR)
    if isinstance(behavior, dict) and behavior:
        spec["behavior"] = _behavior_read(behavior)
    made = {**autoscaler, "spec": spec, **_versioned(autoscaler, _V2)}
    status = {key: given_status[key] for key in _STATUS if key in given_status}
    status["currentMetrics"] = None
    used = given_status.get("currentCPUUtilizationPercentage")
    if current := _listed(notes, _CURRENT):
        status["currentMetrics"] = [_read(metric, _STATUSES) for metric in current]
    elif isinstance(used, int):
        resource = {"name": "cpu", "current": {"averageUtilization": used}}
        status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    if conditions := _listed(notes, _CONDITIONS):
        status["conditions"] = conditions
    made["status"] = status
    return _annotated(made, {})


def _versioned(autoscaler: Wire, version: str) -> Wire:
    return {"apiVersion": version} if "apiVersion" in autoscaler else {}


def _annotated(autoscaler: Wire, notes: dict[str, str]) -> Wire:
    """With these annotations, and without those that carry what another version has."""
    meta = part(autoscaler, "metadata")
    before = part(meta, "annotations")
    kept = {key: value for key, value in before.items() if key not in _CARRYING} | notes
    if kept == before:
        return autoscaler
    changed = {key: value for key, value in meta.items() if key != "annotations"}
    return {**autoscaler, "metadata": changed | ({"annotations": kept} if kept else {})}


def _carried(notes: Wire, key: str) -> Any:
    """What an annotation carries; None if it cannot be read."""
    try:
        return orjson.loads(notes.get(key) or b"null")
    except (orjson.JSONDecodeError, TypeError, ValueError):
        return None


def _listed(notes: Wire, key: str) -> list[Wire]:
    return parts(_carried(notes, key))


def _is_cpu(metric: Wire) -> bool:
    return text(metric, "type") == "Resource" and text(metric, "resource", "name") == "cpu"


def _percent(metric: Wire) -> int | None:
    share = at(metric, "resource", "target", "averageUtilization")
    return share if _is_cpu(metric) and isinstance(share, int) else None


def _written(metric: Wire, forms: dict[str, dict[str, tuple[str, ...]]]) -> Wire:
    """A metric, or what was measured of it, in the form of version 1."""
    made: Wire = {"type": text(metric, "type")}
    for source, fields in forms.items():
        if isinstance(metric.get(source), dict):
            values = {name: at(metric[source], *path) for name, path in fields.items()}
            made[source] = {
                name: "0" if value is None else value
                for name, value in values.items()
                if value is not None or (name in _NEVER_ABSENT and source != "external")
            }
    return made


def _read(metric: Wire, forms: dict[str, dict[str, tuple[str, ...]]]) -> Wire:
    """A metric, or what was measured of it, out of the form of version 1."""
    made: Wire = {"type": text(metric, "type")}
    for source, fields in forms.items():
        found = metric.get(source)
        if isinstance(found, dict):
            into = made[source] = {}
            for name, path in fields.items():
                if found.get(name) is not None:
                    grown(into, *path[:-1])[path[-1]] = found[name]
            if forms is _SPECS:
                _aim(into, source)
    return made


def _aim(source: Wire, kind: str) -> None:
    """Say what kind of target it is, which version 1 leaves to be seen; in place."""
    target = grown(source, "target")
    average = target.get("averageValue") is not None
    if kind in ("resource", "containerResource"):
        by_share = target.get("averageUtilization") is not None
        target["type"] = "Utilization" if by_share else "AverageValue"
    elif kind == "pods":
        target["type"] = "AverageValue"
    elif kind == "external":
        target["type"] = "AverageValue" if target.get("value") is None else "Value"
    else:
        target["type"] = "AverageValue" if average else "Value"
        if average and target.get("value") == "0":
            del target["value"]


# The one annotation that has the names inside Kubernetes' program.
_BEHAVIOR_KEYS = (
    *("scaleUp", "scaleDown", "stabilizationWindowSeconds", "selectPolicy", "policies"),
    *("tolerance", "type", "value", "periodSeconds"),
)
_BEHAVIOR_NAMES = {key: in_go(key) for key in _BEHAVIOR_KEYS}
_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_BEHAVIOR_READ = {name.lower(): key for key, name in _BEHAVIOR_NAMES.items()}


def _behavior_written(behavior: Wire) -> Wire:
    shown = {}
    for key in ("scaleUp", "scaleDown"):
        rules = behavior.get(key)
        renamed = _renamed(rules, _BEHAVIOR_NAMES) if isinstance(rules, dict) else None
        shown[_BEHAVIOR_NAMES[key]] = renamed and dict.fromkeys(_RULES) | renamed
    return shown


def _behavior_read(behavior: Wire) -> Wire:
    lowered = _renamed(behavior, None)
    return {key: value for key, value in lowered.items() if value is not None}


def _renamed(value: Any, names: dict[str, str] | None) -> Any:
    """With other names; names that are read may be in any case, and empty ones are left out."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    if names is not None:
        return {names.get(key, key): _renamed(item, names) for key, item in value.items()}
    return {
        _BEHAVIOR_READ.get(key.lower(), key): _renamed(item, None)
        for key, item in value.items()
        if item is not None
    }


def _default(autoscaler: Wire) -> None:
    spec = grown(autoscaler, "spec")
    fill(spec, minReplicas=1)
    if not _listed(part(autoscaler, "metadata", "annotations"), _METRICS):
        fill(spec, targetCPUUtilizationPercentage=CPU_PERCENT)


HORIZONTAL_POD_AUTOSCALER = Strategy(
    has_status=True,
    default=_default,
    errors=lambda autoscaler: autoscaler_errors(to_v2(autoscaler)),
    status_errors=autoscaler_status_errors,
)
