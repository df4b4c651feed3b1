"""Karmada's bindings: a workload to be placed, another one beside it, and work just assumed.

Spec and status of a ResourceBinding (or a ClusterResourceBinding: they are alike) come in.
"""

from collections.abc import Mapping
from typing import Any

from atoll.dialects.karmada import demand, placement
from atoll.dialects.wire import INT32, at, checked, count, instant, name, number, part, parts, text
from atoll.model.binding import Binding, Resource, Target
from atoll.model.neighbour import Neighbour
from atoll.model.selector import as_integer
from atoll.wire import Object

SPEC, STATUS = "spec", "status"
REQUIREMENTS = "replicaRequirements"


def decode(spec: Mapping[str, Any], status: Mapping[str, Any] | None) -> Binding:
    """The workload a binding stands for, what is wanted of it, and where it is now."""
    seen = {} if status is None else checked(status, STATUS)
    resource = _resource(part(checked(spec, SPEC), "resource", SPEC) or {})
    needs = part(spec, REQUIREMENTS, SPEC)
    affinity_group, anti_affinity_group = _groups(spec)
    namespace = resource.namespace
    return Binding(
        resource=resource,
        intent=placement.decode(spec.get("placement"), spec.get("atoll")),
        replicas=count(spec, "replicas", SPEC),
        demand=None if needs is None else demand.decode(needs, at(SPEC, REQUIREMENTS), namespace),
        components=demand.components(spec, SPEC, namespace),
        targets=targets(spec, SPEC),
        evicting=tuple(
            name(each, "fromCluster", here)
            for here, each in parts(spec, "gracefulEvictionTasks", SPEC)
        ),
        observed_term=text(seen, "schedulerObservingAffinityName", STATUS),
        fresh=_is_fresh(spec, seen),
        priority=priority(spec),
        affinity_group=affinity_group,
        anti_affinity_group=anti_affinity_group,
    )


def neighbour(wire: Mapping[str, Any]) -> Neighbour:
    """Another binding, as far as workload affinity looks at it."""
    metadata = part(checked(wire, "binding"), "metadata", "") or {}
    spec = part(wire, "spec", "") or {}
    affinity_group, anti_affinity_group = _groups(spec)
    return Neighbour(
        namespace=text(metadata, "namespace", "metadata"),
        name=name(metadata, "name", "metadata"),
        version=as_integer(text(metadata, "resourceVersion", "metadata")) or 0,
        affinity_group=affinity_group,
        anti_affinity_group=anti_affinity_group,
        targets=frozenset(target.name for target in targets(spec, SPEC)),
    )


def _resource(wire: Object) -> Resource:
    path = "spec.resource"
    return Resource(
        api=(text(wire, "apiVersion", path), text(wire, "kind", path)),
        namespace=text(wire, "namespace", path),
        name=text(wire, "name", path),
        uid=text(wire, "uid", path),
    )


def targets(wire: Object, path: str) -> tuple[Target, ...]:
    """The clusters that a binding, or whoever needs it, lists."""
    return tuple(
        Target(name(each, "name", here), count(each, "replicas", here))
        for here, each in parts(wire, "clusters", path)
    )


def _is_fresh(spec: Object, status: Object) -> bool:
    """Was rescheduling asked for after the last decision? Before the first, there is no need."""
    asked = instant(spec, "rescheduleTriggeredAt", SPEC)
    last = instant(status, "lastScheduledTime", STATUS)
    return asked is not None and last is not None and asked > last


def priority(spec: Object) -> int:
    """How early it is placed, and whom it may push out."""
    given = part(spec, "schedulePriority", SPEC) or {}
    return number(given, "priority", "spec.schedulePriority", least=-INT32 - 1) or 0


def _groups(spec: Object) -> tuple[str, str]:
    given, path = part(spec, "workloadAffinityGroups", SPEC) or {}, "spec.workloadAffinityGroups"
    return text(given, "affinityGroup", path), text(given, "antiAffinityGroup", path)
