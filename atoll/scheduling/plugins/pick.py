"""Pick: Atoll's own selection. So many clusters, in an order, spread over groups, by quotas."""

from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.model.intent import Pick as Wanted
from atoll.scheduling.candidates import Candidates, Refusal
from atoll.scheduling.columns import rows_mask
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.grouping.ground import Ground, can_be_taken, group_codes
from atoll.scheduling.grouping.picking import picked
from atoll.scheduling.grouping.search import TooManyWays
from atoll.scheduling.grouping.telling import considered, not_enough, with_taken
from atoll.scheduling.limits import Limits
from atoll.scheduling.matching import matching
from atoll.scheduling.orders import Ranking, ranked
from atoll.scheduling.plugin import Choose
from atoll.scheduling.question import Question

_CROSSING = (
    "the groups and quotas asked for cross in more ways than can be looked at; "
    "ask for fewer, or for groups that lie within each other, as zones do in regions."
)


@dataclass(frozen=True, slots=True)
class Pick:
    """Refuses only where the rules cannot be held; whether there is room is the division's say."""

    name: str = "Pick"

    def compile(self, question: Question) -> Choose | None:
        pick = question.intent.selection
        if not isinstance(pick, Wanted):
            return None
        return lambda candidates, fleet: _choose(candidates, fleet, question, pick)


def _choose(
    candidates: Candidates, fleet: Fleet, question: Question, pick: Wanted
) -> Candidates | Refusal:
    ranking = ranked(candidates, pick.order, pick.seed, question.binding, fleet)
    groups = considered(pick, candidates, ranking, fleet)
    ground = _ground(candidates, ranking, fleet, (question, pick))
    try:
        places = picked(pick, ground)
    except TooManyWays:
        return Refusal(Verdict.UNSCHEDULABLE, _CROSSING, groups)
    if places is None:
        message = not_enough(pick, groups, len(candidates))
        return Refusal(Verdict.UNSCHEDULABLE, message, groups)
    taken = ground.positions[places]
    rows = candidates.rows[taken]
    return candidates.at(taken, tuple(with_taken(each, rows) for each in groups))


def _ground(
    candidates: Candidates, ranking: Ranking, fleet: Fleet, asked: tuple[Question, Wanted]
) -> Ground:
    question, pick = asked
    order = ranking.positions[can_be_taken(pick, candidates, fleet)[ranking.positions]]
    held = np.zeros(len(order), np.bool_)
    if pick.sticky:
        held = rows_mask(question.placed.rows, len(fleet))[candidates.rows[order]]
        order = np.concatenate([order[held], order[~held]])
    rows, traits, needed = candidates.rows[order], fleet.traits, question.needed or 0
    limits = Limits.of(question, candidates, fleet)
    able = limits.least[order] <= needed
    return Ground(
        order,
        tuple(group_codes(each.key, traits)[0][rows] for each in pick.groups),
        tuple(matching(each.affinity, traits)[rows] for each in pick.quotas),
        np.where(able, limits.least[order], 0),
        np.where(able, np.minimum(limits.most[order], needed), 0),
        needed,
        int(np.count_nonzero(held)),
    )
