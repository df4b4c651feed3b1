"""Fill: clusters are filled one after the other, each up to its room and its bounds.

What runs stays where it is, if it is to be kept, and only what is new is placed, in the order;
shrinking takes from the end of the order. So with the best first, the local tier fills up before
the next, and empties after it.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.model.intent import Fill as Wanted
from atoll.model.intent import Shortage
from atoll.scheduling.candidates import Assignment, Refusal, Share, Sum
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.limits import Limits
from atoll.scheduling.orders import ranked
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question
from atoll.scheduling.sharing import share as shared
from atoll.scheduling.standing import Lineup, Standing
from atoll.scheduling.ties import ties_descend


@dataclass(frozen=True, slots=True)
class Fill:
    """Our own division; it knows the tiers itself. The sum's seats that nobody won are missing."""

    name: str = "Fill"
    by_tier: bool = False

    def compile(self, question: Question) -> Divide | None:
        division = question.intent.division
        if not isinstance(division, Wanted):
            return None
        return lambda share, fleet: _divide(share, fleet, question, division)


def _divide(
    share: Share, fleet: Fleet, question: Question, division: Wanted
) -> Assignment | Refusal:
    binding, selected = question.binding, share.selected
    order = ranked(selected, division.order, division.seed, binding, fleet)
    limits = Limits.of(question, selected, fleet)
    keep = division.keep and not binding.fresh
    lineup = Lineup.of(share, limits, order.positions, keep=keep)
    if lineup.placed < share.replicas and (
        division.shortage is Shortage.REFUSE or lineup.placed == 0
    ):
        return Refusal(Verdict.UNSCHEDULABLE, lineup.shortage(share.replicas))
    standing = lineup.standing(lineup.placed, np.arange(len(lineup.rows)))
    seats, base = lineup.placed, int(standing.base.sum())
    levels = order.levels if division.even else np.arange(len(lineup.rows))
    won = _poured(seats - base, standing, levels, descending=ties_descend(binding))
    method = f"fill, {division.order} first" + (", evenly" if division.even else "")
    total = Sum(method, share.replicas - base, lineup.rows, standing.room, won, standing.kept)
    return Assignment(lineup.rows, standing.base + won, (total,))


def _poured(seats: int, standing: Standing, levels: Numbers, *, descending: bool) -> Numbers:
    """Level after level is filled up; the last that gets any divides it by its room."""
    room = standing.room
    by_level = np.bincount(levels, room).astype(np.int64)
    before = np.cumsum(by_level) - by_level
    won = np.where(before[levels] + by_level[levels] <= seats, room, 0)
    rest = seats - int(won.sum())
    if rest:
        last = int(np.searchsorted(before, seats)) - 1
        members = np.flatnonzero(levels == last)
        members = members[np.argsort(standing.rows[members])]
        votes = room[members]
        won[members] = shared(rest, votes, np.zeros_like(votes), votes, descending=descending)
    return won
