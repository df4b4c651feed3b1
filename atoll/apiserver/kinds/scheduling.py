"""PriorityClass, the one kind of scheduling.k8s.io/v1: which pods go first."""

from atoll.apiserver.fields.error import FieldError, forbidden, not_supported
from atoll.apiserver.kinds.reading import Object, fill, number, text
from atoll.apiserver.kinds.rules import unchanged
from atoll.apiserver.resource import Strategy

HIGHEST = 1_000_000_000  # of those that users make
_POLICIES = ("PreemptLowerPriority", "Never")
# Every cluster has these two.
SYSTEM = {"system-cluster-critical": 2 * HIGHEST, "system-node-critical": 2 * HIGHEST + 1000}


def _default_priority(priority: Object) -> None:
    fill(priority, preemptionPolicy="PreemptLowerPriority")


def _priority_errors(priority: Object) -> list[FieldError]:
    name, value = text(priority, "metadata", "name"), number(priority, "value")
    errors = []
    if name.startswith("system-"):
        if SYSTEM.get(name) != value:
            why = (
                "priority class names with 'system-' prefix are reserved for system use only."
                f" error: {name} is not a known system priority class"
            )
            errors.append(forbidden("metadata.name", why))
    elif value > HIGHEST:
        why = f"maximum allowed value of a user defined priority is {HIGHEST}"
        errors.append(forbidden("value", why))
    policy = priority.get("preemptionPolicy")
    if policy not in _POLICIES:
        errors.append(not_supported("preemptionPolicy", policy, _POLICIES))
    return errors


def _priority_update_errors(new: Object, old: Object) -> list[FieldError]:
    errors = []
    if number(new, "value") != number(old, "value"):
        errors.append(forbidden("value", "may not be changed in an update."))
    return errors + unchanged(new, old, "preemptionPolicy")


PRIORITY_CLASS = Strategy(
    tracks_generation=True,
    default=_default_priority,
    errors=_priority_errors,
    update_errors=_priority_update_errors,
)
