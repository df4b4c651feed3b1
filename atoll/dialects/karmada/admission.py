"""What is wrong with a placement, told before it is stored: Karmada's refusals and a few of ours.

The sentences are those of Karmada's admission, so that users and tools recognise them. Beyond it,
operators that nothing knows, empty names and weights below one are refused here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from atoll.dialects.karmada import affinity, placement
from atoll.dialects.karmada.placement import PLACEMENT
from atoll.dialects.kubernetes.names import qualified_faults
from atoll.dialects.kubernetes.selectors import LABEL_OPERATORS, OPERATORS
from atoll.dialects.kubernetes.tolerations import ANY_VALUE, EFFECTS
from atoll.dialects.wire import INT64, at, elements, number, part, parts, text, texts
from atoll.errors import Invalid
from atoll.wire import Object

FIELDS = (affinity.PROVIDER, affinity.REGION, affinity.ZONE)
AFFINITIES = at(PLACEMENT, "clusterAffinities")
NO_NAME = "must be a name of letters, digits, '-', '_' and '.', that begins and ends with a letter"
NO_NAME += " or digit, with or without a domain and '/' before it"


def validate(given: Mapping[str, Any] | None) -> list[Invalid]:
    """Everything for which a placement is refused; nothing if it is accepted."""
    wire = {} if given is None else given
    try:
        placement.decode(wire)
        return [
            *_of_overflow(wire),
            *_of_affinities(wire),
            *_of_spread(wire),
            *_of_groups(wire),
            *_of_tolerations(wire),
            *_of_weights(wire),
        ]
    except Invalid as invalid:  # the rest cannot be judged before it can be read
        return [invalid]


def _of_overflow(wire: Object) -> Iterator[Invalid]:
    both = wire.get("clusterAffinity") is not None and wire.get("clusterAffinities") is not None
    if both:
        yield Invalid(PLACEMENT, wire, "clusterAffinities cannot co-exist with clusterAffinity")
    if _may_overflow(part(wire, "replicaScheduling", PLACEMENT) or {}):
        return
    problem = (
        "overflowAffinities can only be used together with dynamic weight or aggregated scheduling"
    )
    for here, term in parts(wire, "clusterAffinities", PLACEMENT):
        if term.get("overflowAffinities") is not None:
            yield Invalid(at(here, "overflowAffinities"), term["overflowAffinities"], problem)


def _may_overflow(strategy: Object) -> bool:
    path = at(PLACEMENT, "replicaScheduling")
    preference = text(strategy, "replicaDivisionPreference", path)
    weights = part(strategy, "weightPreference", path) or {}
    divided = (text(strategy, "replicaSchedulingType", path) or "Divided") == "Divided"
    dynamic = preference == "Weighted" and bool(weights.get("dynamicWeight"))
    return bool(strategy) and divided and (preference == "Aggregated" or dynamic)


def _of_affinities(wire: Object) -> Iterator[Invalid]:
    single = part(wire, "clusterAffinity", PLACEMENT)
    if single is not None:
        yield from affinity_problems(single, at(PLACEMENT, "clusterAffinity"))
    names: set[str] = set()
    for here, term in parts(wire, "clusterAffinities", PLACEMENT):
        name = text(term, "affinityName", here)
        if qualified_faults(name):
            yield Invalid(here, name, NO_NAME)
        if name in names:
            problem = "each affinity term in a policy must have a unique name"
            yield Invalid(AFFINITIES, wire["clusterAffinities"], problem)
        names.add(name)
        yield from affinity_problems(term, here)
        yield from _of_tiers(term, here)


def _of_tiers(term: Object, path: str) -> Iterator[Invalid]:
    tiers = term.get("overflowAffinities")
    if tiers is None:
        return
    conditions = ("labelSelector", "fieldSelector", "clusterNames", "exclude")
    if all(term.get(each) in (None, []) for each in conditions):
        problem = "overflowAffinities can only be used together with the inline ClusterAffinity"
        yield Invalid(at(path, "overflowAffinities"), tiers, problem)
    names = {text(term, "affinityName", path)}
    for here, tier in parts(term, "overflowAffinities", path):
        name = text(tier, "affinityName", here)
        if qualified_faults(name):
            yield Invalid(at(here, "affinityName"), name, NO_NAME)
        if name in names:
            problem = "overflow affinity name must be unique and must not duplicate the primary"
            problem += " group's affinityName"
            yield Invalid(at(here, "affinityName"), name, problem)
        names.add(name)
        yield from affinity_problems(tier, here)


def affinity_problems(wire: Object, path: str) -> Iterator[Invalid]:
    """What is wrong with the clusters meant; like Karmada, of field selectors the first only."""
    fields, here = part(wire, "fieldSelector", path), at(path, "fieldSelector")
    for _, each in parts(fields or {}, "matchExpressions", here):
        key, operator = text(each, "key", here), text(each, "operator", here)
        if key not in FIELDS:
            problem = f'unsupported key "{key}", must be provider, region, or zone'
            yield Invalid(here, fields, problem)
            break
        if operator not in ("In", "NotIn"):
            problem = f'unsupported operator "{operator}", must be In or NotIn'
            yield Invalid(here, fields, problem)
            break
    yield from _of_names(wire, path)


def _of_names(wire: Object, path: str) -> Iterator[Invalid]:
    """Ours: names that name nothing, and operators that nothing knows."""
    for key in ("clusterNames", "exclude"):
        for index, each in enumerate(texts(wire, key, path)):
            if not each:
                yield Invalid(f"{at(path, key)}[{index}]", each, "must not be empty")
    labels, here = part(wire, "labelSelector", path) or {}, at(path, "labelSelector")
    yield from _of_operators(labels, here, LABEL_OPERATORS)


def _of_operators(selector: Object, path: str, known: frozenset[str]) -> Iterator[Invalid]:
    for here, each in parts(selector, "matchExpressions", path):
        operator = text(each, "operator", here)
        if operator not in known:
            problem = f"must be one of {', '.join(sorted(known))}"
            yield Invalid(at(here, "operator"), operator, problem)


def _of_spread(wire: Object) -> Iterator[Invalid]:
    path = at(PLACEMENT, "spreadConstraints")
    listed = elements(wire, "spreadConstraints", PLACEMENT)
    fields: list[str] = []
    for here, each in parts(wire, "spreadConstraints", PLACEMENT):
        field = text(each, "spreadByField", here)
        if field and text(each, "spreadByLabel", here):
            yield Invalid(here, each, "spreadByLabel should not co-exist with spreadByField")
        yield from _of_range(each, here)
        if field and fields.count(field) == 1:
            yield Invalid(path, listed, f"multiple {field} spread constraints are not allowed")
        if field:
            fields.append(field)
    if fields and "cluster" not in fields:
        problem = "the cluster spread constraint must be enabled in one of the constraints in case"
        problem += " of SpreadByField is enabled"
        yield Invalid(path, listed, problem)


def _of_range(wire: Object, path: str) -> Iterator[Invalid]:
    least, most = wire.get("minGroups") or 0, wire.get("maxGroups") or 0
    if least < 0:
        yield Invalid(path, wire, "minGroups lower than 0 is not allowed")
    if most < 0:
        yield Invalid(path, wire, "maxGroups lower than 0 is not allowed")
    if 0 < most < least:
        yield Invalid(path, wire, "maxGroups lower than minGroups is not allowed")


def _of_groups(wire: Object) -> Iterator[Invalid]:
    given, path = part(wire, "workloadAffinity", PLACEMENT), at(PLACEMENT, "workloadAffinity")
    keys = []
    for side in ("affinity", "antiAffinity"):
        term = part(given or {}, side, path)
        if term is not None:
            keys.append(text(term, "groupByLabelKey", at(path, side)))
            if qualified_faults(keys[-1]):
                yield Invalid(f"{path}.{side}.groupByLabelKey", keys[-1], NO_NAME)
    if len(keys) == 2 and keys[0] == keys[1]:
        problem = "affinity and antiAffinity must not use the same groupByLabelKey"
        yield Invalid(path, given, problem)


def _of_tolerations(wire: Object) -> Iterator[Invalid]:
    for here, each in parts(wire, "clusterTolerations", PLACEMENT):
        operator, effect = text(each, "operator", here), text(each, "effect", here)
        if operator not in ANY_VALUE:
            problem = 'supported values: "", "Equal", "Exists"'
            yield Invalid(at(here, "operator"), operator, problem)
        if effect and effect not in EFFECTS:
            yield Invalid(at(here, "effect"), effect, f"must be one of {', '.join(EFFECTS)}")


def _of_weights(wire: Object) -> Iterator[Invalid]:
    strategy, path = part(wire, "replicaScheduling", PLACEMENT), at(PLACEMENT, "replicaScheduling")
    given = part(strategy or {}, "weightPreference", path) or {}
    for here, each in parts(given, "staticWeightList", at(path, "weightPreference")):
        if not number(each, "weight", here, most=INT64):
            yield Invalid(at(here, "weight"), each.get("weight"), "must be 1 or more")
        target, there = part(each, "targetCluster", here) or {}, at(here, "targetCluster")
        yield from _of_names(target, there)
        fields = part(target, "fieldSelector", there) or {}
        yield from _of_operators(fields, at(there, "fieldSelector"), frozenset(OPERATORS))
