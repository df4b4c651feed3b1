"""AvailableReplicas: divided by free capacity, evenly or aggregated; what runs is kept.

Growing places only what is new; shrinking takes from what runs, in proportion; a fresh decision
looks at the whole anew. Aggregated takes the shortest run of clusters with enough room, those that
run replicas already first, and divides among them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from atoll.model.binding import Binding
from atoll.model.decision import Verdict
from atoll.model.intent import Available
from atoll.scheduling import webster
from atoll.scheduling.candidates import Assignment, Candidates, Refusal, Share, Sum
from atoll.scheduling.columns import Numbers, Rows, one_number, rows_mask, total
from atoll.scheduling.placed import NONE_PLACED, Placed
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question
from atoll.scheduling.ties import ties_descend
from atoll.scheduling.whole_numbers import as_int32

_FEW = 16
"""Up to so many clusters, plain lists are faster than calls into NumPy."""


@dataclass(frozen=True, slots=True)
class AvailableReplicas:
    """Karmada's dynamic weight and its aggregated division."""

    name: str = "AvailableReplicas"
    by_tier: bool = True

    def compile(self, question: Question) -> Divide | None:
        division = question.intent.division
        if not isinstance(division, Available):
            return None
        binding, aggregated = question.binding, division.aggregated
        return lambda share, fleet: _divide(share, binding, len(fleet), aggregated=aggregated)


class _Contest(NamedTuple):
    """Seats to be won by rows with votes, best rows first, on top of what is kept."""

    doing: str
    seats: int
    rows: Rows
    votes: Numbers
    kept: Placed = NONE_PLACED


def _divide(
    share: Share, binding: Binding, clusters: int, *, aggregated: bool
) -> Assignment | Refusal:
    before = share.before
    if before.total == share.replicas and not binding.fresh:
        return _as_before(before)
    selected = share.selected.in_order() if aggregated else share.selected
    contest = _contest(share.replicas, selected, before, fresh=binding.fresh)
    rows, votes = contest.rows, contest.votes
    room = as_int32(total(votes))
    if room < contest.seats:
        message = (
            f"failed to {contest.doing}: Clusters available replicas {room} "
            "are not enough to schedule."
        )
        return Refusal(Verdict.UNSCHEDULABLE, message)
    if aggregated:
        run = _shortest_run(contest, clusters)
        rows, votes = rows[run], votes[run]
    if len(rows) > 1 and np.count_nonzero(rows[1:] < rows[:-1]):
        by_name = rows.argsort()
        rows, votes = rows[by_name], votes[by_name]
    won = webster.divide(contest.seats, votes, descending=ties_descend(binding))
    method = "aggregated" if aggregated else "free capacity"
    return _merged(Sum(method, contest.seats, rows, votes, won, contest.kept))


def _contest(seats: int, selected: Candidates, before: Placed, *, fresh: bool) -> _Contest:
    if fresh:
        votes = selected.available.astype(np.int32).astype(np.int64)
        return _Contest("do fresh scale", seats, selected.rows, votes)
    missing = seats - before.total
    if missing < 0:
        return _Contest("scale down", seats, before.rows, before.replicas)
    return _Contest("scale up", missing, selected.rows, selected.allocatable, before)


def _shortest_run(contest: _Contest, clusters: int) -> Numbers | slice:
    """The places of the first rows that have the votes for all seats together: those that keep
    replicas first, then the strongest."""
    votes, kept = contest.votes, contest.kept
    busy = kept.rows[kept.replicas > one_number(0)] if kept else kept.rows
    if len(votes) <= _FEW:
        few = _run_of_few(contest, busy.tolist())
        return np.array(few, np.int64) if len(few) > 1 else slice(few[0], few[0] + 1)
    weaker = -votes
    if len(busy):
        order = np.lexsort((weaker, ~rows_mask(busy, clusters)[contest.rows]))
    else:
        order = weaker.argsort(kind="stable")
    return order[: int(votes[order].cumsum().searchsorted(contest.seats)) + 1]


def _run_of_few(contest: _Contest, busy: list[int]) -> list[int]:
    votes: list[int] = contest.votes.tolist()
    order = sorted(range(len(votes)), key=votes.__getitem__, reverse=True)
    if busy:
        rows = contest.rows.tolist()
        order.sort(key=lambda place: rows[place] not in busy)
    room = 0
    for end, place in enumerate(order, start=1):
        room += votes[place]
        if room >= contest.seats:
            return order[:end]
    return order


def _as_before(before: Placed) -> Assignment:
    nothing = np.zeros(0, np.int64)
    kept = Sum("kept", 0, nothing, nothing, nothing, before)
    return Assignment(before.rows, before.replicas, (kept,))


def _merged(divided: Sum) -> Assignment:
    """What was won, by name, with what was kept added; then what was only kept, in its order."""
    kept, rows, replicas = divided.kept, divided.rows, divided.won
    if kept:
        place = rows.searchsorted(kept.rows)
        place[place == len(rows)] = 0
        took_part, replicas = rows[place] == kept.rows, replicas.copy()
        if np.count_nonzero(took_part) == len(place):
            np.add.at(replicas, place, kept.replicas)
        else:
            np.add.at(replicas, place[took_part], kept.replicas[took_part])
            rows = np.concatenate([rows, kept.rows[~took_part]])
            replicas = np.concatenate([replicas, kept.replicas[~took_part]])
    return Assignment(rows, replicas, (divided,))
