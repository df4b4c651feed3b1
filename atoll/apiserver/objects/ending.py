"""How an object ends: what DELETE does to it, and when it is really gone.

An object with finalizers is only marked; whoever holds a finalizer takes it off when done, and the
write that takes off the last one removes the object.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.paths import at
from atoll.apiserver.objects.times import rfc3339
from atoll.apiserver.options import DeleteOptions
from atoll.apiserver.resource import Resource
from atoll.wire import Wire

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_GC_FINALIZERS = (ORPHAN, FOREGROUND)
_DEFAULT_GRACE_S = 30


@dataclass(frozen=True, slots=True)
class Ending:
    """What a deletion makes of an object: its next state, and whether that is the end of it."""

    state: Wire
    gone: bool


def is_ending(obj: Wire) -> bool:
    return bool(metadata(obj).get("deletionTimestamp"))


def is_held(obj: Wire, resource: Resource) -> bool:
    """Whether somebody still has to do something before this object may go."""
    if metadata(obj).get("finalizers"):
        return True
    held_by = resource.strategy.held_by
    return bool(held_by and at(obj, held_by))


def is_over(obj: Wire, resource: Resource) -> bool:
    """Whether this write is the one that removes an object being deleted."""
    waits = metadata(obj).get("deletionGracePeriodSeconds")
    return is_ending(obj) and not waits and not is_held(obj, resource)


def ending(obj: Wire, resource: Resource, options: DeleteOptions, now: datetime) -> Ending:
    """What deleting this object with these options leads to."""
    state = _with_finalizers(obj, resource, options)
    grace_s = _grace_s(obj, resource, options)
    if grace_s > 0:
        return Ending(_marked(state, resource, now, grace_s), gone=False)
    state = _begun(state, resource, now)
    if not is_held(state, resource):
        return Ending(state, gone=True)
    return Ending(_marked(state, resource, now, 0), gone=False)


def _begun(obj: Wire, resource: Resource, now: datetime) -> Wire:
    if is_ending(obj):
        return obj
    return resource.strategy.begin_delete(obj, rfc3339(now))


def _with_finalizers(obj: Wire, resource: Resource, options: DeleteOptions) -> Wire:
    meta = metadata(obj)
    present = meta.get("finalizers") or []
    chosen = _gc_finalizer(present, resource, options)
    wanted = [name for name in present if name not in _GC_FINALIZERS or name == chosen]
    if chosen and chosen not in wanted:
        wanted.append(chosen)
    if wanted == present:
        return obj
    changed = {key: value for key, value in meta.items() if key != "finalizers"}
    if wanted:
        changed["finalizers"] = wanted
    return {**obj, "metadata": changed}


def _gc_finalizer(present: list[str], resource: Resource, options: DeleteOptions) -> str | None:
    """Which finalizer the wanted propagation calls for; what is already there counts as wanted."""
    if not resource.strategy.has_dependents:
        return None
    match options.propagation:
        case "Orphan":
            return ORPHAN
        case "Foreground":
            return FOREGROUND
        case "Background":
            return None
    for name in _GC_FINALIZERS:
        if name in present:
            return name
    return ORPHAN if resource.strategy.orphans_by_default else None


def _grace_s(obj: Wire, resource: Resource, options: DeleteOptions) -> int:
    """How long the object may still take to end; only pods that run somewhere get any time."""
    if not resource.strategy.deletes_gracefully:
        return 0
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    grace_s = options.grace_period_s
    if grace_s is None:
        grace_s = spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_S)
    return max(0, int(grace_s))


def _marked(obj: Wire, resource: Resource, now: datetime, grace_s: int) -> Wire:
    meta = dict(metadata(obj))
    given_s = meta.get("deletionGracePeriodSeconds")
    if meta.get("deletionTimestamp") and (given_s is None or grace_s >= given_s):
        return obj  # a deletion can be brought forward, never put off
    if resource.strategy.tracks_generation and not meta.get("deletionTimestamp"):
        meta["generation"] = int(meta.get("generation") or 0) + 1
    meta["deletionTimestamp"] = rfc3339(now + timedelta(seconds=grace_s))
    meta["deletionGracePeriodSeconds"] = grace_s
    return {**obj, "metadata": meta}
