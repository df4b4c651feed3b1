"""Karmada's replicaRequirements and components: what one replica needs. Equal needs are shared."""

from functools import lru_cache

from atoll.dialects.kubernetes.pods import claim
from atoll.dialects.wire import Wire, Written, amount, at, count, part, parts, text
from atoll.errors import Invalid
from atoll.model.demand import Component, Demand, NodeClaim


def decode(wire: Wire, path: str, namespace: str = "") -> Demand:
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


def components(wire: Wire, path: str, namespace: str) -> tuple[Component, ...]:
    """The pod templates of a workload that has several."""
    return tuple(
        _component(each, here, namespace) for here, each in parts(wire, "components", path)
    )


def _component(wire: Wire, path: str, namespace: str) -> Component:
    needs = part(wire, "replicaRequirements", path)
    demand = None if needs is None else decode(needs, at(path, "replicaRequirements"), namespace)
    return Component(text(wire, "name", path), count(wire, "replicas", path), demand)
