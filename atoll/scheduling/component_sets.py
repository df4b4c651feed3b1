"""How many whole sets of components a cluster can hold, by its own report, as Karmada counts them.

One cluster at a time: workloads of several pod templates are few. Karmada compares amounts written
in decimal as thousandths and binary ones (`2Gi`) as units; so a request for `100M` of a summary in
`Gi` looks a thousand times too large. The answers are kept the same.
"""

from atoll.model.assumed import Assumed, as_written, summed
from atoll.model.cluster import Cluster
from atoll.model.demand import Component
from atoll.scheduling.packing import packed
from atoll.scheduling.whole_numbers import as_int32


def sets_that_fit(
    cluster: Cluster,
    components: tuple[Component, ...],
    assumed: tuple[Assumed, ...] = (),
    *,
    models: bool,
) -> int:
    """Sets that fit by pods, by every resource, and on the nodes of the model, if there is one."""
    if cluster.free is None or cluster.free.pods <= 0:
        return 0
    taken = [each.sums for each in assumed]
    pods = cluster.free.pods - sum(each.pods for each in taken)
    if pods <= 0:
        return 0
    wanted_in_all = summed(components)
    if wanted_in_all.pods <= 0:
        return as_int32(pods)
    most = as_int32(pods // wanted_in_all.pods)
    for name, wanted in wanted_in_all.written.items():
        if wanted > 0:
            amount = cluster.free.resources.get(name)
            has = as_written(amount) if amount else 0
            left = has - sum(each.written.get(name, 0) for each in taken)
            most = min(most, as_int32(left // wanted)) if left > 0 else 0
    if most > 0 and models and cluster.nodes_by_grade:
        most = min(most, packed(cluster, assumed).copy().sets(components, most))
    return most
