"""What a Work says: which cluster it is for, whose it is, whether it has arrived."""

from atoll.dialects.karmada import names
from atoll.dialects.karmada.references import Marks
from atoll.dialects.kubernetes import conditions
from atoll.model.action import Object, Ref
from atoll.model.health import are_well

APPLIED = "Applied"


def cluster_of(work: Object) -> str:
    """The cluster a Work is for."""
    return names.cluster_of(Ref.of(work).namespace) or ""


def is_going(wire: Object) -> bool:
    """Is it on its way out?"""
    return bool((wire.get("metadata") or {}).get("deletionTimestamp"))


def is_of(work: Object, marks: Marks) -> bool:
    """Is this Work made for the binding with these marks, or for one that had its name before?"""
    metadata = work.get("metadata") or {}
    carried = metadata.get("annotations") or {}
    if all(carried.get(key) == value for key, value in marks.annotations.items()):
        return True
    labels = metadata.get("labels") or {}
    return any(value and labels.get(key) == value for key, value in marks.labels.items())


def has_arrived(work: Object, *, knows_health: bool) -> bool:
    """Is it applied as it is now, and, where health is known, well?

    An object whose health is yet to be told is waited for: it has just been made.
    """
    status, metadata = work.get("status") or {}, work.get("metadata") or {}
    applied = conditions.find(status.get("conditions") or (), APPLIED)
    if applied is None or applied.get("status") != "True":
        return False
    if applied.get("observedGeneration", metadata.get("generation")) != metadata.get("generation"):
        return False
    if not knows_health:
        return True
    return are_well(status.get("manifestStatuses") or ())
