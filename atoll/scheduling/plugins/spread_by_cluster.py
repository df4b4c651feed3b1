"""SpreadByCluster: the best few clusters that together have room, as Karmada picks them."""

from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.model.intent import Constrained, Constraint, Field
from atoll.scheduling.candidates import Candidates, Refusal
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Choose
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class SpreadByCluster:
    """Applies to a constraint by cluster without one by region."""

    name: str = "SpreadByCluster"

    def compile(self, question: Question) -> Choose | None:
        if not isinstance(question.intent.selection, Constrained):
            return None
        by_field = {each.field: each for each in question.intent.spread}
        if Field.REGION in by_field:
            return None
        if Field.CLUSTER not in by_field:
            return _unsupported
        constraint, needed = by_field[Field.CLUSTER], question.needed
        return lambda candidates, fleet: _choose(candidates.in_order(), constraint, needed)


def _unsupported(candidates: Candidates, fleet: Fleet) -> Refusal:
    message = "just support cluster and region spread constraint"
    return Refusal(Verdict.SCHEDULER_ERROR, message)


def _choose(
    candidates: Candidates, constraint: Constraint, needed: int | None
) -> Candidates | Refusal:
    if len(candidates) < constraint.least:
        message = "the number of feasible clusters is less than spreadConstraint.MinGroups"
        return Refusal(Verdict.SCHEDULER_ERROR, message)
    count = min(len(candidates), constraint.most)
    if needed is None:
        return candidates.at(np.arange(count))
    positions = _with_room(candidates.available, count, needed)
    if positions is None:
        message = f"no enough resource when selecting {count} clusters"
        return Refusal(Verdict.SCHEDULER_ERROR, message)
    return candidates.at(positions)


def _with_room(available: Numbers, count: int, needed: int) -> Numbers | None:
    """The first `count` positions; while they lack room, the last of them make way, one by one,
    for the roomiest that was left out."""
    positions = np.arange(len(available))
    chosen, rest = positions[:count].copy(), positions[count:].copy()
    room = int(available[chosen].sum())
    for place in range(count - 1, -1, -1):
        if room >= needed or not len(rest):
            break
        best = int(np.argmax(available[rest]))
        gain = int(available[rest[best]] - available[chosen[place]])
        if gain > 0:
            chosen[place], rest[best] = rest[best], chosen[place]
            room += gain
    # Without any cluster there is nothing to have room in, even for nothing.
    return chosen if count and room >= needed else None
