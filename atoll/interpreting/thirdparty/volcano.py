"""Volcano (batch.volcano.sh): jobs of several tasks, each with pods of its own."""

import re
from typing import Any

from atoll.dialects.wire import INT64, count, number, part, parts, text
from atoll.interpreting.aggregating import news, reported
from atoll.interpreting.fields import inner
from atoll.interpreting.operations import Interpretation, Item
from atoll.interpreting.thirdparty.pods import component, template_in
from atoll.interpreting.thirdparty.statuses import (
    Tally,
    clusters_where,
    newest,
    nothing_empty,
    of_several,
    picking,
)
from atoll.wire import Object

_SUMS = (
    *("minAvailable", "pending", "running", "succeeded", "failed", "terminating", "unknown"),
    "retryCount",
)
_WELL = (
    *("Pending", "Running", "Restarting", "Completing", "Completed"),
    *("Aborting", "Aborted", "Terminating", "Terminated"),
)
_BAD = ("Failed", "Aborting", "Aborted", "Terminating", "Terminated")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def _components(wire: Object) -> tuple[Object, ...]:
    """A task counts with as many pods as the job cannot begin without; one if that is not said."""
    return tuple(
        component(
            text(task, "name", here) or f"task-{index}",
            count(task, "minAvailable", here) if "minAvailable" in task else 1,
            template_in(task, here),
        )
        for index, (here, task) in enumerate(parts(inner(wire, "spec"), "tasks", "spec"))
    )


def _healthy(observed: Object) -> bool:
    """It has not failed; that someone ended it is no failure."""
    return _phase(inner(observed, "status"), "status") in _WELL


def _phase(status: Object, path: str) -> str:
    return text(part(status, "state", path) or {}, "phase", f"{path}.state")


@of_several
def _summed(template: Object, items: tuple[Item, ...]) -> Object | None:
    """Sums of pods, by task and phase too; failed where it failed anywhere, done if everywhere."""
    found = list(reported(items))
    status: dict[str, Any] = Tally(sums=_SUMS).status({}, items)
    versions = [number(each, "version", path, most=INT64) or 0 for path, each in found]
    durations = [text(each, "runningDuration", path) for path, each in found]
    status |= {
        "version": max(versions, default=0),
        "runningDuration": max(durations, key=_seconds, default=""),
        "taskStatusCount": _by_task(found),
        "controlledResources": _merged(found, "controlledResources"),
        "state": _state(items),
        "conditions": _conditions(found),
    }
    return news(template, nothing_empty(status))


def _seconds(written: str) -> float:
    """How long a duration such as 1h2m3s is; zero if it is none."""
    return sum(float(size) * _SECONDS[unit] for size, unit in _PART.findall(written))


def _by_task(found: list[tuple[str, Object]]) -> dict[str, Any]:
    sums: dict[str, dict[str, int]] = {}
    for path, status in found:
        tasks = part(status, "taskStatusCount", path) or {}
        for task in tasks:
            here = f"{path}.taskStatusCount.{task}"
            counted = part(tasks, task, f"{path}.taskStatusCount") or {}
            phases = part(counted, "phase", here) or {}
            known = sums.setdefault(task, {})
            for phase in phases:
                known[phase] = known.get(phase, 0) + count(phases, phase, f"{here}.phase")
    return {task: {"phase": phases} for task, phases in sums.items()}


def _merged(found: list[tuple[str, Object]], key: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for path, status in found:
        merged |= part(status, key, path) or {}
    return merged


def _state(items: tuple[Item, ...]) -> dict[str, Any]:
    failed = clusters_where(items, lambda each, path: _phase(each, path) in ("Failed", "Aborted"))
    done = clusters_where(items, lambda each, path: _phase(each, path) == "Completed")
    states = [part(status, "state", path) or {} for path, status in reported(items)]
    since = max((str(each.get("lastTransitionTime") or "") for each in states), default="")
    if failed:
        message = f"Job failed in clusters: {','.join(failed)}"
        return _said("Failed", "VolcanoJobFailed", message, since)
    if len(done) == len(items):
        return _said("Completed", "Completed", "Job completed successfully", since)
    return {}


def _said(phase: str, reason: str, message: str, since: str) -> dict[str, Any]:
    return {"phase": phase, "reason": reason, "message": message, "lastTransitionTime": since}


def _conditions(found: list[tuple[str, Object]]) -> list[Object]:
    """Those of the first cluster where it went wrong; else the newest of each sort."""
    by_cluster = [[each for _, each in parts(one, "conditions", path)] for path, one in found]
    for listed in by_cluster:
        if any(each.get("status") in _BAD for each in listed):
            return listed
    return newest(
        [each for listed in by_cluster for each in listed], "status", "lastTransitionTime"
    )


VOLCANO = {
    ("batch.volcano.sh/v1alpha1", "Job"): Interpretation(
        components=_components,
        aggregate=_summed,
        reflect=picking(
            *(*_SUMS, "version", "runningDuration", "taskStatusCount", "controlledResources"),
            *("state", "conditions"),
        ),
        health=_healthy,
    )
}
