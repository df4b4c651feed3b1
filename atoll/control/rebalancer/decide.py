"""A WorkloadRebalancer asks once for workloads to be placed anew, and says what came of it.

Comes in: the rebalancer, and the bindings of the workloads it lists. Goes out: the wish on each
binding, then what was found, then, when its time is over, the end of the rebalancer. A workload
that was answered is not asked for again; one that is listed later is. Who places is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from atoll.dialects.wire import instant
from atoll.model.action import NOTHING, Action, Delete, Object, Plan, Ref, Update

SUCCESSFUL, FAILED = "Successful", "Failed"
NOT_FOUND = "ReferencedBindingNotFound"
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SeenRebalancer:
    """A rebalancer, and those of the bindings of its workloads that are there."""

    rebalancer: Object
    bindings: Mapping[Ref, Object] = field(default_factory=dict)


def plan(seen: SeenRebalancer, now: float) -> Plan:
    """Ask for what was not asked for yet, then tell what was found, then end in time."""
    rebalancer = seen.rebalancer
    if rebalancer["metadata"].get("deletionTimestamp"):
        return NOTHING
    before = rebalancer.get("status") or {}
    observed = _observed(rebalancer, before)
    asked: list[Action] = []
    answered = []
    for each in observed:
        binding = seen.bindings.get(workload_of(each["workload"]))
        if not each.get("result") and binding is not None:
            asked += _asked(binding, rebalancer["metadata"]["creationTimestamp"])
        answered.append(_answered(each, found=binding is not None))
    after = {
        **before,
        "observedWorkloads": answered,
        "observedGeneration": rebalancer["metadata"].get("generation", 0),
    }
    if after != before:
        after["finishTime"] = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = Update({**rebalancer, "status": after}, subresource="status")
        return Plan((*asked, told), again_in=_time_left(rebalancer, after, now))
    left = _time_left(rebalancer, after, now)
    if left is None or left > 0:
        return Plan(again_in=left)
    return Plan((Delete.of(rebalancer),))


def workloads(rebalancer: Object) -> list[Object]:
    """The workloads it lists, each once."""
    listed = (rebalancer.get("spec") or {}).get("workloads") or ()
    return list({workload_of(each): each for each in listed}.values())


def workload_of(listed: Object) -> Ref:
    """The workload that an element of its lists means."""
    return Ref(
        listed.get("apiVersion", ""),
        listed.get("kind", ""),
        listed.get("namespace", ""),
        listed.get("name", ""),
    )


def _observed(rebalancer: Object, status: Object) -> list[Object]:
    """What was answered and still counts, and what is new, in order.

    A workload that is not listed any more is remembered if it was placed anew on our account.
    """
    listed = {workload_of(each): each for each in workloads(rebalancer)}
    known = {workload_of(each["workload"]): each for each in status.get("observedWorkloads") or ()}
    kept = {
        ref: each
        for ref, each in known.items()
        if ref in listed or each.get("result") == SUCCESSFUL
    }
    new = {ref: {"workload": dict(each)} for ref, each in listed.items() if ref not in kept}
    return [each for _, each in sorted((kept | new).items(), key=lambda one: _order(one[0]))]


def _order(ref: Ref) -> str:
    return f"{ref.api_version} {ref.kind} {ref.namespace} {ref.name}"


def _answered(observed: Object, *, found: bool) -> dict[str, Any]:
    if observed.get("result"):
        return dict(observed)
    if found:
        return {**observed, "result": SUCCESSFUL}
    return {**observed, "result": FAILED, "reason": NOT_FOUND}


def _asked(binding: Object, at: str) -> list[Action]:
    """The wish on a binding, unless a later one is there already."""
    spec = binding.get("spec") or {}
    wish = instant({"at": at}, "at", "") or 0
    if wish <= (instant(spec, "rescheduleTriggeredAt", "spec") or -1):
        return []
    return [Update({**binding, "spec": {**spec, "rescheduleTriggeredAt": at}})]


def _time_left(rebalancer: Object, status: Object, now: float) -> float | None:
    """The seconds until it is to be deleted; None if it is to stay."""
    kept_s = (rebalancer.get("spec") or {}).get("ttlSecondsAfterFinished")
    finished = instant(status, "finishTime", "status")
    if kept_s is None or finished is None:
        return None
    return max(0.0, finished / _NANOSECONDS + float(kept_s) - now)
