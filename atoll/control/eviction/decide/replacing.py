"""How far those are that take the place of what leaves: sent, applied, and well.

A binding comes in with all that its Works depend on. An old report of health counts for nothing: a
target must have been sent what it should have by now, and speak of that. Nor does one of a cluster
that cannot be reached: should all be lost to us at once, they stand in for nobody.
"""

from atoll.control.eviction.decide.tasks import Replacement
from atoll.control.status.decide import items_of
from atoll.control.works.decide.plan import SeenBinding, as_wanted
from atoll.dialects.karmada.works import has_arrived

HEALTHY = "Healthy"


def replacement(seen: SeenBinding) -> Replacement:
    """How far all targets of the last decision are; without any, there is no replacement."""
    targets = [each.name for each in seen.binding.spec.clusters]
    works = as_wanted(seen)
    if not targets or not all(each in works for each in targets):
        return Replacement.NONE
    if not all(has_arrived(works[each], knows_health=False) for each in targets):
        return Replacement.NONE
    known = [seen.clusters.get(each) for each in targets]
    ready = [cluster is not None and cluster.ready is True for cluster in known]
    if not any(ready):
        return Replacement.NONE
    items = items_of(seen.binding, [works[each] for each in targets])
    well = all(ready) and all(each["health"] == HEALTHY for each in items)
    return Replacement.HEALTHY if well else Replacement.SENT
