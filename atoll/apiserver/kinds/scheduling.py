"""What decides where and whether pods run: PriorityClass, RuntimeClass and PodDisruptionBudget.

Which pods go first, what runs their containers, and how many of them may be missing."""

from atoll.apiserver.fields.error import Errors, duplicate, forbidden, invalid, named
from atoll.apiserver.kinds.affinity import toleration_errors
from atoll.apiserver.kinds.amounts import amounts_errors
from atoll.apiserver.kinds.labels import label_errors, selector_errors
from atoll.apiserver.kinds.reading import each, fill, number, part, parts, text
from atoll.apiserver.kinds.rules import (
    above_all,
    chosen,
    fixed,
    in_go,
    not_negative,
    one_of,
    share_errors,
    unchanged,
)
from atoll.apiserver.resource import Strategy
from atoll.dialects.kubernetes.names import label_faults
from atoll.wire import Wire

HIGHEST = 1_000_000_000  # of those that users make
_POLICIES = ("PreemptLowerPriority", "Never")
# Every cluster has these two.
SYSTEM = {"system-cluster-critical": 2 * HIGHEST, "system-node-critical": 2 * HIGHEST + 1000}


def _priority_errors(priority: Wire) -> Errors:
    name, value = text(priority, "metadata", "name"), number(priority, "value")
    if name.startswith("system-"):
        if SYSTEM.get(name) != value:
            why = (
                "priority class names with 'system-' prefix are reserved for system use only."
                f" error: {name} is not a known system priority class"
            )
            yield forbidden("metadata.name", why)
    elif value > HIGHEST:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST}")
    yield from chosen(priority, "", "preemptionPolicy", _POLICIES)


def _priority_update_errors(new: Wire, old: Wire) -> Errors:
    if number(new, "value") != number(old, "value"):
        yield forbidden("value", "may not be changed in an update.")
    yield from unchanged(new, old, "preemptionPolicy")


PRIORITY_CLASS = Strategy(
    tracks_generation=True,
    default=lambda priority: fill(priority, preemptionPolicy="PreemptLowerPriority"),
    errors=_priority_errors,
    update_errors=_priority_update_errors,
)


_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _budget_errors(budget: Wire) -> Errors:
    spec = part(budget, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        yield invalid("spec", _go(spec), "minAvailable and maxUnavailable cannot be both set")
    for key, share in (("minAvailable", least), ("maxUnavailable", most)):
        yield from share_errors(share, f"spec.{key}")
        yield from above_all(share, f"spec.{key}")
    yield from selector_errors(part(spec, "selector"), "spec.selector")
    yield from one_of(spec, "spec", "unhealthyPodEvictionPolicy", _EVICTION_POLICIES)


def _go(spec: Wire) -> Wire:
    """A budget as Kubernetes shows it in messages: by the names inside the program."""
    names = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {in_go(name): spec.get(name) for name in names}


POD_DISRUPTION_BUDGET = Strategy(
    tracks_generation=True,
    has_status=True,
    unconditional_update=False,
    errors=_budget_errors,
    status_errors=lambda budget: not_negative(part(budget, "status"), "status", *_COUNTS),
)


def _class_errors(runtime: Wire) -> Errors:
    yield from named("handler", text(runtime, "handler"), label_faults)
    yield from amounts_errors(part(runtime, "overhead", "podFixed"), "overhead.limits")
    scheduling = part(runtime, "scheduling")
    yield from label_errors(part(scheduling, "nodeSelector"), "scheduling.nodeSelector")
    tolerations, where = parts(scheduling, "tolerations"), "scheduling.tolerations"
    yield from toleration_errors(tolerations, where)
    seen = []
    for toleration, place in each(tolerations, where):
        key = [toleration.get(name) for name in ("key", "operator", "value", "effect")]
        if key in seen:
            yield duplicate(place, toleration)
        seen.append(key)


RUNTIME_CLASS = Strategy(
    unconditional_update=False,
    creates_on_update=True,
    errors=_class_errors,
    update_errors=fixed(["handler"]),
)
