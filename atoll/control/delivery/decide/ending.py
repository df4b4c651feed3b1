"""Whether something waits for a Work to end: then that presses.

A Work that goes comes in, and the binding it is of. Most old copies are in nobody's way once their
replacements run. Where two copies at a time would do harm, or where the Work is to be made anew,
the next step begins with its end.
"""

from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work


def is_awaited(work: Work, binding: ResourceBinding) -> bool:
    """Whether a binding gets on only once this Work of it has ended."""
    if binding.spec.is_split or any(each.name == work.cluster for each in binding.targets):
        return True
    return any(each.is_at_once and each.cluster == work.cluster for each in binding.spec.evictions)
