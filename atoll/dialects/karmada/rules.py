"""For what an object of Karmada's kinds is refused: the rules of its kind, all in one place.

In: an object that keeps its schema, and what it was before. Out: everything that is wrong with it,
each with its field, its value and what is allowed.
"""

from atoll.dialects.karmada import (
    cluster_rules,
    interpreter_rules,
    names,
    override_rules,
    policy_rules,
)
from atoll.errors import Invalid
from atoll.wire import Object


def problems(new: Object, old: Object | None) -> list[Invalid]:
    """Everything for which an object is refused; nothing if it is accepted."""
    match new["kind"]:
        case "PropagationPolicy":
            return list(policy_rules.propagation(new, old, names.POLICY_ID))
        case "ClusterPropagationPolicy":
            return list(policy_rules.propagation(new, old, names.CLUSTER_POLICY_ID))
        case "OverridePolicy" | "ClusterOverridePolicy":
            return list(override_rules.override(new))
        case "ClusterTaintPolicy":
            return list(policy_rules.tainting(new))
        case "ResourceBinding" | "ClusterResourceBinding":
            return list(policy_rules.binding(new))
        case "Cluster":
            return list(cluster_rules.cluster(new))
        case "ResourceInterpreterWebhookConfiguration":
            return list(interpreter_rules.webhooks(new))
    return []
