"""Karmada's replicaRequirements and components: what one replica needs. Equal needs are shared."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from atoll.dialects.kubernetes.pods import claim
from atoll.dialects.kubernetes.quantities import written
from atoll.dialects.kubernetes.selectors import OPERATORS
from atoll.dialects.wire import Written, amount, at, count, part, parts, text
from atoll.errors import Invalid
from atoll.model.demand import Component, Demand, NodeClaim, NodeTerm
from atoll.model.selector import Requirement
from atoll.model.taint import Toleration
from atoll.wire import Object

_WRITTEN = {operator: name for name, operator in OPERATORS.items()}
_NO_NODE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [""]}]}


def decode(wire: Object, path: str, namespace: str = "") -> Demand:
    """What a replica needs, in the namespace it will run in."""
    return _decode(Written.of(wire, path), namespace)


@lru_cache(maxsize=4096)
def _decode(written: Written, namespace: str) -> Demand:
    wire, path = written.wire, written.path
    requests = part(wire, "resourceRequest", path) or {}
    nodes = part(wire, "nodeClaim", path)
    found = []
    for resource in sorted(requests):
        here = f"{at(path, 'resourceRequest')}[{resource}]"
        wanted = amount(requests[resource], here)
        if wanted.milli < 0:
            raise Invalid(here, requests[resource], "must not be negative")
        found.append((resource, wanted))
    return Demand(
        requests=tuple(found),
        claim=NodeClaim() if nodes is None else claim(nodes, at(path, "nodeClaim")),
        namespace=text(wire, "namespace", path) or namespace,
        priority_class=text(wire, "priorityClassName", path),
    )


def components(wire: Object, path: str, namespace: str) -> tuple[Component, ...]:
    """The pod templates of a workload that has several."""
    return tuple(
        _component(each, here, namespace) for here, each in parts(wire, "components", path)
    )


def _component(wire: Object, path: str, namespace: str) -> Component:
    needs = part(wire, "replicaRequirements", path)
    demand = None if needs is None else decode(needs, at(path, "replicaRequirements"), namespace)
    return Component(text(wire, "name", path), count(wire, "replicas", path), demand)


def encode(demand: Demand) -> dict[str, Any]:
    """What a replica needs, as a binding says it; amounts in whole units of what is counted."""
    requests = {name: written(name, each.in_its_unit(name)) for name, each in demand.requests}
    found = {
        "resourceRequest": requests,
        "nodeClaim": _encode_claim(demand.claim) if demand.claim != NodeClaim() else None,
        "namespace": demand.namespace,
        "priorityClassName": demand.priority_class,
    }
    return {key: value for key, value in found.items() if value}


def encode_components(components: Iterable[Component]) -> list[dict[str, Any]]:
    """Pod templates as a binding lists them."""
    return [
        {"name": each.name, "replicas": each.replicas}
        | ({} if each.demand is None else {"replicaRequirements": encode(each.demand)})
        for each in components
    ]


def _encode_claim(nodes: NodeClaim) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if nodes.selector:
        found["nodeSelector"] = dict(nodes.selector)
    if nodes.terms is not None:
        # An affinity without terms means no node; what is empty might be taken for none.
        terms = [_encode_term(each) for each in nodes.terms] or [_NO_NODE]
        found["hardNodeAffinity"] = {"nodeSelectorTerms": terms}
    if nodes.tolerations:
        found["tolerations"] = [_encode_toleration(each) for each in nodes.tolerations]
    return found


def _encode_term(term: NodeTerm) -> dict[str, Any]:
    if not term.labels and not term.fields:
        return _NO_NODE
    found = {
        "matchExpressions": [_encode_requirement(each) for each in term.labels],
        "matchFields": [_encode_requirement(each) for each in term.fields],
    }
    return {key: value for key, value in found.items() if value}


def _encode_requirement(asked: Requirement) -> dict[str, Any]:
    values = {"values": [*asked.values]} if asked.values else {}
    return {"key": asked.key, "operator": _WRITTEN[asked.operator], **values}


def _encode_toleration(given: Toleration) -> dict[str, Any]:
    found = {
        "key": given.key,
        "operator": "Exists" if given.any_value else "Equal",
        "value": given.value,
        "effect": given.effect.value if given.effect else "",
        "tolerationSeconds": given.seconds,
    }
    return {key: value for key, value in found.items() if value not in ("", None)}
