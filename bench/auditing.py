"""Do the numbers of a report add up?

A report comes in; what does not add up goes out, in words; nothing if all does. Nothing is decided
anew here: the numbers are held against each other.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.arithmetic import goes_to_the_highest
from atoll.scheduling.candidates import Assignment, Candidates, Sum
from atoll.scheduling.columns import Numbers
from atoll.scheduling.explain import Report, TermReport
from atoll.scheduling.fates import Fate
from atoll.scheduling.recording import Record, Trial
from atoll.scheduling.whole_numbers import INT32_MOST

_ALL_REPLICAS = ("StaticWeight", "AvailableReplicas")
"""Divisions that place all replicas or none, each where the highest claim is."""


def sums_check(report: Report) -> list[str]:
    """What does not add up in a report."""
    wrong: list[str] = []
    for term in report.terms:
        record, trial = term.record, term.trial
        wrong += _clusters(term)
        if trial.candidates is not None:
            wrong += _candidates(record, trial, trial.candidates)
            wrong += _selected(trial, trial.candidates)
        if trial.assignment is not None:
            wrong += _assignment(record, trial, trial.assignment)
    wrong += _outcome(report)
    return wrong


def _clusters(term: TermReport) -> Iterator[str]:
    """Every cluster is counted once."""
    total, trial = len(term.record.roll.names), term.trial
    if sum(term.fates.counts) != total:
        yield f"{sum(term.fates.counts)} fates for {total} clusters"
    by_fate = dict.fromkeys(Fate, 0)
    for count, reason in zip(term.fates.counts, term.fates.reasons, strict=True):
        by_fate[reason.fate] += count
    out = by_fate[Fate.DELETING] + by_fate[Fate.FILTERED]
    feasible = 0 if trial.candidates is None else len(trial.candidates)
    if out + feasible != total:
        yield f"{out} clusters are out and {feasible} candidates, of {total}"
    given = 0 if trial.assignment is None else len(trial.assignment.rows)
    if by_fate[Fate.CHOSEN] != given:
        yield f"{by_fate[Fate.CHOSEN]} clusters are chosen, {given} were given replicas"


def _candidates(record: Record, trial: Trial, candidates: Candidates) -> Iterator[str]:
    """Room and scores are the sums of their parts."""
    running = np.zeros(len(record.roll.names), np.int64)
    np.add.at(running, record.placed.rows, record.placed.replicas)
    if not np.array_equal(candidates.available, candidates.allocatable + running[candidates.rows]):
        yield "available replicas are not those that fit and those that run"
    scores = sum((column[candidates.rows] for _, column in trial.scores), start=np.int64(0))
    if not np.array_equal(candidates.score_numbers, np.broadcast_to(scores, len(candidates))):
        yield "scores are not the sum of what the plug-ins gave"
    least = np.full(len(candidates), INT32_MOST)
    for _, answer in trial.estimates:
        least = np.where(answer >= 0, np.minimum(least, answer), least)
    counted = least < INT32_MOST
    negative = any((answer < 0).any() for _, answer in trial.estimates[:1])
    if not negative and (candidates.allocatable != least)[counted].any():
        yield "the room is not the least of the estimates"


def _selected(trial: Trial, candidates: Candidates) -> Iterator[str]:
    """Who is selected was a candidate, once, and in a group that was taken."""
    selected = trial.selected
    if selected is None:
        return
    if len(np.unique(selected.rows)) != len(selected):
        yield "a cluster is selected twice"
    if not np.isin(selected.rows, candidates.rows).all():
        yield "a cluster is selected that was no candidate"
    for groups in trial.groups if len(selected) else ():
        ends = np.cumsum(groups.sizes)
        taken = [groups.rows[ends[each] - groups.sizes[each] : ends[each]] for each in groups.taken]
        if not np.isin(selected.rows, np.concatenate(taken)).all():
            yield f"a cluster is selected whose {groups.key} was not taken"


def _assignment(record: Record, trial: Trial, assignment: Assignment) -> Iterator[str]:
    """Replicas are what was won and kept, and all of them."""
    exact = trial.division in _ALL_REPLICAS
    for each in assignment.sums:
        yield from _wrong_with(each, descending=record.descending, exact=exact)
    given, count = int(assignment.replicas.sum()), len(record.roll.names)
    if assignment.sums:
        parts = [(each.rows, each.won) for each in assignment.sums]
        parts += [(each.kept.rows, each.kept.replicas) for each in assignment.sums]
        if not np.array_equal(
            _total(parts, count), _total([(assignment.rows, assignment.replicas)], count)
        ):
            yield "replicas are not what was won and kept"
    if exact and given != record.replicas and record.replicas:
        yield f"{record.replicas} replicas were asked for, {given} are placed"
    if trial.selected is not None and not np.isin(assignment.rows, trial.selected.rows).all():
        yield "a cluster has replicas that was not selected"


def _total(parts: list[tuple[Numbers, Numbers]], count: int) -> Numbers:
    total = np.zeros(count, np.int64)
    for rows, replicas in parts:
        np.add.at(total, rows, replicas)
    return total


def _outcome(report: Report) -> Iterator[str]:
    """The sentence counts the clusters as the report does."""
    term = report.decisive
    if report.ok:
        if len(report.targets) != term.fates.counts[0] and report.targets:
            yield "the targets are not the clusters chosen"
        return
    if report.verdict is Verdict.NO_CLUSTER_FIT:
        told = sorted(f"{count} {reason}" for reason, count in _first_reasons(term).items())
        counted = ", ".join(told) or "no cluster exists"
        sentence = f"0/{len(term.record.roll.names)} clusters are available: {counted}."
        if sentence != report.message:
            yield f"the clusters say: {sentence}"


def _wrong_with(divided: Sum, *, descending: bool, exact: bool) -> list[str]:
    """What does not add up in a sum; `exact` if Webster's method gave every seat."""
    method, seats, won = divided.method, divided.seats, int(divided.won.sum())
    wrong = []
    if won > seats or (exact and won < seats and divided.votes.any()):
        wrong.append(f"{method}: {seats} replicas were to be divided, but {won} were given")
    if int(divided.won.min(initial=0)) < 0:
        wrong.append(f"{method}: a cluster was given less than nothing")
    if exact and not goes_to_the_highest(divided, descending=descending):
        wrong.append(f"{method}: the votes do not lead to these replicas")
    return wrong


def _first_reasons(report: TermReport) -> Counter[str]:
    """How many clusters each reason of a filter turned away first."""
    counted = zip(report.fates.counts, report.fates.reasons, strict=True)
    reasons = Counter[str]()
    for count, reason in counted:
        if reason.fate is Fate.FILTERED and count:
            reasons[reason.text] += count
    return reasons
