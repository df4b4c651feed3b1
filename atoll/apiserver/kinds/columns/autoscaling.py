"""The columns of HorizontalPodAutoscaler and PodDisruptionBudget."""

from atoll.apiserver.kinds.autoscaling_v1 import to_v2
from atoll.apiserver.kinds.columns.cells import AGE, NAME, NONE, count
from atoll.apiserver.kinds.reading import Object, at, number, part, parts, text
from atoll.apiserver.resource import Column

_METRICS_SHOWN = 2
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _targets(autoscaler: Object) -> str:
    metrics = parts(autoscaler, "spec", "metrics")
    measured = parts(autoscaler, "status", "currentMetrics")
    if not metrics:
        return NONE
    shown = [
        _target(metric, measured[index] if index < len(measured) else {})
        for index, metric in enumerate(metrics)
    ]
    joined = ", ".join(shown[:_METRICS_SHOWN])
    more = len(shown) - _METRICS_SHOWN
    return f"{joined} + {more} more..." if more > 0 else joined


def _target(metric: Object, measured: Object) -> str:
    """What is measured, and what is aimed at."""
    kind = _SOURCES.get(text(metric, "type"))
    if kind is None:
        return "<unknown type>"
    target, current = part(metric, kind, "target"), part(measured, kind, "current")
    average = target.get("averageValue")
    if kind in ("resource", "containerResource"):
        name = text(metric, kind, "name")
        if average is not None:
            return f"{name}: {_known(current, 'averageValue')}/{average}"
        share, used = target.get("averageUtilization"), current.get("averageUtilization")
        aim = "<auto>" if share is None else f"{share}%"
        return f"{name}: {'<unknown>' if used is None else f'{used}%'}/{aim}"
    if kind == "pods":
        return f"{_known(current, 'averageValue')}/{average}"
    if average is not None:
        return f"{_known(current, 'averageValue')}/{average} (avg)"
    return f"{_known(current, 'value')}/{target.get('value')}"


def _known(current: Object, key: str) -> str:
    value = current.get(key)
    return "<unknown>" if value is None else str(value)


def _reference(autoscaler: Object) -> str:
    target = part(autoscaler, "spec", "scaleTargetRef")
    return f"{text(target, 'kind')}/{text(target, 'name')}"


def _least(autoscaler: Object) -> str:
    found = at(autoscaler, "spec", "minReplicas")
    return "<unset>" if found is None else str(found)


def _columns(*, older: bool) -> tuple[Column, ...]:
    def targets(obj: Object) -> str:
        return _targets(to_v2(obj) if older else obj)

    return (
        NAME,
        Column("Reference", _reference),
        Column("Targets", targets),
        Column("MinPods", _least),
        Column("MaxPods", lambda obj: number(obj, "spec", "maxReplicas")),
        Column("Replicas", lambda obj: number(obj, "status", "currentReplicas")),
        AGE,
    )


HORIZONTAL_POD_AUTOSCALER = _columns(older=False)
HORIZONTAL_POD_AUTOSCALER_V1 = _columns(older=True)


def _share(key: str, name: str) -> Column:
    def cell(budget: Object) -> str:
        found = at(budget, "spec", key)
        return "N/A" if found is None else str(found)

    return Column(name, cell)


POD_DISRUPTION_BUDGET = (
    NAME,
    _share("minAvailable", "Min Available"),
    _share("maxUnavailable", "Max Unavailable"),
    count("Allowed Disruptions", "status", "disruptionsAllowed"),
    AGE,
)
