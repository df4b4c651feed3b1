"""A StatefulSet divided by ordinals: what each cluster may be told to run now.

A binding, its Works and the clusters there are come in; the range each cluster is told next goes
out. Here withdrawing comes before sending: an ordinal is told to a cluster once every other one has
shown that it is gone. A Work remembers what may have run before it was told its range; a cluster
shows by the counts in its status that it runs that range and no more. For counts to say so, a range
grows or shrinks in one step, never both; volumes do not travel, and how data do is not known here.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from atoll.dialects import json
from atoll.dialects.karmada import names
from atoll.errors import Invalid
from atoll.model.action import Object
from atoll.planning import conditions
from atoll.scheduling.ordinals import Range, next_steps

STATEFUL_SET = "StatefulSet"
NOTED = "placement.atoll.io/ordinals"
"""On a binding: which ordinals were decided to run where."""
TOLD = "placement.atoll.io/ordinals-told"
"""On a Work: how often its range changed, what may have run before the last change, and whether
ordinals may be missing elsewhere than at the top."""
STEP = "placement.atoll.io/ordinals-step"
"""On a member's object: the change that it was written for.

Every change is a write of its own to the member, so that one that was lost on the way and arrives
late is refused.
"""


@dataclass(frozen=True, slots=True)
class Telling:
    """A range for a cluster, as its Work carries it."""

    ordinals: Range
    before: Range
    step: int
    gaps: bool = False

    @property
    def note(self) -> str:
        gaps = {"gaps": True} if self.gaps else {}
        return json.written({"step": self.step, "before": _written(self.before), **gaps})


@dataclass(frozen=True, slots=True)
class Split:
    """What is told to which cluster now, what has to wait, and the Works that have nothing left."""

    told: Mapping[str, Range]
    held: tuple[str, ...] = ()
    ended: tuple[Object, ...] = ()


def is_split(binding: Object) -> bool:
    """Whether a binding's policy wants every ordinal to exist once among all clusters."""
    spec = binding.get("spec") or {}
    wanted = (spec.get("atoll") or {}).get("ordinals") is not None
    return wanted and (spec.get("resource") or {}).get("kind") == STATEFUL_SET


def noted(binding: Object) -> tuple[Range, ...] | None:
    """The ordinals decided for each cluster, from the lowest up; None where none can be read."""
    written = json.read(_annotation(binding, NOTED))
    if not isinstance(written, dict):
        return None
    found = [_read(cluster, each) for cluster, each in written.items()]
    ranges = sorted((each for each in found if each), key=lambda each: (each.start, each.cluster))
    some = [each for each in ranges if each.count]
    overlap = any(upper.start < lower.end for lower, upper in pairwise(some))
    return None if overlap or len(ranges) < len(found) else tuple(ranges)


def note(ranges: Iterable[Range]) -> str:
    """The annotation's value for these ranges."""
    return json.written({each.cluster: _written(each) for each in ranges})


def range_of(manifest: Object, cluster: str) -> Range:
    """The ordinals that a StatefulSet asks its cluster to run."""
    spec = manifest.get("spec") or {}
    start, count = (spec.get("ordinals") or {}).get("start") or 0, spec.get("replicas")
    return _normal(Range(cluster, start, 1 if count is None else count))


def may_run(work: Object) -> Range:
    """All that a Work's cluster may be running, as far as is known here."""
    told = _told(work)
    if _has_settled(work, told):
        return told
    before = _noted_before(work)
    if before is None:
        # Sent before its ordinals were divided: it counted from zero, up to we do not know what.
        before = Range(told.cluster, 0, max(told.end, _status(work).get("replicas") or 0))
    return _hull(before, told)


def is_told(work: Object) -> bool:
    """Whether a Work is part of a StatefulSet divided by ordinals."""
    return bool(_annotation(work, TOLD))


def telling(work: Object | None, ordinals: Range) -> Telling:
    """How a cluster with this Work is told a range; the same again is told the same way."""
    if work is None:
        return Telling(ordinals, _none(ordinals.cluster), 1)
    before, told, step = _noted_before(work), _told(work), _note(work).get("step")
    step = step if isinstance(step, int) else 0
    if before is not None and told == ordinals:
        return Telling(ordinals, before, step, _has_gaps(work))
    may = may_run(work)
    changing = not _has_settled(work, told) and (_has_gaps(work) or told != may)
    gaps = changing or (may.count > 0 and may.start != ordinals.start)
    return Telling(ordinals, may, step + 1, gaps)


def split(
    binding: Object,
    targets: Collection[str],
    works: Iterable[Object],
    clusters: Collection[str],
    *,
    start: int = 0,
) -> Split | None:
    """The next steps; None until it is decided which ordinals run where, counted from the start.

    Whoever removes a cluster says that it runs nothing that counts: once its Work is gone, so are
    its ordinals.
    """
    decided = noted(binding)
    if decided is None and targets:
        return None
    standing = {names.cluster_of(work["metadata"]["namespace"]) or "": work for work in works}
    moved = (replace(each, start=start + each.start) for each in decided or ())
    wanted = {each.cluster: _normal(each) for each in moved}
    goals = {name: wanted.get(name, _none(name)) for name in targets}
    may = {name: may_run(work) for name, work in standing.items()}
    lost = standing.keys() - frozenset(clusters)
    steps = next_steps(tuple(goals.values()), tuple(may.values()))
    now = {each.cluster: _normal(each) for each in steps.now}
    told: dict[str, Range] = {}
    held = [f"{each.ordinals.cluster}: {each.ordinals} ({each.reason})" for each in steps.held]
    for name in sorted((goals.keys() | standing.keys()) - lost):
        have, work = may.get(name, _none(name)), standing.get(name)
        step = _one_way(now.get(name, have), have, work)
        taken = () if work is None else _taken(step, _told(work), may.values())
        if work is not None and taken:
            # What it may run was given to another once it had shown that it does not: it has to
            # show that again, as a pod was lost or the Work was changed since.
            step = _one_way(_normal(_common(step, _told(work))), have, work)
            held += [f"{name}: {each} ({each.cluster} may still run {each})" for each in taken]
        if work is not None or step.count or not goals[name].count:
            told[name] = step
    leaving = standing.keys() - goals.keys()
    ended = [name for name in sorted(leaving) if name in lost or not may[name].count]
    told = {name: each for name, each in told.items() if name not in ended}
    return Split(told, tuple(held), tuple(standing[name] for name in ended))


def _taken(step: Range, told: Range, may: Iterable[Range]) -> tuple[Range, ...]:
    """What others may run of that which a step adds to what its cluster was told last."""
    others = [each for each in may if each.cluster != step.cluster]
    shared = [_common(each, step) for each in others]
    return tuple(each for each in shared if each.count and not _is_within(each, told))


def _one_way(step: Range, have: Range, work: Object | None) -> Range:
    """The step, or the part of it that only grows or only shrinks what may run."""
    if work is None or not have.count or _is_within(have, step):
        return step
    kept = _normal(_common(step, have))
    told = _told(work)
    if told == kept or _has_settled(work, told):
        return kept
    # Ordinals are made from the lowest up. As long as some of those that stay may be missing, a
    # count does not tell that those to be given up are gone, unless it is none.
    missing = kept.start > have.start or _has_gaps(work)
    return _none(have.cluster) if missing else kept


def _has_settled(work: Object, told: Range) -> bool:
    """Whether the cluster has shown that it runs exactly what it was told last."""
    metadata, status = work["metadata"], work.get("status") or {}
    applied = conditions.find(status.get("conditions") or (), "Applied")
    if applied is None or applied.get("status") != "True":
        return False
    if applied.get("observedGeneration") != metadata.get("generation"):
        return False
    counts = _status(work)
    generation = counts.get("generation")
    return (
        generation is not None
        and counts.get("observedGeneration") == generation
        # Pods that are still ending are among the replicas, but not among those up to date.
        and all((counts.get(each) or 0) == told.count for each in ("replicas", "updatedReplicas"))
    )


def _status(work: Object) -> Mapping[str, Any]:
    """What is reported of the StatefulSet in a Work's cluster."""
    entries = (work.get("status") or {}).get("manifestStatuses") or ()
    found = entries[0].get("status") if entries else None
    return found if isinstance(found, Mapping) else {}


def _told(work: Object) -> Range:
    workload: Mapping[str, Any] = (work.get("spec") or {}).get("workload") or {}
    manifest: Object = next(iter(workload.get("manifests") or ()), {})
    return range_of(manifest, names.cluster_of(work["metadata"]["namespace"]) or "")


def _note(work: Object) -> Mapping[str, Any]:
    found = json.read(_annotation(work, TOLD))
    return found if isinstance(found, dict) else {}


def _noted_before(work: Object) -> Range | None:
    return _read(names.cluster_of(work["metadata"]["namespace"]) or "", _note(work).get("before"))


def _has_gaps(work: Object) -> bool:
    return bool(_note(work).get("gaps"))


def _annotation(wire: Object, key: str) -> str:
    found: str = ((wire.get("metadata") or {}).get("annotations") or {}).get(key, "")
    return found


def _written(ordinals: Range) -> Mapping[str, int]:
    return {"start": ordinals.start, "replicas": ordinals.count}


def _read(cluster: str, written: Any) -> Range | None:
    try:
        return Range(cluster, int(written["start"]), int(written["replicas"]))
    except (TypeError, KeyError, ValueError, Invalid):
        return None


def _none(cluster: str) -> Range:
    return Range(cluster, 0, 0)


def _normal(ordinals: Range) -> Range:
    """No ordinals are no ordinals, wherever they would start."""
    return ordinals if ordinals.count else _none(ordinals.cluster)


def _is_within(one: Range, other: Range) -> bool:
    return other.start <= one.start and one.end <= other.end


def _common(one: Range, other: Range) -> Range:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Range(one.cluster, start, max(0, end - start))


def _hull(one: Range, other: Range) -> Range:
    if not one.count or not other.count:
        return one if one.count else other
    start, end = min(one.start, other.start), max(one.end, other.end)
    return Range(one.cluster, start, end - start)
