"""A WorkloadRebalancer asks once for workloads to be placed anew, and says what came of it.

Comes in: the rebalancer, and the bindings of the workloads it lists. Goes out: the wish on each
binding, then what was found, then, when its time is over, the end of the rebalancer. A workload
that was answered is not asked for again; one that is listed later is. Who places is not known here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from atoll.dialects.karmada.objects import rebalancers
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.wire import written_time
from atoll.model.action import NOTHING, Action, Delete, Plan, Ref, Update
from atoll.model.resource_binding import ResourceBinding
from atoll.model.workload_rebalancer import Observed, WorkloadRebalancer

SUCCESSFUL, FAILED = "Successful", "Failed"
NOT_FOUND = "ReferencedBindingNotFound"
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SeenRebalancer:
    """A rebalancer, and those of the bindings of its workloads that are there."""

    rebalancer: WorkloadRebalancer
    bindings: Mapping[Ref, ResourceBinding] = field(default_factory=dict)


def plan(seen: SeenRebalancer, now: float) -> Plan:
    """Ask for what was not asked for yet, then tell what was found, then end in time."""
    rebalancer = seen.rebalancer
    if rebalancer.meta.is_going or rebalancer.problem is not None:
        return NOTHING
    asked: list[Action] = []
    answers = []
    for each in _observed(rebalancer):
        binding = seen.bindings.get(each.workload)
        if not each.result and binding is not None:
            asked += _asked(binding, rebalancer.meta.created or now)
        answers.append(_answered(each, found=binding is not None))
    status = rebalancer.wire.get("status") or {}
    told = patched(
        status,
        {
            "observedWorkloads": rebalancers.observed(answers, status),
            "observedGeneration": rebalancer.meta.generation or 0,
        },
    )
    if told != status:
        fresh = patched(rebalancer.wire, {"status": {**told, "finishTime": written_time(now)}})
        left = _time_left(rebalancer.kept_s, int(now), now)
        return Plan((*asked, Update(fresh, subresource="status")), again_in=left)
    left = _time_left(rebalancer.kept_s, rebalancer.finished, now)
    if left is None or left > 0:
        return Plan(again_in=left)
    return Plan((Delete.of(rebalancer.wire),))


def _observed(rebalancer: WorkloadRebalancer) -> list[Observed]:
    """What was answered and still counts, and what is new, in order.

    A workload that is not listed any more is remembered if it was placed anew on our account.
    """
    listed = rebalancer.workloads
    kept = [
        each for each in rebalancer.observed if each.workload in listed or each.result == SUCCESSFUL
    ]
    known = {each.workload for each in kept}
    fresh = (Observed(each) for each in listed if each not in known)
    return sorted([*kept, *fresh], key=lambda each: order(each.workload))


def order(workload: Ref) -> str:
    """What workloads are sorted by: in this order they are asked for, and placed."""
    return " ".join(workload)


def _answered(observed: Observed, *, found: bool) -> Observed:
    if observed.result:
        return observed
    result, reason = (SUCCESSFUL, "") if found else (FAILED, NOT_FOUND)
    return Observed(observed.workload, result, reason)


def _asked(binding: ResourceBinding, at: float) -> list[Action]:
    """The wish on a binding, unless a later one is there already."""
    known = binding.spec.rescheduled
    if int(at) * _NANOSECONDS <= (-inf if known is None else known):
        return []
    wish = {"rescheduleTriggeredAt": written_time(at)}
    return [Update(patched(binding.wire, {"spec": wish}))]


def _time_left(kept_s: int | None, finished: float | None, now: float) -> float | None:
    """The seconds until it is to be deleted; None if it is to stay."""
    if kept_s is None or finished is None:
        return None
    return max(0.0, finished + kept_s - now)
