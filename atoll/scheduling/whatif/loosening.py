"""How an affinity would have to be loosened to mean a cluster that it does not mean.

An affinity and a cluster come in; the least change that lets the cluster in goes out, with a
sentence for each edit. Conditions that the cluster meets already stay as they are.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from atoll.model.affinity import ANYWHERE, Affinity
from atoll.model.cluster import Cluster
from atoll.model.selector import Operator, Requirement, Selector
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching

_FIELDS = ("labels", "provider", "region", "zones", "properties")
Edited = tuple[tuple[Requirement, ...], list[str]]


def loosened(
    affinity: Affinity, cluster: Cluster, fleet: Fleet
) -> tuple[Affinity, tuple[str, ...]]:
    """The affinity that also means this cluster, and what was edited."""
    edits: list[str] = []
    if cluster.name in affinity.exclude:
        left = tuple(name for name in affinity.exclude if name != cluster.name)
        affinity = replace(affinity, exclude=left)
        edits.append(f"do not exclude {cluster.name}")
    if affinity.names and cluster.name not in affinity.names:
        affinity = replace(affinity, names=(*affinity.names, cluster.name))
        edits.append(f"name {cluster.name} among the clusters")
    for field in _FIELDS:
        kept, said = _loosened(field, _required(affinity, field), cluster, fleet)
        affinity = _requiring(affinity, field, kept) if said else affinity
        edits += said
    return _others(affinity, cluster, fleet, edits)


def _others(
    affinity: Affinity, cluster: Cluster, fleet: Fleet, edits: list[str]
) -> tuple[Affinity, tuple[str, ...]]:
    """Sets, expressions and alternatives."""
    if affinity.sets and not cluster.sets.intersection(affinity.sets):
        own = sorted(cluster.sets)[:1]
        edits.append(f"allow the cluster set {own[0]}" if own else "require no cluster set")
        affinity = replace(affinity, sets=(*affinity.sets, *own) if own else ())
    untrue = [each for each in affinity.expressions if each not in cluster.holds]
    if untrue:
        left = tuple(each for each in affinity.expressions if each not in untrue)
        affinity = replace(affinity, expressions=left)
        edits += [f"no longer require {each}" for each in untrue]
    row = fleet.rows[cluster.name]
    met = any(matching(each, fleet.traits)[row] for each in affinity.alternatives)
    if affinity.alternatives and not met:
        by_name = Affinity(names=(cluster.name,))
        affinity = replace(affinity, alternatives=(*affinity.alternatives, by_name))
        edits.append(f"name {cluster.name} as an alternative")
    return affinity, tuple(edits)


def _loosened(
    field: str, requirements: tuple[Requirement, ...], cluster: Cluster, fleet: Fleet
) -> Edited:
    """Requirements that the cluster meets: those it fails allow its value as well, or are gone."""
    kept: list[Requirement] = []
    edits: list[str] = []
    for each in requirements:
        if _holds(field, each, cluster, fleet):
            kept.append(each)
            continue
        value = _value(field, each.key, cluster)
        if each.operator is Operator.IN and value:
            kept.append(replace(each, values=(*each.values, value)))
            edits.append(f"allow {_name(field, each)} {value}")
        else:
            edits.append(f"no longer require {' '.join(_words(field, each))}")
    return tuple(kept), edits


def _holds(field: str, requirement: Requirement, cluster: Cluster, fleet: Fleet) -> bool:
    asked = _requiring(ANYWHERE, field, (requirement,))
    return bool(matching(asked, fleet.traits)[fleet.rows[cluster.name]])


def _required(affinity: Affinity, field: str) -> tuple[Requirement, ...]:
    if field == "labels":
        return affinity.labels.requirements if affinity.labels else ()
    required: tuple[Requirement, ...] = getattr(affinity, field)
    return required


def _requiring(affinity: Affinity, field: str, requirements: tuple[Requirement, ...]) -> Affinity:
    """The affinity with other requirements on one field."""
    is_labels = field == "labels"
    asked: dict[str, Any] = {field: Selector(requirements) if is_labels else requirements}
    return replace(affinity, **asked)


def _value(field: str, key: str, cluster: Cluster) -> str | None:
    match field:
        case "labels":
            return cluster.labels.get(key)
        case "properties":
            return cluster.properties.get(key)
        case "zones":
            return cluster.zones[0] if cluster.zones else None
    value: str = getattr(cluster, field)
    return value


def _name(field: str, requirement: Requirement) -> str:
    key = requirement.key
    return f"{field.removesuffix('s')} {key}" if field in ("labels", "properties") else field


def _words(field: str, requirement: Requirement) -> Iterator[str]:
    yield _name(field, requirement)
    yield {Operator.NOT_EXISTS: "not to exist", Operator.EXISTS: "to exist"}.get(
        requirement.operator, str(requirement.operator)
    )
    if requirement.values:
        yield f"({', '.join(requirement.values)})"
