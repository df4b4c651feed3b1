"""Karmada's Work, read from the wire; what did not change is taken over from the version before."""

from atoll.dialects.karmada import names
from atoll.dialects.karmada.references import work_bindings
from atoll.dialects.kubernetes import metadata
from atoll.dialects.wire import checked, elements, flag, part, parts
from atoll.errors import Invalid
from atoll.model.work import Work, WorkSpec, WorkStatus
from atoll.wire import Object


def decode(wire: Object, before: Work | None = None) -> Work:
    """The Work that this object is; `before` is the version that was known of it, if any."""
    spec, status, problem = WorkSpec(), WorkStatus(), None
    try:
        spec = _spec(wire, before)
        status = _status(wire, before)
    except Invalid as found:
        spec, status, problem = WorkSpec(), WorkStatus(), found
    meta = metadata.decode(wire)
    cluster = names.cluster_of(meta.namespace) or ""
    return Work(wire, meta, cluster, tuple(work_bindings(wire)), spec, status, problem)


def _spec(wire: Object, before: Work | None) -> WorkSpec:
    written = wire.get("spec")
    if before is not None and before.problem is None and before.wire.get("spec") == written:
        return before.spec
    spec = checked(written or {}, "spec")
    workload = part(spec, "workload", "spec") or {}
    return WorkSpec(
        manifests=tuple(elements(workload, "manifests", "spec.workload")),
        is_suspended=flag(spec, "suspendDispatching", "spec", default=False),
        preserves=flag(spec, "preserveResourcesOnDeletion", "spec", default=False),
    )


def _status(wire: Object, before: Work | None) -> WorkStatus:
    written = wire.get("status")
    if before is not None and before.problem is None and before.wire.get("status") == written:
        return before.status
    status = checked(written or {}, "status")
    return WorkStatus(
        conditions=tuple(each for _, each in parts(status, "conditions", "status")),
        manifests=tuple(each for _, each in parts(status, "manifestStatuses", "status")),
    )
