"""The status that its controller would give a workload: counts, conditions, observed generation.

A workload as it is stored, its pods and the time come in; its new status goes out, or None where
there is nothing to write. Which pods there are, and why, is not known here.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from atoll.apiserver.objects.conditions import condition, is_true, since
from atoll.dialects.json import written
from atoll.simulated.pods import Pods
from atoll.simulated.things import claim_status, pod_status, service_status

Object = dict[str, Any]
Plan = Callable[[Mapping[str, Any], Pods, str], Object]

_REVISION_DIGITS = 10


def status(workload: Mapping[str, Any], pods: Pods, now: str) -> Object | None:
    """The status this workload should have; None if it is of no kind we keep, or has it already.

    `now` is a time as Kubernetes writes it, for what changes with this status.
    """
    plan = PLANS.get(workload["kind"])
    if plan is None:
        return None
    fresh = plan(workload, pods, now)
    return None if fresh == (workload.get("status") or {}) else fresh


def revision(workload: Mapping[str, Any]) -> str:
    """A name for the workload's pod template: the same for the same template."""
    template = (workload.get("spec") or {}).get("template")
    return hashlib.sha256(written(template).encode()).hexdigest()[:_REVISION_DIGITS]


def is_finished(job: Mapping[str, Any]) -> bool:
    """Whether a job has come to its end, one way or the other."""
    return is_true(dict(job), "Complete") or is_true(dict(job), "Failed")


def completions(job: Mapping[str, Any]) -> int:
    """How many pods of a job must succeed; one round of them where it does not say."""
    spec = job.get("spec") or {}
    asked = spec.get("completions")
    return int(spec.get("parallelism", 1) if asked is None else asked)


def _deployment(workload: Mapping[str, Any], pods: Pods, now: str) -> Object:
    name = workload["metadata"]["name"]
    if pods.ready >= pods.wanted - _tolerated(workload, pods.wanted):
        said = ("MinimumReplicasAvailable", "Deployment has minimum availability.")
        available = condition("Available", *said, holds=True)
    else:
        said = ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        available = condition("Available", *said, holds=False)
    if pods.ready == pods.updated == pods.wanted:
        said = ("NewReplicaSetAvailable", f'Deployment "{name}" has successfully progressed.')
    else:
        said = ("ReplicaSetUpdated", f'Deployment "{name}" is progressing.')
    progressing = condition("Progressing", *said, holds=True)
    known = _known(workload)
    return _observed(
        workload,
        replicas=pods.wanted,
        updatedReplicas=pods.updated,
        readyReplicas=pods.ready,
        availableReplicas=pods.ready,
        unavailableReplicas=pods.wanted - pods.ready,
    ) | {"conditions": [_updated(one, known, now) for one in (available, progressing)]}


def _tolerated(workload: Mapping[str, Any], wanted: int) -> int:
    """How many pods may be missing while the deployment still counts as available."""
    strategy = (workload.get("spec") or {}).get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return 0
    rolling = strategy.get("rollingUpdate") or {}
    missing = _share(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    surge = _share(rolling.get("maxSurge", "25%"), wanted, up=True)
    return min(wanted, missing if missing or surge else 1)


def _share(asked: int | str, wanted: int, *, up: bool) -> int:
    """So many pods, or so many percent of them."""
    if isinstance(asked, int):
        return asked
    hundredths = int(asked.removesuffix("%")) * wanted
    return -(-hundredths // 100) if up else hundredths // 100


def _stateful_set(workload: Mapping[str, Any], pods: Pods, now: str) -> Object:
    spec, name = workload.get("spec") or {}, workload["metadata"]["name"]
    newest = f"{name}-{revision(workload)}"
    in_order = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
    # One after the other: the next is made once all before it are ready.
    made = min(pods.wanted, pods.ready + 1) if in_order else pods.wanted
    updated = min(made, pods.updated)
    settled = pods.ready == pods.updated == pods.wanted
    before = (workload.get("status") or {}).get("currentRevision", newest)
    current = newest if settled else before
    found = _observed(
        workload,
        readyReplicas=pods.ready,
        currentReplicas=updated if current == newest else made - updated,
        updatedReplicas=updated,
    )
    return found | {
        "replicas": made,
        "availableReplicas": pods.ready,
        "currentRevision": current,
        "updateRevision": newest,
        "collisionCount": 0,
    }


def _daemon_set(workload: Mapping[str, Any], pods: Pods, now: str) -> Object:
    found = _observed(
        workload,
        updatedNumberScheduled=pods.updated,
        numberAvailable=pods.ready,
        numberUnavailable=pods.wanted - pods.ready,
    )
    return found | {
        "currentNumberScheduled": pods.wanted,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": pods.wanted,
        "numberReady": pods.ready,
    }


def _replica_set(workload: Mapping[str, Any], pods: Pods, now: str) -> Object:
    found = _observed(
        workload,
        fullyLabeledReplicas=pods.wanted,
        readyReplicas=pods.ready,
        availableReplicas=pods.ready,
    )
    return found | {"replicas": pods.wanted}


def _job(job: Mapping[str, Any], pods: Pods, now: str) -> Object:
    old, known = job.get("status") or {}, _known(job)
    if is_finished(job):
        return dict(old)
    if (job.get("spec") or {}).get("suspend"):
        paused = condition("Suspended", "JobSuspended", "Job suspended", holds=True)
        return _told({"succeeded": pods.ended}, [_probed(paused, known, now)])
    resumed = [
        _probed(condition("Suspended", "JobResumed", "Job resumed", holds=False), known, now)
        for one in known
        if one["type"] == "Suspended"
    ]
    begun = {"startTime": old.get("startTime", now), "succeeded": pods.ended}
    if pods.ended < completions(job):
        return _told(begun | {"active": pods.wanted, "ready": pods.ready}, resumed)
    said = ("CompletionsReached", "Reached expected number of succeeded pods")
    ends = [condition(kind, *said, holds=True) for kind in ("SuccessCriteriaMet", "Complete")]
    finish = {"completionTime": now}
    return _told(begun | finish, [*resumed, *(_probed(one, known, now) for one in ends)])


def _told(counts: Object, conditions: list[Object]) -> Object:
    """The status of a job: no zeros but those that Kubernetes always tells."""
    kept = {key: value for key, value in counts.items() if value}
    always = {"ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
    return always | kept | ({"conditions": conditions} if conditions else {})


def _observed(workload: Mapping[str, Any], **counts: int) -> Object:
    """The generation this is the answer to, and the counts that are not zero."""
    generation = workload["metadata"].get("generation")
    found = {"observedGeneration": generation} | counts
    return {key: value for key, value in found.items() if value}


def _known(workload: Mapping[str, Any]) -> list[Object]:
    return (workload.get("status") or {}).get("conditions") or []


def _updated(fresh: Object, known: list[Object], now: str) -> Object:
    """A deployment's condition, with the times of its last change and of its last update."""
    stamped = since(fresh, known, now)
    before = next((one for one in known if one.get("type") == fresh["type"]), {})
    as_before = stamped | {"lastUpdateTime": before.get("lastUpdateTime")}
    return before if as_before == before else stamped | {"lastUpdateTime": now}


def _probed(fresh: Object, known: list[Object], now: str) -> Object:
    stamped = since(fresh, known, now)
    return stamped | {"lastProbeTime": stamped["lastTransitionTime"]}


PLANS: dict[str, Plan] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "ReplicaSet": _replica_set,
    "Job": _job,
    "Pod": pod_status,
    "PersistentVolumeClaim": claim_status,
    "Service": service_status,
}
