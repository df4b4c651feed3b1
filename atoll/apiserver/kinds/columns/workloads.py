"""The columns of workloads and what decides about them: apps, batch, autoscaling, policy and pods.

Of pods above all the one word that says how a pod is doing.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from atoll.apiserver.kinds.autoscaling_v1 import to_v2
from atoll.apiserver.kinds.columns.cells import (
    AGE,
    NAME,
    NONE,
    TEMPLATE,
    Timed,
    between,
    containers_of,
    count,
    selector_at,
    since,
    wide,
)
from atoll.apiserver.kinds.labels import printed_labels
from atoll.apiserver.kinds.reading import at, items, number, part, parts, text
from atoll.apiserver.resource import Column
from atoll.wire import Wire

_SELECTOR = selector_at("spec", "selector")


def _ready(obj: Wire) -> str:
    return f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"


def _number(name: str, *path: str) -> Column:
    """A number in a column that says it has text, as some do."""
    return Column(name, lambda obj: number(obj, *path))


def _controller(revision: Wire) -> str:
    for owner in parts(revision, "metadata", "ownerReferences"):
        if owner.get("controller"):
            group, slash, _ = text(owner, "apiVersion").rpartition("/")
            kind, name = text(owner, "kind").lower(), text(owner, "name")
            return f"{kind}.{group}/{name}" if slash else f"{kind}/{name}"
    return NONE


def _job_status(job: Wire) -> str:
    held = {
        text(condition, "type")
        for condition in parts(job, "status", "conditions")
        if condition.get("status") == "True"
    }
    for condition in ("Complete", "Failed"):
        if condition in held:
            return condition
    if at(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    going = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((condition for condition in going if condition in held), "Running")


def _completions(job: Wire) -> str:
    done, spec = number(job, "status", "succeeded"), part(job, "spec")
    if spec.get("completions") is not None:
        return f"{done}/{number(spec, 'completions')}"
    width = number(spec, "parallelism")
    return f"{done}/1 of {width}" if width > 1 else f"{done}/1"


def _duration(job: Wire) -> str | Timed:
    start, end = at(job, "status", "startTime"), at(job, "status", "completionTime")
    if not start:
        return ""
    return between(start, end) if end else since(start)


def _last_schedule(cronjob: Wire) -> Any:
    last = at(cronjob, "status", "lastScheduleTime")
    return since(last) if last else NONE


DEPLOYMENT = (
    NAME,
    Column("Ready", _ready),
    _number("Up-to-date", "status", "updatedReplicas"),
    _number("Available", "status", "availableReplicas"),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
REPLICA_SET = (
    NAME,
    count("Desired", "spec", "replicas"),
    count("Current", "status", "replicas"),
    count("Ready", "status", "readyReplicas"),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
STATEFUL_SET = (NAME, Column("Ready", _ready), AGE, *containers_of(*TEMPLATE))
DAEMON_SET = (
    NAME,
    count("Desired", "status", "desiredNumberScheduled"),
    count("Current", "status", "currentNumberScheduled"),
    count("Ready", "status", "numberReady"),
    count("Up-to-date", "status", "updatedNumberScheduled"),
    count("Available", "status", "numberAvailable"),
    Column(
        "Node Selector",
        lambda obj: printed_labels(part(obj, "spec", "template", "spec", "nodeSelector")),
    ),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
CONTROLLER_REVISION = (
    NAME,
    Column("Controller", _controller),
    _number("Revision", "revision"),
    AGE,
)
JOB = (
    NAME,
    Column("Status", _job_status),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *containers_of(*TEMPLATE),
    _SELECTOR,
)
CRON_JOB = (
    NAME,
    Column("Schedule", lambda obj: text(obj, "spec", "schedule")),
    Column("Timezone", lambda obj: text(obj, "spec", "timeZone") or NONE),
    Column("Suspend", lambda obj: str(bool(at(obj, "spec", "suspend"))), type="boolean"),
    Column("Active", lambda obj: len(items(obj, "status", "active")), type="integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *containers_of("spec", "jobTemplate", *TEMPLATE),
    wide("Selector", lambda obj: _SELECTOR.cell(part(obj, "spec", "jobTemplate"))),
)


def _sidecars(pod: Wire) -> set[str]:
    """The init containers that go on running beside the others."""
    started_first = parts(pod, "spec", "initContainers")
    return {text(c, "name") for c in started_first if c.get("restartPolicy") == "Always"}


def _pod_ready(pod: Wire) -> str:
    sidecars = _sidecars(pod)
    total = len(parts(pod, "spec", "containers")) + len(sidecars)
    ready = sum(
        bool(status.get("ready")) and isinstance(at(status, "state", "running"), dict)
        for status in parts(pod, "status", "containerStatuses")
    )
    ready += sum(
        bool(status.get("ready"))
        for status in parts(pod, "status", "initContainerStatuses")
        if text(status, "name") in sidecars and status.get("started")
    )
    return f"{ready}/{total}"


def _initialising(pod: Wire) -> str:
    """What keeps the pod from starting: the first init container that is not through."""
    sidecars = _sidecars(pod)
    statuses = parts(pod, "status", "initContainerStatuses")
    total = len(parts(pod, "spec", "initContainers"))
    for done, status in enumerate(statuses):
        ended = at(status, "state", "terminated")
        if isinstance(ended, dict) and not ended.get("exitCode"):
            continue
        if text(status, "name") in sidecars and status.get("started"):
            continue
        if isinstance(ended, dict):
            return "Init:" + (text(ended, "reason") or _ended_by(ended))
        waits = text(status, "state", "waiting", "reason")
        if waits and waits != "PodInitializing":
            return f"Init:{waits}"
        return f"Init:{done}/{total}"
    return ""


def _ended_by(ended: Wire) -> str:
    signal = number(ended, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(ended, 'exitCode')}"


def _running(pod: Wire, reason: str) -> str:
    """How the containers are doing, the first of them last: it has the word."""
    runs = False
    for status in reversed(parts(pod, "status", "containerStatuses")):
        waits = text(status, "state", "waiting", "reason")
        ended = at(status, "state", "terminated")
        if waits:
            reason = waits
        elif isinstance(ended, dict):
            reason = text(ended, "reason") or _ended_by(ended)
        elif status.get("ready") and isinstance(at(status, "state", "running"), dict):
            runs = True
    if reason == "Completed" and runs:
        conditions = parts(pod, "status", "conditions")
        ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
        return "Running" if ready else "NotReady"
    return reason


def _status(pod: Wire) -> str:
    reason = text(pod, "status", "reason") or text(pod, "status", "phase")
    gated = (
        condition
        for condition in parts(pod, "status", "conditions")
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
    )
    if any(gated):
        reason = "SchedulingGated"
    reason = _initialising(pod) or _running(pod, reason)
    if at(pod, "metadata", "deletionTimestamp"):
        if text(pod, "status", "reason") == "NodeLost":
            return "Unknown"
        if text(pod, "status", "phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return reason


def _restarts(pod: Wire) -> str | Callable[[datetime], str]:
    """How often containers were restarted, and when the last one was."""
    sidecars = _sidecars(pod)
    every = parts(pod, "status", "initContainerStatuses")
    if not _initialising(pod):
        lasting = [s for s in every if text(s, "name") in sidecars]
        every = lasting + parts(pod, "status", "containerStatuses")
    total = sum(number(status, "restartCount") for status in every)
    times: list[Any] = [at(s, "lastState", "terminated", "finishedAt") for s in every]
    last = max((t for t in times if isinstance(t, str)), default=None)
    ago = since(last)
    if not total or isinstance(ago, str):
        return str(total)
    return lambda now: f"{total} ({ago(now)} ago)"


def _gates(pod: Wire) -> str:
    gates = parts(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    met = {text(c, "type") for c in parts(pod, "status", "conditions") if c.get("status") == "True"}
    return f"{sum(text(gate, 'conditionType') in met for gate in gates)}/{len(gates)}"


def _pod_address(pod: Wire) -> str:
    addresses = parts(pod, "status", "podIPs")
    return text(addresses[0], "ip") if addresses else text(pod, "status", "podIP") or NONE


POD = (
    NAME,
    Column("Ready", _pod_ready),
    Column("Status", _status),
    Column("Restarts", _restarts),
    AGE,
    wide("IP", _pod_address),
    wide("Node", lambda obj: text(obj, "spec", "nodeName") or NONE),
    wide("Nominated Node", lambda obj: text(obj, "status", "nominatedNodeName") or NONE),
    wide("Readiness Gates", _gates),
)
POD_TEMPLATE = (
    NAME,
    *(Column(column.name, column.cell) for column in containers_of("template")),
    Column("Pod Labels", lambda obj: printed_labels(part(obj, "template", "metadata", "labels"))),
)
REPLICATION_CONTROLLER = (
    NAME,
    count("Desired", "spec", "replicas"),
    count("Current", "status", "replicas"),
    count("Ready", "status", "readyReplicas"),
    AGE,
    *containers_of(*TEMPLATE),
    wide("Selector", lambda obj: printed_labels(part(obj, "spec", "selector"))),
)


_METRICS_SHOWN = 2
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _targets(autoscaler: Wire) -> str:
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


def _target(metric: Wire, measured: Wire) -> str:
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


def _known(current: Wire, key: str) -> str:
    value = current.get(key)
    return "<unknown>" if value is None else str(value)


def _reference(autoscaler: Wire) -> str:
    target = part(autoscaler, "spec", "scaleTargetRef")
    return f"{text(target, 'kind')}/{text(target, 'name')}"


def _least(autoscaler: Wire) -> str:
    found = at(autoscaler, "spec", "minReplicas")
    return "<unset>" if found is None else str(found)


def _columns(*, older: bool) -> tuple[Column, ...]:
    def targets(obj: Wire) -> str:
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
    def cell(budget: Wire) -> str:
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


PRIORITY_CLASS = (
    NAME,
    count("Value", "value"),
    Column("Global-Default", lambda obj: bool(obj.get("globalDefault")), type="boolean"),
    AGE,
    Column("PreemptionPolicy", lambda obj: text(obj, "preemptionPolicy")),
)
