"""Which changes let a cluster pass the filters that turned it away.

Inputs, a filter's name and a cluster come in; parts go out, or None where nothing is known to help:
a filter somebody added knows its own reasons.
"""

from atoll.model.cluster import Cluster
from atoll.scheduling.plugins.spread_constraint import PROPERTY
from atoll.scheduling.whatif.loosening import loosened
from atoll.scheduling.whatif.parts import (
    Inputs,
    Part,
    end_eviction,
    leave_group,
    loosen,
    say,
    serve,
    tolerate,
)


def fixes(judge: str, inputs: Inputs, cluster: Cluster, place: int) -> list[Part] | None:
    """What lets this cluster pass this filter, under the term at this place."""
    binding = inputs.binding
    match judge:
        case "APIEnablement":
            return [serve(cluster.name, binding.resource.api)]
        case "TaintToleration":
            return _tolerations(inputs, cluster)
        case "ClusterAffinity":
            affinity = binding.intent.terms[place].affinity
            return [loosen(place, *loosened(affinity, cluster, inputs.fleet))]
        case "SpreadConstraint":
            return _fields(inputs, cluster)
        case "ClusterEviction":
            return [end_eviction(cluster.name)]
        case "WorkloadAntiAffinity":
            return [leave_group(binding, anti=True)]
        case "WorkloadAffinity":
            return [leave_group(binding, anti=False)]
    return None


def _tolerations(inputs: Inputs, cluster: Cluster) -> list[Part]:
    tolerated = inputs.binding.intent.tolerations
    return [
        tolerate(taint)
        for taint in cluster.taints
        if taint.repels and not any(each.tolerates(taint) for each in tolerated)
    ]


def _fields(inputs: Inputs, cluster: Cluster) -> list[Part]:
    """A value of its own, so that nothing is assumed about the neighbourhood."""
    fields = dict.fromkeys(each.field for each in inputs.binding.intent.spread)
    return [
        say(cluster.name, each, cluster.name)
        for each in fields
        if each in PROPERTY and not getattr(cluster, PROPERTY[each])
    ]
