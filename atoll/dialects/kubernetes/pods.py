"""What one pod of a template needs: resources as Kubernetes' scheduler counts them, and nodes.

A pod spec comes in, a demand goes out. Limits fill missing requests; containers are added up;
init containers that keep running (sidecars) are added as well, the others are a maximum together
with the sidecars started before them; resources of the pod as a whole replace the sum; overhead
comes on top. Karmada counts alike but for sidecars, which it takes for plain init containers, and
for resources of the pod as a whole, which it overlooks.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from atoll.dialects.kubernetes.selectors import expressions, requirement
from atoll.dialects.kubernetes.tolerations import tolerations
from atoll.dialects.wire import EXACT, at, checked, part, parts, quantity, text, text_by_name
from atoll.errors import Invalid
from atoll.model.amount import CPU, EPHEMERAL_STORAGE, MEMORY, Amount
from atoll.model.demand import Demand, NodeClaim, NodeTerm
from atoll.model.selector import NEVER, Operator, Requirement
from atoll.wire import Object

HUGE_PAGES = "hugepages-"
Needs = dict[str, Decimal]


def demand(pod_spec: Mapping[str, Any], *, namespace: str = "") -> Demand:
    """What one pod of this spec needs of a node."""
    spec = checked(pod_spec, "spec")
    needs = _of_pod(spec)
    affinity = part(part(spec, "affinity", "spec") or {}, "nodeAffinity", "spec.affinity") or {}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return Demand(
        requests=tuple(
            (resource, Amount.of(value, binary=_is_binary(resource)))
            for resource, value in sorted(needs.items())
            if value
        ),
        claim=NodeClaim(
            selector=_node_selector(spec, "spec"),
            terms=_terms(affinity, required, "spec.affinity.nodeAffinity"),
            tolerations=tolerations(spec, "tolerations", "spec"),
        ),
        namespace=namespace,
        priority_class=text(spec, "priorityClassName", "spec"),
    )


def claim(wire: Mapping[str, Any], path: str = "nodeClaim") -> NodeClaim:
    """The nodes a replica can run on, as Karmada's bindings say it."""
    return NodeClaim(
        selector=_node_selector(wire, path),
        terms=_terms(wire, "hardNodeAffinity", path),
        tolerations=tolerations(wire, "tolerations", path),
    )


def _is_binary(resource: str) -> bool:
    """Bytes are counted in powers of two."""
    return resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES)


def _of_pod(spec: Object) -> Needs:
    total = _of_containers(spec)
    whole, path = part(spec, "resources", "spec"), "spec.resources"
    if whole is not None:
        total |= _of_whole(
            total, _amounts(whole, "requests", path), _amounts(whole, "limits", path)
        )
    return _sum(total, _amounts(spec, "overhead", "spec"))


def _of_containers(spec: Object) -> Needs:
    """Whichever is more: all that run together, or any one step of starting up."""
    running: Needs = {}
    for here, each in parts(spec, "containers", "spec"):
        running = _sum(running, _of_container(each, here))
    sidecars: Needs = {}
    starting: Needs = {}
    for here, each in parts(spec, "initContainers", "spec"):
        needs = _of_container(each, here)
        step = _sum(sidecars, needs)
        if text(each, "restartPolicy", here) == "Always":
            running, sidecars = _sum(running, needs), step
        starting = _most(starting, step)
    return _most(running, starting)


def _of_container(wire: Object, path: str) -> Needs:
    resources, here = part(wire, "resources", path) or {}, at(path, "resources")
    return _amounts(resources, "limits", here) | _amounts(resources, "requests", here)


def _of_whole(total: Needs, requests: Needs, limits: Needs) -> Needs:
    """What a pod asks for as a whole: CPU, memory and huge pages, or else up to its limits.

    A limit stands in for a request only where no container asks; huge pages always need theirs.
    """
    filled = {
        resource: limit
        for resource, limit in limits.items()
        if resource not in total or resource.startswith(HUGE_PAGES)
    }
    return {
        resource: value
        for resource, value in (filled | requests).items()
        if resource in (CPU, MEMORY) or resource.startswith(HUGE_PAGES)
    }


def _amounts(wire: Object, key: str, path: str) -> Needs:
    found: Needs = {}
    for resource, written in (part(wire, key, path) or {}).items():
        here = f"{at(path, key)}[{resource}]"
        found[resource], _ = quantity(written, here)
        if found[resource] < 0:
            raise Invalid(here, written, "must not be negative")
    return found


def _sum(one: Needs, other: Needs) -> Needs:
    added = {key: EXACT.add(one.get(key, Decimal()), value) for key, value in other.items()}
    return one | added


def _most(one: Needs, other: Needs) -> Needs:
    return one | {key: max(one.get(key, value), value) for key, value in other.items()}


def _node_selector(wire: Object, path: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(text_by_name(wire, "nodeSelector", path).items()))


def _terms(wire: Object, key: str, path: str) -> tuple[NodeTerm, ...] | None:
    """The terms of a required node affinity; an empty one matches no node and is left out."""
    required = part(wire, key, path)
    if required is None:
        return None
    found = (
        NodeTerm(
            labels=tuple(
                requirement(*of) or NEVER for of in expressions(each, "matchExpressions", here)
            ),
            fields=tuple(_on_field(*of) for of in expressions(each, "matchFields", here)),
        )
        for here, each in parts(required, "nodeSelectorTerms", at(path, key))
    )
    return tuple(term for term in found if term.labels or term.fields)


def _on_field(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """Of a node's fields only equality with one value can be asked."""
    known = {"In": Operator.IN, "NotIn": Operator.NOT_IN}
    valid = operator in known and len(values) == 1
    return Requirement(key, known[operator], values) if valid else NEVER
