"""AvailableReplicas: divided by free capacity, evenly or aggregated; what runs is kept.

Growing places only what is new; shrinking takes from what runs, in proportion; a fresh decision
looks at the whole anew. Aggregated takes the shortest run of clusters with enough room, those that
run replicas already first, and divides among them.
"""

from dataclasses import dataclass, replace

import numpy as np

from atoll.model.binding import Binding
from atoll.model.decision import Verdict
from atoll.model.intent import Available
from atoll.scheduling import webster
from atoll.scheduling.candidates import Assignment, Refusal, Share, Sum
from atoll.scheduling.columns import Numbers, Rows
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
        return lambda share, fleet: _divide(share, binding, aggregated=aggregated)


@dataclass(frozen=True, slots=True, eq=False)
class _Contest:
    """Seats to be won by rows with votes, best rows first, on top of what is kept."""

    doing: str
    seats: int
    rows: Rows
    votes: Numbers
    kept: tuple[tuple[int, int], ...] = ()


def _divide(share: Share, binding: Binding, *, aggregated: bool) -> Assignment | Refusal:
    assigned = sum(replicas for _, replicas in share.before)
    if assigned == share.replicas and not binding.fresh:
        return _as_before(share.before)
    if aggregated:
        share = replace(share, selected=share.selected.in_order())
    contest = _contest(share, assigned, fresh=binding.fresh)
    room = as_int32(int(contest.votes.sum()))
    if room < contest.seats:
        message = (
            f"failed to {contest.doing}: Clusters available replicas {room} "
            "are not enough to schedule."
        )
        return Refusal(Verdict.UNSCHEDULABLE, message)
    rows, votes = contest.rows, contest.votes
    if aggregated:
        rows, votes = _shortest_run(contest)
    if (rows[1:] < rows[:-1]).any():
        by_name = np.argsort(rows)
        rows, votes = rows[by_name], votes[by_name]
    won = webster.divide(contest.seats, votes, descending=ties_descend(binding))
    method = "aggregated" if aggregated else "free capacity"
    total = Sum(method, contest.seats, rows, votes, won, contest.kept)
    return _merged(total)


def _contest(share: Share, assigned: int, *, fresh: bool) -> _Contest:
    selected = share.selected
    if fresh:
        before = dict(share.before)
        ran = np.array([before.get(row, 0) for row in selected.rows.tolist()], np.int64)
        votes = (selected.allocatable + ran).astype(np.int32).astype(np.int64)
        return _Contest("do fresh scale", share.replicas, selected.rows, votes)
    if assigned > share.replicas:
        rows = np.array([row for row, _ in share.before], np.int64)
        votes = np.array([replicas for _, replicas in share.before], np.int64)
        return _Contest("scale down", share.replicas, rows, votes)
    missing = share.replicas - assigned
    return _Contest("scale up", missing, selected.rows, selected.allocatable, share.before)


def _shortest_run(contest: _Contest) -> tuple[Rows, Numbers]:
    """The fewest rows that have the votes: those that keep replicas first, then the strongest."""
    rows, votes = contest.rows, contest.votes
    if (votes[1:] > votes[:-1]).any():
        strongest = np.argsort(-votes, kind="stable")
        rows, votes = rows[strongest], votes[strongest]
    keepers = [row for row, replicas in contest.kept if replicas > 0]
    if keepers:
        keeps = np.isin(rows, keepers)
        first = np.argsort(~keeps, kind="stable")
        rows, votes = rows[first], votes[first]
    end = int(np.searchsorted(np.cumsum(votes), contest.seats)) + 1
    return rows[:end], votes[:end]


def _as_before(before: tuple[tuple[int, int], ...]) -> Assignment:
    running = [(row, replicas) for row, replicas in before if replicas > 0]
    rows = np.array([row for row, _ in running], np.int64)
    replicas = np.array([replicas for _, replicas in running], np.int64)
    nothing = np.zeros(0, np.int64)
    return Assignment(rows, replicas, (Sum("kept", 0, nothing, nothing, nothing, before),))


def _merged(total: Sum) -> Assignment:
    """What was won, by name, with what was kept added; then what was only kept, in its order."""
    kept = dict(total.kept)
    given = np.flatnonzero(total.won) if not kept else slice(None)
    rows, won = total.rows[given], total.won[given]
    if kept:
        won = won + np.array([kept.pop(row, 0) for row in rows.tolist()], np.int64)
        rows = np.concatenate([rows, np.array(list(kept), np.int64)])
        won = np.concatenate([won, np.array(list(kept.values()), np.int64)])
        running = np.flatnonzero(won)
        rows, won = rows[running], won[running]
    return Assignment(rows, won, (total,))
