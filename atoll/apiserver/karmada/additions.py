"""The schema of `spec.atoll`: Atoll's own wishes of a policy, beside Karmada's fields.

What the fields mean is read in `dialects.karmada` (additions, choosing, clusters); here they are
described for `kubectl explain`, for validation and for pruning.
"""

from typing import Any

Schema = dict[str, Any]

_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_WEIGHT_MAX = 1_000_000
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_COMPARISONS = ("Gt", "Ge", "Lt", "Le", "Eq", "Ne")
_ORDER = (
    "Who comes first: Best (the highest score), MostFree (the most room), Cheapest (the lowest"
    " price) or Random (by the seed)."
)
_SHORT = "What to do when that is not possible: Refuse (the default) or Partial, as far as it goes."
_SEED = "Draws the random order; the same seed gives the same order."


def _object(about: str, required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    found: Schema = {"description": about, "type": "object", "properties": properties}
    return found | {"required": list(required)} if required else found


def _list(about: str, items: Schema) -> Schema:
    return {"description": about, "type": "array", "items": items}


def _texts(about: str) -> Schema:
    return _list(about, {"type": "string", "minLength": 1})


def _whole(about: str, least: int = 0, most: int = _INT32) -> Schema:
    size = "int32" if most <= _INT32 else "int64"
    kind: Schema = {"type": "integer", "format": size, "minimum": least}
    return {"description": about, **kind, **({"maximum": most} if most < _INT32 else {})}


def _choice(about: str, *known: str) -> Schema:
    return {"description": about, "type": "string", "enum": list(known)}


def _flag(about: str) -> Schema:
    return {"description": about, "type": "boolean"}


def _text(about: str) -> Schema:
    return {"description": about, "type": "string", "minLength": 1}


def _expressions(about: str, *operators: str) -> Schema:
    return _list(
        about,
        _object(
            "One requirement.",
            ("key", "operator"),
            key=_text("The name that is looked at."),
            operator=_choice("How it is compared with the values.", *operators),
            values=_list("What it is compared with.", {"type": "string"}),
        ),
    )


def _clusters(about: str) -> Schema:
    """Which clusters are meant. One of several may again name alternatives, to any depth."""
    alternative = _object("Clusters, described in the same way.", **_conditions())
    # A schema cannot contain itself: what is deeper is kept, and looked at by admission.
    alternative["x-kubernetes-preserve-unknown-fields"] = True
    any_of = _list("Clusters must match one of these as well.", alternative)
    return _object(about, **_conditions(), anyOf=any_of)


def _conditions() -> dict[str, Schema]:
    labels: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "clusterNames": _texts("Only clusters of these names; none given: of any name."),
        "exclude": _texts("No cluster of these names."),
        "labelSelector": _object(
            "Only clusters with such labels.",
            matchLabels={"description": "Labels that must have these values.", **labels},
            matchExpressions=_expressions("Requirements of labels.", *_LABEL_OPERATORS),
        ),
        "fieldSelector": _object(
            "Only clusters of such a provider, region or zone.",
            matchExpressions=_expressions("Of provider, region or zone.", *_LABEL_OPERATORS),
        ),
        "properties": _expressions(
            "Only clusters with such properties; Gt, Ge, Lt, Le, Eq and Ne compare amounts such as"
            " 0.5 or 16Gi.",
            *_LABEL_OPERATORS,
            *_COMPARISONS,
        ),
        "clusterSets": _texts("Only clusters that are in at least one of these sets."),
        "expressions": _texts("CEL expressions that must all hold of the cluster."),
    }


def _select() -> Schema:
    spread = _object(
        "One way to spread.",
        ("by",),
        by=_text("zone, region, provider, label:KEY or property:KEY."),
        minGroups=_whole("At least so many groups; 1 if not given.", 1),
        maxGroups=_whole("At most so many groups.", 1),
        minClustersPerGroup=_whole("At least so many clusters of each group; 1 if not given.", 1),
        maxClustersPerGroup=_whole("At most so many clusters of each group.", 1),
        maxSkew=_whole("By how many clusters two groups may differ at most.", 1),
    )
    quota = _object(
        "So many of these clusters.",
        ("count",),
        clusters=_clusters("The clusters that count."),
        count=_whole("How many are taken.", 1),
        min=_whole("With how few it is content, where Partial is allowed."),
    )
    return _object(
        "Which of the clusters that could take the object are taken. Replaces spreadConstraints.",
        order=_choice(_ORDER, "Best", "MostFree", "Cheapest", "Random"),
        minClusters=_whole("At least so many clusters; 1 if not given."),
        maxClusters=_whole("At most so many clusters; all if not given.", 1),
        seed=_whole(_SEED, 0, _INT64),
        sticky=_flag("Whether clusters that have it already come first; true if not given."),
        spread=_list("How the clusters taken are spread over groups.", spread),
        quotas=_list("So many of these clusters, so many of those.", quota),
        whenShort=_choice(_SHORT, "Refuse", "Partial"),
    )


def _divide() -> Schema:
    weight = _object(
        "The weight of some clusters.",
        clusters=_clusters("The clusters that have it."),
        weight=_whole("Their weight; 0 if not given."),
    )
    return _object(
        "How replicas are divided: clusters are filled in an order, or by weights. Replaces"
        " replicaScheduling.",
        order=_choice(_ORDER, "Best", "MostFree", "Cheapest", "Random"),
        evenly=_flag("Whether clusters are filled side by side rather than one after the other."),
        seed=_whole(_SEED, 0, _INT64),
        keepRunning=_flag("Whether running replicas stay where they are; true if not given."),
        whenShort=_choice(_SHORT, "Refuse", "Partial"),
        weights=_list("Weights of clusters; not to be combined with an order.", weight),
        combine=_choice("What counts of several weights of a cluster: Max or Sum.", "Max", "Sum"),
    )


def _per_cluster() -> tuple[Schema, Schema]:
    bounds = _object(
        "How many replicas each of these clusters has.",
        clusters=_clusters("The clusters this is about; all if not given."),
        min=_whole("At least so many in each."),
        max=_whole("At most so many in each."),
    )
    preference = _object(
        "How much these clusters are liked.",
        clusters=_clusters("The clusters this is about; all if not given."),
        weight=_whole("Added to their score; 1 if not given.", -_WEIGHT_MAX, _WEIGHT_MAX),
    )
    return bounds, preference


def _additions() -> Schema:
    bounds, preference = _per_cluster()
    score = _whole("The weight of this score.", -_WEIGHT_MAX, _WEIGHT_MAX)
    cost = "What an untolerated PreferNoSchedule taint costs in score."
    scores = "Scores of the clusters that count, by name, with their weights."
    return _object(
        "Atoll's additions to Karmada's placement. Every field may be left out; without them"
        " placement is Karmada's.",
        clusters=_clusters("Clusters that everything else is limited to."),
        select=_select(),
        divide=_divide(),
        replicasPerCluster=_list("Bounds per cluster; the first that matches counts.", bounds),
        prefer=_list("Clusters that are rather taken, or with a negative weight not.", preference),
        preferNoScheduleCost=_whole(cost, 0, _WEIGHT_MAX),
        scores={"description": scores, "type": "object", "additionalProperties": score},
        tieBreak=_choice("Who gets a replica that two clusters claim equally.", "UID", "Name"),
        ordinals=_object(
            "Divides a StatefulSet so that every ordinal exists once among all clusters.",
            stride=_whole("So many ordinals are kept for each cluster; else no gaps.", 1),
        ),
        preemption=_object(
            "Whether others give way to it, and whether it gives way to others.",
            mayPreempt=_flag("Whether it may take the place of others; true if not given."),
            mayBePreempted=_flag("Whether others may take its place; true if not given."),
        ),
    )


ADDITIONS = _additions()
