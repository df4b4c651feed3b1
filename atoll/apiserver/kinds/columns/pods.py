"""The columns of pods: above all the one word that says how a pod is doing."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from atoll.apiserver.kinds.columns.cells import (
    AGE,
    NAME,
    NONE,
    TEMPLATE,
    containers_of,
    count,
    since,
    wide,
)
from atoll.apiserver.kinds.labels import printed_labels
from atoll.apiserver.kinds.reading import Object, at, number, part, parts, text
from atoll.apiserver.resource import Column


def _statuses(pod: Object, kind: str) -> list[Object]:
    return parts(pod, "status", kind)


def _sidecars(pod: Object) -> set[str]:
    """The init containers that go on running beside the others."""
    started_first = parts(pod, "spec", "initContainers")
    return {text(c, "name") for c in started_first if c.get("restartPolicy") == "Always"}


def _ready(pod: Object) -> str:
    sidecars = _sidecars(pod)
    total = len(parts(pod, "spec", "containers")) + len(sidecars)
    ready = sum(
        bool(status.get("ready")) and isinstance(at(status, "state", "running"), dict)
        for status in _statuses(pod, "containerStatuses")
    )
    ready += sum(
        bool(status.get("ready"))
        for status in _statuses(pod, "initContainerStatuses")
        if text(status, "name") in sidecars and status.get("started")
    )
    return f"{ready}/{total}"


def _initialising(pod: Object) -> str:
    """What keeps the pod from starting: the first init container that is not through."""
    sidecars = _sidecars(pod)
    statuses = _statuses(pod, "initContainerStatuses")
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


def _ended_by(ended: Object) -> str:
    signal = number(ended, "signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(ended, 'exitCode')}"


def _running(pod: Object, reason: str) -> str:
    """How the containers are doing, the first of them last: it has the word."""
    runs = False
    for status in reversed(_statuses(pod, "containerStatuses")):
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


def _status(pod: Object) -> str:
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


def _restarts(pod: Object) -> str | Callable[[datetime], str]:
    """How often containers were restarted, and when the last one was."""
    sidecars = _sidecars(pod)
    every = _statuses(pod, "initContainerStatuses")
    if not _initialising(pod):
        lasting = [s for s in every if text(s, "name") in sidecars]
        every = lasting + _statuses(pod, "containerStatuses")
    total = sum(number(status, "restartCount") for status in every)
    times: list[Any] = [at(s, "lastState", "terminated", "finishedAt") for s in every]
    last = max((t for t in times if isinstance(t, str)), default=None)
    ago = since(last)
    if not total or isinstance(ago, str):
        return str(total)
    return lambda now: f"{total} ({ago(now)} ago)"


def _gates(pod: Object) -> str:
    gates = parts(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    met = {text(c, "type") for c in parts(pod, "status", "conditions") if c.get("status") == "True"}
    return f"{sum(text(gate, 'conditionType') in met for gate in gates)}/{len(gates)}"


def _address(pod: Object) -> str:
    addresses = parts(pod, "status", "podIPs")
    return text(addresses[0], "ip") if addresses else text(pod, "status", "podIP") or NONE


POD = (
    NAME,
    Column("Ready", _ready),
    Column("Status", _status),
    Column("Restarts", _restarts),
    AGE,
    wide("IP", _address),
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
