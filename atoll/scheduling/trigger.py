"""Must a binding be decided anew? The first reason that holds counts, as in Karmada.

A divided workload is left alone when labels, taints or capacity of clusters change: only its own
policy, its replicas, a request to reschedule, or a target that is going away moves it. One whose
policy asks for the cheapest clusters, and for nothing to stay, goes where these are now; one whose
policy wants it to follow its clusters is always looked at.
"""

from enum import StrEnum

from atoll.model.affinity import Term
from atoll.model.binding import Binding
from atoll.model.intent import Duplicated, Intent, Reschedule
from atoll.scheduling.features import USUAL, Features
from atoll.scheduling.fleet import Fleet


class Trigger(StrEnum):
    """Why a binding is decided anew; `NONE` if it is not."""

    PLACEMENT_CHANGED = "placementChanged"
    REPLICAS_CHANGED = "replicasChanged"
    RESCHEDULE_TRIGGERED = "rescheduleTriggered"
    DUPLICATED = "duplicated"
    TERMINATING_TARGET = "terminatingTarget"
    FOLLOWS_PRICE = "followsPrice"
    CLUSTERS_CHANGED = "clustersChanged"
    FAILBACK = "failback"
    EVICTED = "evicted"
    NONE = "none"


def trigger(
    binding: Binding, applied: Intent | None, fleet: Fleet, features: Features = USUAL
) -> Trigger:
    """Compare a binding with the intent its last decision was made for; None: there was none."""
    if applied is None or placement_changed(applied, binding):
        return Trigger.PLACEMENT_CHANGED
    if _replicas_changed(binding, features):
        return Trigger.REPLICAS_CHANGED
    if binding.fresh:
        return Trigger.RESCHEDULE_TRIGGERED
    if not binding.is_workload or isinstance(binding.intent.division, Duplicated):
        return Trigger.DUPLICATED
    if any(_going_away(target.name, fleet) for target in binding.targets):
        return Trigger.TERMINATING_TARGET
    if binding.intent.follows_price:
        return Trigger.FOLLOWS_PRICE
    if binding.intent.reschedule is Reschedule.ON_CLUSTER_CHANGE:
        return Trigger.CLUSTERS_CHANGED
    return Trigger.NONE


def placement_changed(applied: Intent, binding: Binding) -> bool:
    """Whether the intent differs in what matters; of several named terms only the observed one."""
    wanted = binding.intent
    if applied == wanted:
        return False
    if _apart_from_terms(applied) != _apart_from_terms(wanted):
        return True
    if _unnamed(applied) != _unnamed(wanted):
        return True
    observed = binding.observed_term
    before, now = _term(applied, observed), _term(wanted, observed)
    return not observed or before is None or now is None or before != now


def _apart_from_terms(intent: Intent) -> tuple[object, ...]:
    return (
        intent.tolerations,
        intent.spread,
        intent.selection,
        intent.division,
        intent.unused_weights,
        intent.bounds,
        intent.preferences,
        intent.soft_taints,
        intent.scores,
        intent.ordinals,
    )


def _unnamed(intent: Intent) -> tuple[Term, ...]:
    return tuple(term for term in intent.terms if not term.name)


def _term(intent: Intent, name: str) -> Term | None:
    return next((term for term in intent.terms if term.name == name), None)


def _replicas_changed(binding: Binding, features: Features) -> bool:
    division = binding.intent.division
    if isinstance(division, Duplicated) and not division.stated:
        return False
    if features.MultiplePodTemplatesScheduling and binding.components and not binding.targets:
        return True
    counts = [target.replicas for target in binding.targets]
    if isinstance(division, Duplicated):
        return any(count != binding.replicas for count in counts)
    return sum(counts) != binding.replicas


def _going_away(name: str, fleet: Fleet) -> bool:
    """A cluster that is gone was seen going; Karmada does not look for it again."""
    row = fleet.rows.get(name)
    return row is not None and bool(fleet.traits.deleting[row])
