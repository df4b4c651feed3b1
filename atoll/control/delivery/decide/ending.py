"""Whether something waits for a Work to end: then that presses.

A Work that goes comes in, and the binding it is of. Most old copies are in nobody's way once their
replacements run. Where two copies at a time would do harm, or where the Work is to be made anew,
the next step begins with its end.
"""

from atoll.dialects.karmada.ordinals import is_split
from atoll.dialects.karmada.references import targets_of
from atoll.dialects.karmada.works import cluster_of
from atoll.model.action import Object

_AT_ONCE = ("Directly", "Immediately")


def is_awaited(work: Object, binding: Object) -> bool:
    """Whether a binding gets on only once this Work of it has ended."""
    cluster = cluster_of(work)
    if is_split(binding) or any(each.name == cluster for each in targets_of(binding)):
        return True
    tasks = (binding.get("spec") or {}).get("gracefulEvictionTasks") or ()
    leaving = [each["fromCluster"] for each in tasks if each.get("purgeMode") in _AT_ONCE]
    return cluster in leaving
