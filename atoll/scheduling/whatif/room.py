"""How much more a cluster would need to take so many replicas.

A cluster, a demand and a number of replicas come in; the extra room goes out, resource by resource,
or in nodes where the cluster counts by a resource model.
"""

from atoll.model.cluster import Cluster
from atoll.model.demand import Demand
from atoll.scheduling.capacity import fits_node
from atoll.scheduling.whatif.parts import Inputs, Room


def more_room(inputs: Inputs, name: str, replicas: int, *, models: bool) -> Room | None:
    """What lets a cluster take at least so many replicas more than run in it; None if nothing
    is known to, or nothing is needed."""
    binding, cluster = inputs.binding, inputs.cluster(name)
    if binding.components:
        return None
    free_pods = cluster.free.pods if cluster.free else 0
    pods = max(0, replicas - free_pods)
    resources: tuple[tuple[str, int], ...] = ()
    nodes: tuple[int, int] | None = None
    on_nodes = _on_nodes(inputs, name, replicas)
    if binding.demand is not None and models and cluster.nodes_by_grade and on_nodes is None:
        nodes = _nodes(cluster, binding.demand, replicas)
        if nodes is None:
            return None
    elif binding.demand is not None:
        resources = _resources(cluster, binding.demand, replicas)
    answers = inputs.surroundings.estimates.items()
    low = tuple((who, replicas) for who, known in answers if 0 <= known.get(name, -1) < replicas)
    nodes = nodes if nodes and nodes[1] else None
    if not (pods or resources or nodes or low or on_nodes):
        return None
    return Room(name, resources, pods, nodes, low, on_nodes or 0)


def _on_nodes(inputs: Inputs, name: str, replicas: int) -> int | None:
    """How many replicas must fit node by node that do not; None if its nodes are not known."""
    view, taken = inputs.surroundings.nodes, inputs.surroundings.assumed
    if view is None or name not in view.rooms:
        return None
    assumed = {name: tuple(each for each in taken if each.cluster == name)}
    (fit,) = view.answers([name], inputs.binding.demand, assumed)
    return replicas if fit < replicas else 0


def _resources(cluster: Cluster, demand: Demand, replicas: int) -> tuple[tuple[str, int], ...]:
    missing = []
    for name, amount in demand.requests:
        wanted = amount.in_its_unit(name)
        reported = cluster.free.resources.get(name) if cluster.free else None
        free = reported.in_its_unit(name) if reported else 0
        if wanted > 0 and wanted * replicas > free:
            missing.append((name, wanted * replicas - free))
    return tuple(missing)


def _nodes(cluster: Cluster, demand: Demand, replicas: int) -> tuple[int, int] | None:
    """The smallest grade that fits a replica, and how many more nodes of it; None if none does."""
    fits = [fits_node(dict(grade.least), demand) for grade in cluster.grades]
    counted = zip(fits, cluster.nodes_by_grade, strict=False)
    missing = replicas - sum(fit * count for fit, count in counted)
    for place, fit in enumerate(fits[: len(cluster.nodes_by_grade)]):
        if fit > 0:
            return place, max(0, -(-missing // fit))
    return None
