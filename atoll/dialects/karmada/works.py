"""What a Work says: whose it is, whether it has arrived."""

from atoll.dialects.karmada.references import Marks
from atoll.dialects.kubernetes import conditions
from atoll.model.health import are_well
from atoll.model.work import Work

APPLIED = "Applied"


def is_of(work: Work, marks: Marks) -> bool:
    """Is this Work made for the binding with these marks, or for one that had its name before?"""
    annotations, labels = work.meta.annotations, work.meta.labels
    if all(annotations.get(key) == value for key, value in marks.annotations.items()):
        return True
    return any(value and labels.get(key) == value for key, value in marks.labels.items())


def is_applied(work: Work) -> bool:
    """Whether its cluster has what a Work asks for."""
    applied = conditions.find(work.status.conditions, APPLIED) or {}
    return applied.get("status") == "True"


def has_arrived(work: Work, *, knows_health: bool) -> bool:
    """Is it applied as it is now, and, where health is known, well?

    An object whose health is yet to be told is waited for: it has just been made.
    """
    applied, generation = conditions.find(work.status.conditions, APPLIED), work.meta.generation
    if applied is None or applied.get("status") != "True":
        return False
    if applied.get("observedGeneration", generation) != generation:
        return False
    return not knows_health or are_well(work.status.manifests)
