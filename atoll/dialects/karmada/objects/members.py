"""Karmada's Cluster, read from the wire: how it is reached, and what the scheduler sees of it.

The latter is much, and is read when it is asked for.
"""

from functools import partial

from atoll.dialects.karmada import cluster as scheduled
from atoll.dialects.karmada.cluster_access import PULL, secret_named
from atoll.dialects.kubernetes import metadata
from atoll.dialects.wire import checked, part, parts, text
from atoll.errors import Invalid
from atoll.model.cluster import Cluster
from atoll.model.later import Later
from atoll.model.member import Member, MemberSpec
from atoll.wire import Object

READY = "Ready"


def decode(wire: Object, before: Member | None = None) -> Member:
    """The member cluster that this object registers."""
    spec, conditions, ready, problem = MemberSpec(), tuple[Object, ...](), None, None
    try:
        spec = _spec(wire, before)
        status = checked(wire.get("status") or {}, "status")
        conditions = tuple(each for _, each in parts(status, "conditions", "status"))
        ready = next((_status(each) for each in conditions if each.get("type") == READY), None)
    except Invalid as found:
        problem = found
    cluster = Later(partial(_cluster, wire))
    return Member(wire, metadata.decode(wire), spec, conditions, ready, cluster, problem)


def _spec(wire: Object, before: Member | None) -> MemberSpec:
    written = wire.get("spec")
    if before is not None and before.problem is None and before.wire.get("spec") == written:
        return before.spec
    spec = checked(written or {}, "spec")
    return MemberSpec(
        is_pulled=text(spec, "syncMode", "spec") == PULL,
        secret=secret_named(part(spec, "secretRef", "spec") or {}),
        impersonator=secret_named(part(spec, "impersonatorSecretRef", "spec") or {}),
        taints=tuple(each for _, each in parts(spec, "taints", "spec")),
        location=tuple(spec.get(each) for each in ("provider", "region", "zone", "zones")),
    )


def _status(condition: Object) -> str:
    return str(condition.get("status") or "")


def _cluster(wire: Object) -> Cluster | Invalid:
    try:
        return scheduled.decode(wire)
    except Invalid as problem:
        return problem
