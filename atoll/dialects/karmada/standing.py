"""Where a binding stands: what its spec, annotations and status say, decoded.

A binding comes in as on the wire; the workload, the placement its last decision was made for, and
that decision's mark come out. The mark is an annotation written together with the targets, so that
a status that was never written can be made up for without deciding again. Nothing here decides.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from atoll.dialects import json
from atoll.dialects.karmada import binding as dialect
from atoll.dialects.karmada import names, placement
from atoll.dialects.karmada.ordinals import noted
from atoll.dialects.wire import INT64, flag, instant, number, part, text, text_by_name
from atoll.errors import Invalid
from atoll.model.intent import Intent
from atoll.model.resource_binding import ResourceBinding
from atoll.model.standing import Standing
from atoll.wire import Object

DEFAULT_SCHEDULER = "default-scheduler"
MARK = "placement.atoll.io/decision"
ONLY_DECIDED = "placement.atoll.io/only-decided"
"""On a binding of which nothing is sent: where it goes is all that somebody wants to know."""
ADDITIONS, HEALTHY = "atoll", "Healthy"
LAST, OBSERVED_TERM = "lastScheduledTime", "schedulerObservingAffinityName"
OBSERVED_GENERATION = "schedulerObservedGeneration"
_SERVED_EVERYWHERE = ("v1", "Namespace")
_CLAIMS = (names.POLICY_ID, names.CLUSTER_POLICY_ID, names.BINDING_MANAGED_BY)


def to_schedule(binding: ResourceBinding) -> Standing | Invalid | None:
    """Where a binding stands that is ours to schedule now; None if it is not."""
    try:
        return binding.standing() if _is_ours(binding.wire) else None
    except Invalid as problem:
        return problem


def _is_ours(wire: Object) -> bool:
    metadata, spec = part(wire, "metadata", "") or {}, part(wire, "spec", "") or {}
    labels = text_by_name(metadata, "labels", "metadata")
    suspension = part(spec, "suspension", "spec") or {}
    return (
        not metadata.get("deletionTimestamp")
        and any(labels.get(claim) for claim in _CLAIMS)
        and (text(spec, "schedulerName", "spec") or DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER
        and not flag(suspension, "scheduling", "spec.suspension", default=False)
    )


def standing(wire: Object) -> Standing:
    """Decode a binding; what cannot be read is an Invalid that names the field."""
    metadata, spec = part(wire, "metadata", "") or {}, part(wire, "spec", "") or {}
    status = part(wire, "status", "") or {}
    wanted = part(spec, "placement", "spec")
    if wanted is None:
        raise Invalid("spec.placement", None, "must be given: without it, nobody knows where to")
    annotations = text_by_name(metadata, "annotations", "metadata")
    term, last = _decided(annotations, status)
    binding = dialect.decode(spec, {**status, OBSERVED_TERM: term, LAST: last or None})
    if ONLY_DECIDED in annotations:
        binding = replace(binding, resource=replace(binding.resource, api=_SERVED_EVERYWHERE))
    written = annotations.get(names.APPLIED_PLACEMENT, "")
    return Standing(
        wire=wire,
        binding=binding,
        placement={**wanted, ADDITIONS: spec[ADDITIONS]} if spec.get(ADDITIONS) else wanted,
        applied=json.read(written),
        applied_intent=_intent(written, binding.intent) if written else None,
        generation=number(metadata, "generation", "metadata", most=INT64) or 0,
        term=term,
        last=last,
        ordinals=noted(annotations),
    )


def is_told(wire: Object) -> bool:
    """Whether the status is of the last decision, and of the binding as it is now."""
    metadata, status = wire.get("metadata"), wire.get("status")
    if not isinstance(metadata, Mapping) or not isinstance(status, Mapping):
        return False
    marked = json.read((metadata.get("annotations") or {}).get(MARK, ""))
    last, generation = status.get(LAST), status.get(OBSERVED_GENERATION)
    is_last = isinstance(marked, dict) and marked.get("at") == last
    return is_last and generation is not None and generation == metadata.get("generation")


def healthy_in(wire: Object) -> frozenset[str]:
    """The clusters in which a binding's work runs healthily, as far as its status tells."""
    status = wire.get("status")
    items = status.get("aggregatedStatus") if isinstance(status, Mapping) else None
    found = (each for each in items or () if isinstance(each, Mapping))
    return frozenset(
        str(each.get("clusterName")) for each in found if each.get("health") == HEALTHY
    )


def mark(at: str, term: str) -> str:
    """The annotation's value for a decision of this moment, for this term."""
    return json.written({"at": at, "term": term})


def _decided(annotations: Mapping[str, str], status: Mapping[str, Any]) -> tuple[str, str]:
    """The term and time of the last decision: the mark's, unless the status is of a later one."""
    term, last = text(status, OBSERVED_TERM, "status"), text(status, LAST, "status")
    marked = json.read(annotations.get(MARK, ""))
    if not isinstance(marked, dict):
        return term, last
    try:
        found = instant(marked, "at", MARK)
        if found is not None and found >= (instant(status, LAST, "status") or 0):
            return text(marked, "term", MARK), str(marked["at"])
    except Invalid:
        return term, last  # someone wrote into our mark; the status stands
    return term, last


def _intent(written: str, wanted: Intent) -> Intent:
    """What an annotation says was applied; one that cannot be read counts as unchanged."""
    found = json.read(written)
    if not isinstance(found, dict):
        return wanted
    rest = {key: value for key, value in found.items() if key != ADDITIONS}
    try:
        return placement.decode(rest, found.get(ADDITIONS))
    except Invalid:
        return wanted
