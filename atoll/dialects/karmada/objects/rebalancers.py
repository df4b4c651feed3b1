"""Karmada's WorkloadRebalancer, read from the wire, and what came of it as it is written there."""

from collections.abc import Iterable

from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.kubernetes import metadata
from atoll.dialects.kubernetes.metadata import named_ref
from atoll.dialects.wire import checked, number, part, parts, text
from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.workload_rebalancer import Observed, WorkloadRebalancer
from atoll.wire import Object


def decode(wire: Object, before: WorkloadRebalancer | None = None) -> WorkloadRebalancer:
    """The rebalancer that this object is."""
    meta = metadata.decode(wire)
    try:
        spec = checked(wire.get("spec") or {}, "spec")
        status = checked(wire.get("status") or {}, "status")
        listed = (named_ref(each, here) for here, each in parts(spec, "workloads", "spec"))
        return WorkloadRebalancer(
            wire=wire,
            meta=meta,
            workloads=tuple(dict.fromkeys(listed)),
            kept_s=number(spec, "ttlSecondsAfterFinished", "spec"),
            observed=tuple(
                _observed(each, here) for here, each in parts(status, "observedWorkloads", "status")
            ),
            finished=metadata.moment(status, "finishTime", "status"),
        )
    except Invalid as problem:
        return WorkloadRebalancer(wire, meta, problem=problem)


def observed(answers: Iterable[Observed], status: Object) -> list[Object]:
    """Answers as they are listed; what else is listed of a workload stays."""
    listed = status.get("observedWorkloads") or ()
    known = {named_ref(each["workload"], ""): each for each in listed}
    return [
        patched(known.get(each.workload, {}), {"workload": _named(each.workload), **_said(each)})
        for each in answers
    ]


def _said(answer: Observed) -> Object:
    return {"result": answer.result or None, "reason": answer.reason or None}


def _named(workload: Ref) -> Object:
    return {
        "apiVersion": workload.api_version,
        "kind": workload.kind,
        "namespace": workload.namespace or None,
        "name": workload.name,
    }


def _observed(wire: Object, path: str) -> Observed:
    workload = named_ref(part(wire, "workload", path) or {}, path)
    return Observed(workload, text(wire, "result", path), text(wire, "reason", path))
