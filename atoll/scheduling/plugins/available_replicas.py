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
from atoll.scheduling.columns import Numbers, Rows, one_number, rows_mask
from atoll.scheduling.placed import NONE_PLACED, Placed
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question
from atoll.scheduling.ties import ties_descend
from atoll.scheduling.whole_numbers import as_int32


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
    rows, votes = _best_first(contest, clusters) if aggregated else (contest.rows, contest.votes)
    sums = votes.cumsum()
    room = as_int32(int(sums[-1]))
    if room < contest.seats:
        message = (
            f"failed to {contest.doing}: Clusters available replicas {room} "
            "are not enough to schedule."
        )
        return Refusal(Verdict.UNSCHEDULABLE, message)
    if aggregated:
        # The shortest run of clusters that has the votes.
        end = int(sums.searchsorted(contest.seats)) + 1
        rows, votes = rows[:end], votes[:end]
    if aggregated or np.count_nonzero(rows[1:] < rows[:-1]):
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


def _best_first(contest: _Contest, clusters: int) -> tuple[Rows, Numbers]:
    """Those that keep replicas first, then the strongest."""
    rows, votes, kept = contest.rows, contest.votes, contest.kept
    weaker = -votes
    if kept:
        keepers = rows_mask(kept.rows[kept.replicas > one_number(0)], clusters)
        order = np.lexsort((weaker, ~keepers[rows]))
    else:
        order = weaker.argsort(kind="stable")
    return rows[order], votes[order]


def _as_before(before: Placed) -> Assignment:
    nothing = np.zeros(0, np.int64)
    kept = Sum("kept", 0, nothing, nothing, nothing, before)
    return Assignment(before.rows, before.replicas, (kept,))


def _merged(total: Sum) -> Assignment:
    """What was won, by name, with what was kept added; then what was only kept, in its order."""
    kept, rows, replicas = total.kept, total.rows, total.won
    if kept:
        place = rows.searchsorted(kept.rows)
        place[place == len(rows)] = 0
        took_part = rows[place] == kept.rows
        replicas = replicas.copy()
        np.add.at(replicas, place[took_part], kept.replicas[took_part])
        rows = np.concatenate([rows, kept.rows[~took_part]])
        replicas = np.concatenate([replicas, kept.replicas[~took_part]])
    return Assignment(rows, replicas, (total,))
