"""The schema of `spec.atoll`: Atoll's own wishes of a policy, beside Karmada's fields.

What the fields mean is read in `dialects.karmada` (additions, choosing, clusters); here they are
described for `kubectl explain`, for validation and for pruning.
"""

from atoll.apiserver.schemas.described import (
    INT64,
    Schema,
    by_name,
    choice,
    fields,
    flag,
    items,
    text,
    texts,
    whole,
)

_WEIGHT_MAX = 1_000_000
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_COMPARISONS = ("Gt", "Ge", "Lt", "Le", "Eq", "Ne")
_ORDER = (
    "Who comes first: Best (the highest score), MostFree (the most room), Cheapest (the lowest"
    " price) or Random (by the seed)."
)
_SHORT = "What to do when that is not possible: Refuse (the default) or Partial, as far as it goes."
_FAILBACK = (
    "What happens once an earlier one of the clusterAffinities can hold the object again that could"
    " not. Never, the default: it stays where it is until it fits there no more, as in Karmada."
    " WhenPossible: it moves back, all of it, to the earliest that can hold all of it; looked at"
    " when a cluster changes, and every minute."
)
_RESCHEDULE = (
    "What lets divided replicas be placed anew. OnRequest, the default, as in Karmada: a change of"
    " this policy or of the replicas, a WorkloadRebalancer, or a target cluster that is removed."
    " OnClusterChange: also any change of a cluster's labels, fields, taints or APIs, and clusters"
    " that join; replicas leave clusters that are no longer selected, others stay where the way of"
    " dividing lets them. If nothing fits any more, what runs stays."
)
_SEED = "Draws the random order; the same seed gives the same order."


def _expressions(about: str, *operators: str) -> Schema:
    return items(
        about,
        fields(
            "One requirement.",
            ("key", "operator"),
            key=text("The name that is looked at."),
            operator=choice("How it is compared with the values.", *operators),
            values=items("What it is compared with.", {"type": "string"}),
        ),
    )


def _clusters(about: str) -> Schema:
    """Which clusters are meant. One of several may again name alternatives, to any depth."""
    alternative = fields("Clusters, described in the same way.", **_conditions())
    # A schema cannot contain itself: what is deeper is kept, and looked at by admission.
    alternative["x-kubernetes-preserve-unknown-fields"] = True
    any_of = items("Clusters must match one of these as well.", alternative)
    return fields(about, **_conditions(), anyOf=any_of)


def _conditions() -> dict[str, Schema]:
    labels: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "clusterNames": texts("Only clusters of these names; none given: of any name."),
        "exclude": texts("No cluster of these names."),
        "labelSelector": fields(
            "Only clusters with such labels.",
            matchLabels={"description": "Labels that must have these values.", **labels},
            matchExpressions=_expressions("Requirements of labels.", *_LABEL_OPERATORS),
        ),
        "fieldSelector": fields(
            "Only clusters of such a provider, region or zone.",
            matchExpressions=_expressions("Of provider, region or zone.", *_LABEL_OPERATORS),
        ),
        "properties": _expressions(
            "Only clusters with such properties; Gt, Ge, Lt, Le, Eq and Ne compare amounts such as"
            " 0.5 or 16Gi.",
            *_LABEL_OPERATORS,
            *_COMPARISONS,
        ),
        "clusterSets": texts("Only clusters that are in at least one of these sets."),
        "expressions": texts("CEL expressions that must all hold of the cluster."),
    }


def _select() -> Schema:
    spread = fields(
        "One way to spread.",
        ("by",),
        by=text("zone, region, provider, label:KEY or property:KEY."),
        minGroups=whole("At least so many groups; 1 if not given.", 1),
        maxGroups=whole("At most so many groups.", 1),
        minClustersPerGroup=whole("At least so many clusters of each group; 1 if not given.", 1),
        maxClustersPerGroup=whole("At most so many clusters of each group.", 1),
        maxSkew=whole("By how many clusters two groups may differ at most.", 1),
    )
    quota = fields(
        "So many of these clusters.",
        ("count",),
        clusters=_clusters("The clusters that count."),
        count=whole("How many are taken.", 1),
        min=whole("With how few it is content, where Partial is allowed."),
    )
    return fields(
        "Which of the clusters that could take the object are taken. Replaces spreadConstraints.",
        order=choice(_ORDER, "Best", "MostFree", "Cheapest", "Random"),
        minClusters=whole("At least so many clusters; 1 if not given."),
        maxClusters=whole("At most so many clusters; all if not given.", 1),
        seed=whole(_SEED, 0, INT64),
        sticky=flag(
            "Whether clusters that have it already come first; true if not given. With false and"
            " the order Cheapest it moves when prices change."
        ),
        spread=items("How the clusters taken are spread over groups.", spread),
        quotas=items("So many of these clusters, so many of those.", quota),
        whenShort=choice(_SHORT, "Refuse", "Partial"),
    )


def _divide() -> Schema:
    weight = fields(
        "The weight of some clusters.",
        clusters=_clusters("The clusters that have it."),
        weight=whole("Their weight; 0 if not given."),
    )
    return fields(
        "How replicas are divided: clusters are filled in an order, or by weights. Replaces"
        " replicaScheduling.",
        order=choice(_ORDER, "Best", "MostFree", "Cheapest", "Random"),
        evenly=flag("Whether clusters are filled side by side rather than one after the other."),
        seed=whole(_SEED, 0, INT64),
        keepRunning=flag(
            "Whether running replicas stay where they are; true if not given. With false and the"
            " order Cheapest they move when prices change."
        ),
        whenShort=choice(_SHORT, "Refuse", "Partial"),
        weights=items("Weights of clusters; not to be combined with an order.", weight),
        combine=choice("What counts of several weights of a cluster: Max or Sum.", "Max", "Sum"),
    )


def _per_cluster() -> tuple[Schema, Schema]:
    bounds = fields(
        "How many replicas each of these clusters has.",
        clusters=_clusters("The clusters this is about; all if not given."),
        min=whole("At least so many in each."),
        max=whole("At most so many in each."),
    )
    preference = fields(
        "How much these clusters are liked.",
        clusters=_clusters("The clusters this is about; all if not given."),
        weight=whole("Added to their score; 1 if not given.", -_WEIGHT_MAX, _WEIGHT_MAX),
    )
    return bounds, preference


def _additions() -> Schema:
    bounds, preference = _per_cluster()
    score = whole("The weight of this score.", -_WEIGHT_MAX, _WEIGHT_MAX)
    cost = "What an untolerated PreferNoSchedule taint costs in score."
    scores = "Scores of the clusters that count, by name, with their weights."
    return fields(
        "Atoll's additions to Karmada's placement. Every field may be left out; without them"
        " placement is Karmada's.",
        clusters=_clusters("Clusters that everything else is limited to."),
        select=_select(),
        divide=_divide(),
        replicasPerCluster=items("Bounds per cluster; the first that matches counts.", bounds),
        prefer=items("Clusters that are rather taken, or with a negative weight not.", preference),
        preferNoScheduleCost=whole(cost, 0, _WEIGHT_MAX),
        scores=by_name(scores, score),
        tieBreak=choice("Who gets a replica that two clusters claim equally.", "UID", "Name"),
        ordinals=fields(
            "Divides a StatefulSet so that every ordinal exists once among all clusters, from"
            " spec.ordinals.start of the StatefulSet on. An ordinal starts in a cluster only after"
            " every other cluster has shown that it is gone there; one that cannot be reached holds"
            " it up until it is back or removed. Which cluster has which is noted on the binding,"
            " in the annotation placement.atoll.io/ordinals. Volumes do not move along.",
            stride=whole("So many ordinals are kept for each cluster; else no gaps.", 1),
        ),
        failback=choice(_FAILBACK, "Never", "WhenPossible"),
        reschedule=choice(_RESCHEDULE, "OnRequest", "OnClusterChange"),
        preemption=fields(
            "Whether others of a lower priority give way to it where it finds no room, and whether"
            " it gives way to others. Priorities come from schedulePriority, where the gate"
            " PriorityBasedScheduling is on; else nobody gives way. Only work that is divided by"
            " free capacity, or fills clusters in an order, takes room so and gives it.",
            mayPreempt=flag("Whether others give way to it; false if not given."),
            mayBePreempted=flag("Whether it gives way to others; true if not given."),
        ),
    )


ADDITIONS = _additions()
