"""What becomes of a pod on its node: it starts, runs, fails or ends, each after its time.

A pod as it is stored and its mould come in; what will happen to it next, and after how long, goes
out. No container runs: this is what a kubelet would tell of one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from atoll.apiserver.objects.conditions import condition, since
from atoll.apiserver.objects.times import parse_rfc3339, rfc3339
from atoll.simulated.plans.moulds import CRASH, NEVER_READY, Mould
from atoll.wire import Wire

FIRST_BACK_OFF_S, LONGEST_BACK_OFF_S = 10.0, 300.0
_READY = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds: a pod to be ready, a job's pod to do its work, and a pod
    that is deleted to end (never longer than its own grace period).
    """

    start_s: float = 0.0
    job_s: float = 0.0
    end_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Next:
    """What comes next: after so long, this status; None for the end of a pod that is deleted."""

    after_s: float
    status: Wire | None


@dataclass(frozen=True, slots=True)
class Here:
    """Where a pod is: its node's address and its own, and the time it is there."""

    now: datetime
    host_ip: str = ""
    ip: str = ""


def upcoming(pod: Mapping[str, Any], mould: Mould, pace: Pace, here: Here) -> Next | None:
    """What will happen to a pod next by itself; None if nothing will."""
    coming = _coming(pod, mould, pace, here)
    left_s = _left_s(pod, here)
    if left_s is not None and (coming is None or left_s < coming.after_s):
        return Next(left_s, _overdue(pod, here))
    return coming


def _left_s(pod: Mapping[str, Any], here: Here) -> float | None:
    """How long a pod on a node may still be active; None for ever."""
    limit_s, status = pod["spec"].get("activeDeadlineSeconds"), pod.get("status") or {}
    if limit_s is None or pod["metadata"].get("deletionTimestamp") or status["phase"] in _ENDED:
        return None
    began = parse_rfc3339(status.get("startTime") or "")
    return None if began is None else max(0.0, limit_s - (here.now - began).total_seconds())


def _coming(pod: Mapping[str, Any], mould: Mould, pace: Pace, here: Here) -> Next | None:
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    if meta.get("deletionTimestamp"):
        grace_s = meta.get("deletionGracePeriodSeconds") or 0
        return Next(min(pace.end_s, float(grace_s)), None)
    phase = status.get("phase")
    if not spec.get("nodeName") or phase in _ENDED:
        return None
    if phase == "Running":
        return _of_running(pod, mould, pace, here)
    match mould.trouble:
        case "image":
            return None if _waits_for(status) else Next(pace.start_s, _unpulled(pod, here))
        case "crash" if spec.get("restartPolicy") == "Never":
            return Next(pace.start_s, _ended(pod, here, code=1))
        case "crash":
            return Next(pace.start_s, _crashed(pod, here, restarts=0))
        case "never-ready":
            return Next(pace.start_s, _running(pod, here, ready=False))
    return Next(pace.start_s, _running(pod, here, ready=True))


def _of_running(pod: Mapping[str, Any], mould: Mould, pace: Pace, here: Here) -> Next | None:
    if mould.trouble == CRASH:
        restarts = _restarts(pod)
        pause_s = min(FIRST_BACK_OFF_S * 2**restarts, LONGEST_BACK_OFF_S)
        return Next(pause_s, _crashed(pod, here, restarts=restarts + 1))
    if _was_lost(pod):
        return Next(0.0, _running(pod, here, ready=True))
    if (pod.get("status") or {}).get("observedGeneration", 0) != _generation(pod):
        return Next(0.0, _observed(pod))
    runs_s = mould.runs_s
    if runs_s is None and any(
        one.get("kind") == "Job" for one in pod["metadata"].get("ownerReferences") or ()
    ):
        runs_s = pace.job_s if mould.sleeps_s is None else mould.sleeps_s
    if runs_s is None or runs_s == inf or mould.trouble == NEVER_READY:
        return None
    return Next(runs_s, _ended(pod, here, code=0))


def _generation(pod: Mapping[str, Any]) -> int:
    return int(pod["metadata"].get("generation") or 1)  # one that is about to be made


def _observed(pod: Mapping[str, Any]) -> Wire:
    """The status of a pod that runs on as it did, although it was changed."""
    status, generation = pod["status"], _generation(pod)
    told = [{**one, "observedGeneration": generation} for one in status.get("conditions") or ()]
    return {**status, "conditions": told, "observedGeneration": generation}


def _overdue(pod: Mapping[str, Any], here: Here) -> Wire:
    """The status of a pod that has taken too long."""
    return _ended(pod, here, code=137) | {
        "reason": "DeadlineExceeded",
        "message": "Pod was active on the node longer than the specified deadline",
    }


def bound(pod: Mapping[str, Any], node: str, here: Here) -> Wire:
    """A pod that was given a node."""
    now, status = rfc3339(here.now), pod.get("status") or {}
    fresh = {
        **status,
        "conditions": _conditions(pod, {"PodScheduled", "Initialized"}, now),
        "containerStatuses": [
            _container(one, waiting={"reason": "ContainerCreating"}) for one in _containers(pod)
        ],
        "hostIP": here.host_ip,
        "hostIPs": [{"ip": here.host_ip}],
        "startTime": now,
    }
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": fresh}


def unscheduled(pod: Mapping[str, Any], why: str, now: str) -> Wire:
    """The status of a pod that no node takes."""
    status = pod.get("status") or {}
    told = condition("PodScheduled", "Unschedulable", why, holds=False)
    return {**status, "conditions": [since(told, status.get("conditions") or [], now)]}


def lost(pod: Mapping[str, Any], now: str) -> Wire:
    """The status of a pod on a node of which nothing is heard."""
    status = pod.get("status") or {}
    known = status.get("conditions") or []
    told = [
        since({**one, "status": "False"}, known, now) if one["type"] == "Ready" else one
        for one in known
    ]
    return {**status, "conditions": told}


def _running(pod: Mapping[str, Any], here: Here, *, ready: bool) -> Wire:
    state = {"startedAt": rfc3339(here.now)}
    containers = [_container(one, ready=ready, running=state) for one in _containers(pod)]
    return _status(pod, here, containers, ready=ready) | {"phase": "Running"}


def _crashed(pod: Mapping[str, Any], here: Here, *, restarts: int) -> Wire:
    """The container has ended with an error once more and waits to be started again."""
    now = rfc3339(here.now)
    ended = {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}
    pause_s = int(min(FIRST_BACK_OFF_S * 2**restarts, LONGEST_BACK_OFF_S))
    name = f"{pod['metadata']['name']}_{pod['metadata']['namespace']}"
    why = f"back-off {pause_s}s restarting failed container=%s pod={name}"
    containers = [
        _container(one, waiting={"reason": "CrashLoopBackOff", "message": why % one["name"]})
        | {"restartCount": restarts, "lastState": {"terminated": ended}}
        for one in _containers(pod)
    ]
    return _status(pod, here, containers) | {"phase": "Running"}


def _unpulled(pod: Mapping[str, Any], here: Here) -> Wire:
    why = 'Back-off pulling image "%s"'
    containers = [
        _container(
            one, waiting={"reason": "ImagePullBackOff", "message": why % one.get("image", "")}
        )
        for one in _containers(pod)
    ]
    return _status(pod, here, containers)


def _ended(pod: Mapping[str, Any], here: Here, *, code: int) -> Wire:
    now = rfc3339(here.now)
    status = pod.get("status") or {}
    reason = "Error" if code else "Completed"
    running = [(one.get("state") or {}).get("running") for one in status["containerStatuses"]]
    began = next((one["startedAt"] for one in running if one), now)
    done = {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": now}
    containers = [_container(one, started=False, terminated=done) for one in _containers(pod)]
    told, why = _status(pod, here, containers), "PodFailed" if code else "PodCompleted"
    conditions = [
        one if one["status"] == "True" else one | {"reason": why} for one in told["conditions"]
    ]
    return told | {"phase": "Failed" if code else "Succeeded", "conditions": conditions}


def _status(
    pod: Mapping[str, Any], here: Here, containers: list[Wire], *, ready: bool = False
) -> Wire:
    holds = set(_READY) if ready else set(_READY) - {"Ready", "ContainersReady"}
    conditions = _conditions(pod, holds, rfc3339(here.now))
    return _with_address(pod, here) | {"conditions": conditions, "containerStatuses": containers}


def _with_address(pod: Mapping[str, Any], here: Here) -> Wire:
    status = {**(pod.get("status") or {}), "observedGeneration": _generation(pod)}
    if not status.get("podIP"):
        status |= {"podIP": here.ip, "podIPs": [{"ip": here.ip}]}
    if done := pod["spec"].get("initContainers"):
        ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
        status["initContainerStatuses"] = [
            _container(one, ready=True, started=False) | {"state": ended} for one in done
        ]
    return status


def _conditions(pod: Mapping[str, Any], holding: set[str], now: str) -> list[Wire]:
    known = (pod.get("status") or {}).get("conditions") or []
    return [since(_condition(kind, kind in holding, pod), known, now) for kind in _READY]


def _condition(kind: str, holds: bool, pod: Mapping[str, Any]) -> Wire:  # noqa: FBT001 - a fact
    told: Wire = {"type": kind, "status": "True" if holds else "False"}
    told["observedGeneration"] = _generation(pod)
    if not holds and kind in ("Ready", "ContainersReady"):
        names = " ".join(one["name"] for one in _containers(pod))
        told |= {
            "reason": "ContainersNotReady",
            "message": f"containers with unready status: [{names}]",
        }
    return told


def _containers(pod: Mapping[str, Any]) -> list[Wire]:
    return pod["spec"].get("containers") or []


def _container(
    one: Mapping[str, Any], *, ready: bool = False, started: bool | None = None, **state: Wire
) -> Wire:
    return {
        "name": one["name"],
        "image": one.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": "running" in state if started is None else started,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _was_lost(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is not ready for no fault of its own: its node was not heard of."""
    status = pod.get("status") or {}
    serves = all(one.get("ready") for one in status.get("containerStatuses") or ())
    return serves and any(
        (one["type"], one["status"]) == ("Ready", "False") for one in status.get("conditions") or ()
    )


def _restarts(pod: Mapping[str, Any]) -> int:
    found = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return int(found[0].get("restartCount", 0))


def _waits_for(status: Mapping[str, Any]) -> bool:
    """Whether it is known already that there is no such image."""
    found = status.get("containerStatuses") or ()
    return any(
        ((one.get("state") or {}).get("waiting") or {}).get("reason") == "ImagePullBackOff"
        for one in found
    )
