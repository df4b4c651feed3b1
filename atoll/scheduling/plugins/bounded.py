"""Bounded: division by weights or by free capacity with a least and a most for each cluster.

Within what the bounds leave open it divides as Karmada does: by weights from scratch; by free
capacity what is new, or by what runs what is left of it. Everyone selected gets their least, or
the first in order if there is not enough for all. Where those with weights are full, those without
take the rest. Clusters that Atoll picked are divided among here as well, bounds or not, because
Karmada's sums of free capacity overflow.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.model.intent import Available, Order, Pick, Weighted
from atoll.scheduling.candidates import Assignment, Refusal, Share, Sum
from atoll.scheduling.columns import Mask, Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.limits import Limits
from atoll.scheduling.orders import ranked
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question
from atoll.scheduling.sharing import share as shared
from atoll.scheduling.standing import Lineup, Standing
from atoll.scheduling.ties import ties_descend
from atoll.scheduling.weighing import weights


@dataclass(frozen=True, slots=True)
class Bounded:
    """It goes through the tiers itself: what later tiers must have is set aside for them."""

    name: str = "Bounded"
    by_tier: bool = False

    def compile(self, question: Question) -> Divide | None:
        intent = question.intent
        ours = bool(intent.bounds) or isinstance(intent.selection, Pick)
        if not (ours and isinstance(intent.division, Weighted | Available)):
            return None
        return lambda share, fleet: _divide(share, fleet, question)


@dataclass(frozen=True, slots=True, eq=False)
class _Tier:
    """The clusters of one tier, by name, and how many replicas they are given together."""

    lineup: Lineup
    members: Numbers
    seats: int
    descending: bool


def _divide(share: Share, fleet: Fleet, question: Question) -> Assignment | Refusal:
    """Each tier takes what it has room for; only the rest goes on to the next."""
    binding, selected = question.binding, share.selected
    order = ranked(selected, Order.BEST, 0, binding, fleet)
    keep = isinstance(question.intent.division, Available) and not binding.fresh
    limits = Limits.of(question, selected, fleet)
    lineup = Lineup.of(share, limits, order.positions, keep=keep)
    if lineup.placed < share.replicas:
        return Refusal(Verdict.UNSCHEDULABLE, lineup.shortage(share.replicas))
    replicas, sums = np.zeros(len(selected), np.int64), list[Sum]()
    left, owed = share.replicas, int(lineup.least.sum())
    for level in range(int(order.levels[-1]) + 1):
        members = np.flatnonzero(order.levels == level)
        members = members[np.argsort(lineup.rows[members])]
        owed -= int(lineup.least[members].sum())
        seats = min(left - owed, int(lineup.most[members].sum()))
        tier = _Tier(lineup, members, seats, ties_descend(binding))
        replicas[members], total = _given(tier, question, fleet)
        sums.append(total)
        left -= seats
    by_name = np.argsort(lineup.rows)
    return Assignment(lineup.rows[by_name], replicas[by_name], tuple(sums))


def _given(tier: _Tier, question: Question, fleet: Fleet) -> tuple[Numbers, Sum]:
    match question.intent.division:
        case Weighted() as division:
            rows = tier.lineup.rows[tier.members]
            return _by_votes(tier, "static weight", weights(question, division, fleet.traits)[rows])
        case Available(aggregated=True):
            return _by_room(tier, "aggregated")
    return _by_room(tier, "free capacity")


def _by_votes(tier: _Tier, method: str, votes: Numbers) -> tuple[Numbers, Sum]:
    lineup, members = tier.lineup, tier.members
    least, most = lineup.least[members], lineup.most[members]
    won = shared(tier.seats, votes, least, most, descending=tier.descending)
    return won, Sum(method, tier.seats, lineup.rows[members], votes, won)


def _by_room(tier: _Tier, method: str) -> tuple[Numbers, Sum]:
    """What is missing by free capacity, on top of what runs; else what runs, shrunk."""
    lineup, members = tier.lineup, tier.members
    standing, running = lineup.standing(tier.seats, members), lineup.running[members]
    room, seats = standing.room, tier.seats - int(standing.base.sum())
    if method == "aggregated":
        room = np.where(_shortest_run(standing, seats), room, 0)
    if standing.growing:
        votes = np.where(room > 0, lineup.available[members] - standing.base, 0)
        none = np.zeros_like(votes)
        won = shared(seats, votes, none, room, descending=tier.descending)
        return standing.base + won, Sum(method, seats, standing.rows, votes, won, standing.kept)
    least, votes = standing.base, np.where(room > 0, running, 0)
    won = shared(tier.seats, votes, least, least + room, descending=tier.descending)
    return won, Sum(method, tier.seats, standing.rows, votes, won)


def _shortest_run(standing: Standing, seats: int) -> Mask:
    """The fewest that have room for so many: those with a base first, then the roomiest."""
    room = standing.room
    order = np.lexsort((-room, np.equal(standing.base, 0)))
    end = int(np.searchsorted(np.cumsum(room[order]), seats)) + 1
    chosen = np.zeros(len(room), np.bool_)
    chosen[order[:end]] = True
    return chosen
