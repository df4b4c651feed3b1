"""Karmada's ResourceBinding and ClusterResourceBinding, read from the wire.

What did not change since the version before is taken over from there. What cannot be read is
carried as the binding's problem; what the scheduler looks at is read when it is asked for, and
has a problem of its own.
"""

from functools import partial

from atoll.dialects.karmada.binding import priority, targets
from atoll.dialects.karmada.standing import standing
from atoll.dialects.kubernetes import metadata
from atoll.dialects.kubernetes.metadata import moment, named_ref
from atoll.dialects.wire import (
    INT32,
    INT64,
    checked,
    count,
    flag,
    instant,
    name,
    number,
    part,
    parts,
    text,
    texts,
)
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.later import Later
from atoll.model.resource_binding import (
    BindingSpec,
    BindingStatus,
    Eviction,
    ResourceBinding,
    Snapshot,
)
from atoll.model.standing import Standing
from atoll.wire import Object

STATEFUL_SET = "StatefulSet"
SUSPENSION = "spec.suspension"
_UNREAD_SPEC = BindingSpec(Ref("", "", "", ""), "")
_UNREAD_STATUS = BindingStatus()


def decode(wire: Object, before: ResourceBinding | None = None) -> ResourceBinding:
    """The binding that this object is; `before` is the version that was known of it, if any."""
    spec, status, problem = _UNREAD_SPEC, _UNREAD_STATUS, None
    try:
        spec = _spec(wire, before)
        status = _status(wire, before)
    except Invalid as found:
        spec, status, problem = _UNREAD_SPEC, _UNREAD_STATUS, found
    where = Later(partial(_standing, wire))
    return ResourceBinding(wire, metadata.decode(wire), spec, status, where, problem)


def _standing(wire: Object) -> Standing | Invalid:
    try:
        return standing(wire)
    except Invalid as problem:
        return problem


def _spec(wire: Object, before: ResourceBinding | None) -> BindingSpec:
    written = wire.get("spec")
    if before is not None and before.problem is None and before.wire.get("spec") == written:
        return before.spec
    spec = checked(written or {}, "spec")
    resource = part(spec, "resource", "spec") or {}
    template = named_ref(resource, "spec.resource")
    extra = part(spec, "atoll", "spec") or {}
    suspension = part(spec, "suspension", "spec") or {}
    failover = part(spec, "failover", "spec") or {}
    components = spec.get("components")
    counted = spec.get("replicas") is not None or spec.get("replicaRequirements") is not None
    return BindingSpec(
        template=template,
        template_uid=text(resource, "uid", "spec.resource"),
        clusters=targets(spec, "spec"),
        required_by=tuple(
            Snapshot(text(each, "namespace", here), text(each, "name", here), targets(each, here))
            for here, each in parts(spec, "requiredBy", "spec")
        ),
        evictions=tuple(
            eviction(each, here) for here, each in parts(spec, "gracefulEvictionTasks", "spec")
        ),
        replicas=number(spec, "replicas", "spec"),
        # No replicas are a decision too: the template may have some by now that nobody placed.
        is_workload=counted or bool(components),
        is_divided=_is_divided(spec),
        is_split=extra.get("ordinals") is not None and template.kind == STATEFUL_SET,
        has_policy=spec.get("placement") is not None,
        groups=_groups(spec),
        propagates_dependencies=flag(spec, "propagateDeps", "spec", default=False),
        overwrites=text(spec, "conflictResolution", "spec") == "Overwrite",
        preserves=flag(spec, "preserveResourcesOnDeletion", "spec", default=False),
        is_suspended=flag(suspension, "dispatching", SUSPENSION, default=False),
        suspended_in=_suspended_in(suspension),
        purge_mode=text(part(failover, "cluster", "spec.failover") or {}, "purgeMode", "spec"),
        priority=priority(spec),
        rescheduled=instant(spec, "rescheduleTriggeredAt", "spec"),
    )


def eviction(wire: Object, path: str = "") -> Eviction:
    """A task of an eviction, as it is listed in a binding."""
    suppressed = wire.get("suppressDeletion")
    grace = number(wire, "gracePeriodSeconds", path, least=-INT32 - 1)
    return Eviction(
        cluster=name(wire, "fromCluster", path),
        purge_mode=text(wire, "purgeMode", path),
        replicas=count(wire, "replicas", path),
        producer=text(wire, "producer", path),
        suppressed=None if suppressed is None else bool(suppressed),
        grace_s=None if grace is None else float(grace),
        created=moment(wire, "creationTimestamp", path),
        wire=wire,
    )


def _is_divided(spec: Object) -> bool:
    """Without any wish for division all get the same; with one, to divide is its default."""
    placement = part(spec, "placement", "spec") or {}
    wanted = part(placement, "replicaScheduling", "spec.placement")
    return wanted is not None and wanted.get("replicaSchedulingType") != "Duplicated"


def _groups(spec: Object) -> tuple[str, ...]:
    """The names of its groups; that one is no text is for the scheduler to say."""
    written = spec.get("workloadAffinityGroups")
    return (
        tuple(str(each) for each in written.values() if each) if isinstance(written, dict) else ()
    )


def _suspended_in(suspension: Object) -> tuple[str, ...]:
    chosen = part(suspension, "dispatchingOnClusters", SUSPENSION) or {}
    return texts(chosen, "clusterNames", f"{SUSPENSION}.dispatchingOnClusters")


def _status(wire: Object, before: ResourceBinding | None) -> BindingStatus:
    written = wire.get("status")
    if before is not None and before.problem is None and before.wire.get("status") == written:
        return before.status
    status = checked(written or {}, "status")
    return BindingStatus(
        conditions=tuple(each for _, each in parts(status, "conditions", "status")),
        aggregated=tuple(each for _, each in parts(status, "aggregatedStatus", "status")),
        observed_generation=number(status, "schedulerObservedGeneration", "status", most=INT64),
        last_scheduled=moment(status, "lastScheduledTime", "status"),
    )
