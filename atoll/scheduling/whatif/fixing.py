"""Which changes let a cluster pass the filters that turned it away.

Inputs, a filter's name and a cluster come in; parts go out, or None where nothing is known to help:
a filter somebody added knows its own reasons.
"""

from atoll.model.cluster import Cluster
from atoll.scheduling.plugins.spread_constraint import PROPERTY
from atoll.scheduling.whatif import parts
from atoll.scheduling.whatif.loosening import loosened


def fixes(
    judge: str, inputs: parts.Inputs, cluster: Cluster, place: int
) -> list[parts.Part] | None:
    """What lets this cluster pass this filter, under the term at this place."""
    binding = inputs.binding
    match judge:
        case "APIEnablement":
            return [parts.serve(cluster.name, binding.resource.api)]
        case "TaintToleration":
            return _tolerations(inputs, cluster)
        case "ClusterAffinity":
            affinity = binding.intent.terms[place].affinity
            return [parts.loosen(place, *loosened(affinity, cluster, inputs.fleet))]
        case "SpreadConstraint":
            return _fields(inputs, cluster)
        case "ClusterEviction":
            return [parts.end_eviction(cluster.name)]
        case "WorkloadAntiAffinity":
            return [parts.leave_group(binding, anti=True)]
        case "WorkloadAffinity":
            return [parts.leave_group(binding, anti=False)]
    return None


def _tolerations(inputs: parts.Inputs, cluster: Cluster) -> list[parts.Part]:
    tolerated = inputs.binding.intent.tolerations
    return [
        parts.tolerate(taint)
        for taint in cluster.taints
        if taint.repels and not any(each.tolerates(taint) for each in tolerated)
    ]


def _fields(inputs: parts.Inputs, cluster: Cluster) -> list[parts.Part]:
    """A value of its own, so that nothing is assumed about the neighbourhood."""
    fields = dict.fromkeys(each.field for each in inputs.binding.intent.spread)
    return [
        parts.say(cluster.name, each, cluster.name)
        for each in fields
        if each in PROPERTY and not getattr(cluster, PROPERTY[each])
    ]
