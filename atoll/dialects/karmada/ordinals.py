"""A StatefulSet divided by ordinals: what is noted of it on its binding, its Works, in members.

Objects come in; ranges and notes go out. A Work remembers what may have run before it was told its
range; a cluster shows by the counts in its status that it runs that range and no more. For counts
to say so, a range grows or shrinks in one step, never both; volumes do not travel, and how data do
is not known here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from atoll.dialects import json
from atoll.dialects.kubernetes import conditions
from atoll.errors import Invalid
from atoll.model.ordinals import Range
from atoll.model.work import Work
from atoll.wire import Object

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


def is_split(binding: Object) -> bool:
    """Whether a binding's policy wants every ordinal to exist once among all clusters."""
    spec = binding.get("spec") or {}
    wanted = (spec.get("atoll") or {}).get("ordinals") is not None
    return wanted and (spec.get("resource") or {}).get("kind") == STATEFUL_SET


def noted(annotations: Mapping[str, str]) -> tuple[Range, ...] | None:
    """The ordinals that a binding says were decided for each cluster, from the lowest up.

    None where none can be read.
    """
    written = json.read(annotations.get(NOTED, ""))
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
    return normal(Range(cluster, start, 1 if count is None else count))


def may_run(work: Work) -> Range:
    """All that a Work's cluster may be running, as far as is known here."""
    told = told_range(work)
    if has_settled(work, told):
        return told
    before = _noted_before(work)
    if before is None:
        # Sent before its ordinals were divided: it counted from zero, up to we do not know what.
        before = Range(told.cluster, 0, max(told.end, _reported(work).get("replicas") or 0))
    return _hull(before, told)


def is_told(work: Work) -> bool:
    """Whether a Work is part of a StatefulSet divided by ordinals."""
    return bool(work.meta.annotations.get(TOLD))


def telling(work: Work | None, ordinals: Range) -> Telling:
    """How a cluster with this Work is told a range; the same again is told the same way."""
    if work is None:
        return Telling(ordinals, no_ordinals(ordinals.cluster), 1)
    before, told, step = _noted_before(work), told_range(work), _note(work).get("step")
    step = step if isinstance(step, int) else 0
    if before is not None and told == ordinals:
        return Telling(ordinals, before, step, has_gaps(work))
    may = may_run(work)
    changing = not has_settled(work, told) and (has_gaps(work) or told != may)
    gaps = changing or (may.count > 0 and may.start != ordinals.start)
    return Telling(ordinals, may, step + 1, gaps)


def has_settled(work: Work, told: Range) -> bool:
    """Whether the cluster has shown that it runs exactly what it was told last."""
    applied = conditions.find(work.status.conditions, "Applied") or {}
    if applied.get("status") != "True":
        return False
    if applied.get("observedGeneration") != work.meta.generation:
        return False
    counts = _reported(work)
    generation = counts.get("generation")
    return (
        generation is not None
        and counts.get("observedGeneration") == generation
        # Pods that are still ending are among the replicas, but not among those up to date.
        and all((counts.get(each) or 0) == told.count for each in ("replicas", "updatedReplicas"))
    )


def _reported(work: Work) -> Mapping[str, Any]:
    """What is reported of the StatefulSet in a Work's cluster."""
    found = next((each.get("status") for each in work.status.manifests), None)
    return found if isinstance(found, Mapping) else {}


def told_range(work: Work) -> Range:
    return range_of(next(iter(work.spec.manifests), {}), work.cluster)


def _note(work: Work) -> Mapping[str, Any]:
    found = json.read(work.meta.annotations.get(TOLD, ""))
    return found if isinstance(found, dict) else {}


def _noted_before(work: Work) -> Range | None:
    return _read(work.cluster, _note(work).get("before"))


def has_gaps(work: Work) -> bool:
    return bool(_note(work).get("gaps"))


def _written(ordinals: Range) -> Mapping[str, int]:
    return {"start": ordinals.start, "replicas": ordinals.count}


def _read(cluster: str, written: Any) -> Range | None:
    try:
        return Range(cluster, int(written["start"]), int(written["replicas"]))
    except (TypeError, KeyError, ValueError, Invalid):
        return None


def no_ordinals(cluster: str) -> Range:
    return Range(cluster, 0, 0)


def normal(ordinals: Range) -> Range:
    """No ordinals are no ordinals, wherever they would start."""
    return ordinals if ordinals.count else no_ordinals(ordinals.cluster)


def is_within(one: Range, other: Range) -> bool:
    return other.start <= one.start and one.end <= other.end


def common(one: Range, other: Range) -> Range:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return Range(one.cluster, start, max(0, end - start))


def _hull(one: Range, other: Range) -> Range:
    if not one.count or not other.count:
        return one if one.count else other
    start, end = min(one.start, other.start), max(one.end, other.end)
    return Range(one.cluster, start, end - start)
