"""Atoll's own kinds, the group `placement.atoll.io`, as CustomResourceDefinitions.

Out: a definition for each kind, every field with its sentence. What the embedded server serves and
what `make crds` prints for a real one come from here; what the objects mean is known to `control`
(explaining) and `dialects` (prices, cluster_nodes).
"""

from functools import cache
from typing import Any

from atoll.apiserver.karmada.definitions import HEAD, definition_of
from atoll.apiserver.schemas.described import (
    Schema,
    by_name,
    fields,
    flag,
    items,
    moment,
    number,
    prose,
    text,
    texts,
)
from atoll.dialects.prices import GROUP
from atoll.wire import Wire

VERSION = "v1alpha1"
_PRICE = "Such as 0.031: a decimal number of up to nine places, not negative."
_REPLICAS = "How many replicas; 0 where the object has none."


@cache
def own_definitions() -> tuple[Wire, ...]:
    """The definition of every kind of our own. Shared: not to be changed."""
    namespaced = ("explanations", "Explanation", "Namespaced", ["why"])
    wide = ("clusterexplanations", "ClusterExplanation", "Cluster", ["cwhy"])
    prices = ("clusterprices", "ClusterPrice", "Cluster", ["price", "prices"])
    nodes = ("clusternodes", "ClusterNodes", "Cluster", ["cnodes"])
    return (
        _definition(namespaced, _explanation("ResourceBinding"), _TOLD, {}),
        _definition(wide, _explanation("ClusterResourceBinding"), _TOLD, {}),
        _definition(prices, _cluster_price(), _PRICED, {"subresources": {"status": {}}}),
        _definition(nodes, _cluster_nodes(), _PUBLISHED, {}),
    )


def _definition(
    named: tuple[str, str, str, list[str]], schema: Schema, columns: list[Wire], more: Wire
) -> Wire:
    told = dict(zip(("plural", "kind", "scope", "shortNames"), named, strict=True))
    complete = {**schema, "properties": {**HEAD, **schema["properties"]}}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": complete},
        "additionalPrinterColumns": columns,
        **more,
    }
    return definition_of({"group": GROUP, "categories": ["atoll-io"], **told}, [version])


def _column(name: str, path: str, kind: str = "string", **more: Any) -> Wire:
    return {"name": name, "type": kind, "jsonPath": path, **more}


_TOLD = [
    _column("Outcome", ".decisions[0].outcome.summary"),
    _column("Trigger", ".decisions[0].trigger"),
    _column("Cost", ".decisions[0].cost", priority=1),
    _column("Decided", ".decisions[0].time", "date"),
]
_PRICED = [
    _column("Cluster", ".spec.cluster"),
    _column("CPU-Hour", ".spec.perCPUHour"),
    _column("GiB-Hour", ".spec.perGiBHour"),
    _column("Currency", ".spec.currency"),
    _column("In-Force", '.status.conditions[?(@.type=="InForce")].reason'),
    _column("Until", ".spec.validUntil"),
    _column("Source", ".spec.source", priority=1),
    _column("Age", ".metadata.creationTimestamp", "date"),
]

_PUBLISHED = [
    _column("Nodes", ".spec.nodes", "integer"),
    _column("As-Of", ".spec.asOf", "date"),
    _column("Age", ".metadata.creationTimestamp", "date"),
]


def _cluster_nodes() -> Schema:
    spec = fields(
        "The nodes, as they were at a moment.",
        ("traits", "room"),
        nodes=number("How many nodes there are."),
        asOf=moment("When the agent wrote this; it does so when something changed, and at times."),
        traits=prose(
            "The nodes' names, labels and taints, in columns, compressed; for Atoll's scheduler"
            " alone."
        ),
        room=prose("What is free on each of the nodes, in the same form."),
    )
    return fields(
        "The nodes of a cluster that pulls, published by its agent, so that the scheduler knows"
        " what fits on each. It has the cluster's name, and goes with it.",
        ("spec",),
        spec=spec,
    )


def _explanation(kind: str) -> Schema:
    about = fields(
        "The binding whose placement is explained.",
        ("apiVersion", "kind", "name", "uid"),
        apiVersion=text("Its API version."),
        kind=text(f"Its kind: {kind}."),
        namespace=prose("Its namespace, if it has one."),
        name=text("Its name; the explanation has the same."),
        uid=text("Its uid: a binding that is made anew is explained anew."),
    )
    return fields(
        f"Why a {kind} is placed as it is: its last ten decisions. Read by whoever may read the"
        " binding, and removed with it.",
        ("binding",),
        binding=about,
        decisions=items("The decisions, the newest first.", _decision())
        | {"x-kubernetes-list-type": "atomic"},
        earlier=prose(
            "All decisions but the newest in the form they are stored in, compressed; Atoll's own"
            " API server shows them as decisions instead."
        ),
    )


def _decision() -> Schema:
    outcome = fields(
        "What was decided.",
        verdict=text("Success, NoClusterFit, Unschedulable or SchedulerError."),
        message=prose("What was refused, in the words of the binding's condition."),
        summary=prose("What was decided, in one sentence."),
        affinityName=prose("The one of the policy's clusterAffinities that was taken, if it has."),
    )
    target = fields(
        "A cluster that was chosen.", name=text("Its name."), replicas=number(_REPLICAS)
    )
    reason = fields(
        "A reason not to be chosen.",
        count=number("How many clusters have it."),
        fate=text("At which step they were lost, as filtered or by rank."),
        reason=prose("What it is."),
    )
    cost = fields(
        "A cost.", name=text("The cluster."), perHour=prose("What its replicas cost per hour.")
    )
    return fields(
        "One decision.",
        ("time", "outcome"),
        number=number("Which decision about the binding it was, from 1; alike ones count once."),
        time=moment("When it was made."),
        trigger=prose(
            "What asked for it: placementChanged, replicasChanged, rescheduleTriggered, duplicated"
            " (looked at whenever clusters change), terminatingTarget, followsPrice, evicted"
            " (a target may not stay where it is), or none (it was nowhere)."
        ),
        outcome=outcome,
        replicas=number("How many replicas were to be placed."),
        targets=items("Where it goes.", target),
        cost=prose("What it costs per hour there, as far as prices are known."),
        costs=items("The same by cluster; one whose price is not known is not there.", cost),
        fleetSize=number("How many clusters there were."),
        passed=number("How many of them passed all filters."),
        filters=texts("The filters that were asked, in their order."),
        selection=prose("Who selected among those that passed: the name of a plug-in."),
        groups=items("The groups of clusters that were weighed against each other.", _group()),
        division=prose("Who divided replicas among those selected: the name of a plug-in."),
        sums=items("How replicas were divided, one sum per tier.", _sum()),
        sentences=texts("The whole explanation for people, the most important first."),
        clusters=items("Each cluster's part; of more than 50, those chosen.", _cluster()),
        reasons=items("Why clusters were not chosen, the most frequent first.", reason),
        others=items("Other bindings that had a part in it.", _other()),
        record=prose("The newest decision whole, for programs: compressed, in Atoll's own form."),
    )


def _group() -> Schema:
    return fields(
        "A group of clusters.",
        by=text("What they have in common, such as region."),
        name=text("Its name."),
        score=number("What it counted by."),
        taken=flag("Whether it was taken."),
    )


def _sum() -> Schema:
    line = fields(
        "One cluster's part; one that got nothing is not there.",
        name=text("Its name."),
        votes=number("What its share is in proportion to: room, or weight."),
        share=text("Its exact share, to two places."),
        won=number("How many replicas it was given now."),
        kept=number("How many it had and keeps besides."),
    )
    return fields(
        "One division.",
        method=text("How: static weight, free capacity, aggregated, kept, fill and so on."),
        seats=number("How many replicas were divided."),
        votes=number("All votes there were."),
        lines=items("Who got how many.", line),
    )


def _cluster() -> Schema:
    turned = fields("A filter it failed.", filter=text("Its name."), reason=prose("What it said."))
    estimate = fields(
        "One estimate.",
        **{"from": text("Who made it."), "replicas": number("For how many more replicas.")},
        because=prose("Why no more, where the nodes of a cluster take less than it reports."),
    )
    score = fields(
        "One score.", **{"from": text("Who gave it."), "score": number("How much it is.")}
    )
    group = fields("One group.", by=text("By what."), name=text("Its name."))
    return fields(
        "One cluster.",
        name=text("Its name."),
        chosen=flag("Whether it was chosen."),
        replicas=number(_REPLICAS),
        before=number("How many replicas it ran before; absent if the object was not there."),
        fate=text("How far it came: chosen, or where it was lost."),
        reason=prose("Why it was not chosen."),
        turnedAwayBy=items("All filters it failed.", turned),
        sparedBy=texts("Filters that were not asked: they spare what runs already."),
        rank=number("Its place among those that passed the filters, from 1."),
        score=number("Its score."),
        scores=items("Who gave which score.", score),
        groups=items("The groups it is in, of those that were weighed.", group),
        room=number("For how many more replicas it has room."),
        unitCost=prose("What one replica costs there, where the choice was by price."),
        estimates=items("Who said how much room there is.", estimate),
    )


def _other() -> Schema:
    return fields(
        "Another binding. Who may not read it is told of another binding, and no more.",
        name=text("Its name, or: another binding."),
        kind=text("Its kind."),
        namespace=prose("Its namespace, if it has one."),
        because=prose("What it has to do with the decision."),
        clusters=texts("Where it was then."),
    )


def _cluster_price() -> Schema:
    spec = fields(
        "What the cluster charges, and when that holds. What has no price here is of unknown"
        " price, never free.",
        ("currency",),
        cluster=text("The cluster; the one of the object's own name if not given."),
        currency=text(
            "The currency, such as EUR: three capital letters. Prices are compared, so all must be"
            " in one: the one that most are in. A price in another is not known."
        ),
        perCPUHour=text(f"What a CPU costs per hour. {_PRICE}"),
        perGiBHour=text(f"What a GiB of memory costs per hour. {_PRICE}"),
        perResourceHour=by_name(
            f"What one unit of another resource, such as nvidia.com/gpu, costs per hour. {_PRICE}",
            {"type": "string", "minLength": 1},
        ),
        source=prose("Where the price comes from, for people, such as a price list."),
        asOf=moment("When the price was found out, for people."),
        validFrom=moment("From when it holds; always so far if not given."),
        validUntil=moment("Until when it holds; for ever if not given. Then it is not known."),
    )
    condition = fields(
        "One condition.",
        ("type", "status"),
        type=text("InForce: whether decisions go by this price."),
        status=text("True or False."),
        reason=text(
            "InForce, NotYetValid, Expired, Superseded, OtherCurrency or Unreadable, in one word."
        ),
        message=prose("The reason in a sentence."),
        lastTransitionTime=moment("Since when it is so."),
    )
    status = fields(
        "Whether the price counts now.",
        conditions=items("The condition InForce.", condition)
        | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    return fields(
        "What a cluster costs: per CPU-hour, per GiB-hour of memory, and per hour of other"
        " resources. Of several for one cluster the one valid since the latest moment counts.",
        ("spec",),
        spec=spec,
        status=status,
    )
