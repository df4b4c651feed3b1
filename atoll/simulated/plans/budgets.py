"""PodDisruptionBudgets: how many of their pods are well, and how many may be missing now.

A budget, the pods it is about and how many their controllers want come in; the status that is gone
by when pods are evicted goes out, and when to look again: whom somebody was allowed to evict is
taken for gone, for two minutes.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from atoll.apiserver.objects.conditions import condition, with_condition
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.simulated.plans.census import Pod
from atoll.simulated.plans.setting import share
from atoll.simulated.plans.steps import Plan, status_change
from atoll.wire import Wire

Scale = Callable[[Pod], tuple[str, int] | None]
"""A pod -> the uid of what controls it, and how many pods that wants; None of who has nobody."""

COLLECTION = "poddisruptionbudgets.policy"
GONE_WITHIN = timedelta(minutes=2)


def plan(budget: Wire, pods: Sequence[Pod], scale: Scale, now: str) -> Plan:
    """What to tell of a budget."""
    disrupted, again_s = _still_disrupted(budget, pods, now)
    healthy = sum(pod.is_ready and not pod.ending and pod.name not in disrupted for pod in pods)
    expected, wanted = _expected(budget["spec"], pods, scale)
    allowed = max(0, healthy - wanted) if expected > 0 else 0
    status: Wire = {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "expectedPods": expected,
    }
    if disrupted:
        status["disruptedPods"] = disrupted
    reason = "SufficientPods" if allowed else "InsufficientPods"
    told = condition("DisruptionAllowed", reason, "", holds=allowed > 0)
    told["observedGeneration"] = status["observedGeneration"]
    known = with_condition(budget.get("status") or {}, told, now)
    status["conditions"] = known["conditions"]
    return Plan(status_change(COLLECTION, budget, status), again_s)


def _still_disrupted(budget: Wire, pods: Sequence[Pod], now: str) -> tuple[Wire, float | None]:
    """Who is about to go, and in how many seconds the first of them would have to be gone."""
    moment, found, left = parse_rfc3339(now), {}, []
    known = (budget.get("status") or {}).get("disruptedPods") or {}
    for pod in pods:
        then = parse_rfc3339(known.get(pod.name) or "")
        if pod.ending or then is None or moment is None or then + GONE_WITHIN < moment:
            continue
        found[pod.name] = known[pod.name]
        left.append((then + GONE_WITHIN - moment).total_seconds() + 1.0)
    return found, min(left, default=None)


def _expected(spec: Wire, pods: Sequence[Pod], scale: Scale) -> tuple[int, int]:
    """How many pods there should be, and how many of them must be well."""
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if most is None and not isinstance(least, str):
        return len(pods), least or 0
    expected = sum(dict(one for pod in pods if (one := scale(pod)) is not None).values())
    if most is None:
        return expected, share(least, expected, up=True)
    return expected, max(0, expected - share(most, expected, up=True))
