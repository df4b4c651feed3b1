"""How many whole sets of components a cluster can hold, by its own report, as Karmada counts them.

One cluster at a time: workloads of several pod templates are few. Karmada compares amounts written
in decimal as thousandths and binary ones (`2Gi`) as units; so a request for `100M` of a summary in
`Gi` looks a thousand times too large. The answers are kept the same.
"""

from atoll.model.amount import Amount
from atoll.model.assumed import Assumed
from atoll.model.cluster import Cluster
from atoll.model.demand import Component
from atoll.scheduling.packing import Nodes
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
    taken_pods, taken = _demands([each for one in assumed for each in one.components])
    pods = cluster.free.pods - taken_pods
    if pods <= 0:
        return 0
    pods_per_set, per_set = _demands(list(components))
    if pods_per_set <= 0:
        return as_int32(pods)
    most = as_int32(pods // pods_per_set)
    for name, wanted in per_set.items():
        if wanted > 0:
            amount = cluster.free.resources.get(name)
            left = (_written(amount) if amount else 0) - taken.get(name, 0)
            most = min(most, as_int32(left // wanted)) if left > 0 else 0
    if most > 0 and models and cluster.nodes_by_grade:
        nodes = Nodes(cluster)
        for one in assumed:
            nodes.place_set(one.components)
        most = min(most, nodes.sets(components, most))
    return most


def _demands(components: list[Component]) -> tuple[int, dict[str, int]]:
    """Pods and resources of these components together."""
    pods, resources = 0, dict[str, int]()
    for component in components:
        pods += component.replicas
        for name, amount in component.demand.requests if component.demand else ():
            resources[name] = resources.get(name, 0) + _written(amount) * component.replicas
    return pods, resources


def _written(amount: Amount) -> int:
    return amount.units if amount.binary else amount.milli
