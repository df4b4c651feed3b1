"""PodDisruptionBudget, the one kind of policy/v1 that is stored: how many pods may be missing."""

from atoll.apiserver.fields.error import FieldError, invalid, not_supported
from atoll.apiserver.kinds.labels import selector_errors
from atoll.apiserver.kinds.reading import Object, part
from atoll.apiserver.kinds.rules import above_all, not_negative, share_errors
from atoll.apiserver.resource import Strategy

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _budget_errors(budget: Object) -> list[FieldError]:
    spec = part(budget, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    errors = []
    if least is not None and most is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid("spec", _go(spec), why))
    for key, share in (("minAvailable", least), ("maxUnavailable", most)):
        errors += share_errors(share, f"spec.{key}") + above_all(share, f"spec.{key}")
    errors += selector_errors(part(spec, "selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        where = "spec.unhealthyPodEvictionPolicy"
        errors.append(not_supported(where, policy, _EVICTION_POLICIES))
    return errors


def _go(spec: Object) -> Object:
    """A budget as Kubernetes shows it in messages: by the names inside the program."""
    return {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": spec.get("selector"),
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }


def _status_errors(budget: Object) -> list[FieldError]:
    return not_negative(part(budget, "status"), "status", *_COUNTS)


POD_DISRUPTION_BUDGET = Strategy(
    tracks_generation=True,
    has_status=True,
    unconditional_update=False,
    errors=_budget_errors,
    status_errors=_status_errors,
)
