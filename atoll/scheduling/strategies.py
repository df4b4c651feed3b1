"""The steps a strategy decides: who of the candidates is selected, and who gets how much."""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates, Refusal, Share
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Question
from atoll.scheduling.setting import Setting
from atoll.scheduling.tiers import divide_by_tier

T = TypeVar("T")


def select(
    question: Question, candidates: Candidates, fleet: Fleet, setting: Setting
) -> Candidates | Refusal:
    """Ask the first selection that has something to say."""
    for selection in setting.plugins.selections:
        choose = selection.compile(question)
        if choose is not None:
            chosen = choose(candidates, fleet)
            return _during("failed to select clusters: ", chosen)
    return Refusal(Verdict.SCHEDULER_ERROR, "no plug-in selects clusters for this placement")


def assign(
    question: Question, selected: Candidates, fleet: Fleet, setting: Setting
) -> Assignment | Refusal:
    """Say how many replicas each selected cluster gets; those that get none are left out."""
    return _during("failed to assign replicas: ", _assign(question, selected, fleet, setting))


def _assign(
    question: Question, selected: Candidates, fleet: Fleet, setting: Setting
) -> Assignment | Refusal:
    binding = question.binding
    if not len(selected):
        return Refusal(Verdict.SCHEDULER_ERROR, "no clusters available to schedule")
    has_replicas = binding.replicas > 0 or binding.demand is not None
    if not has_replicas or len(binding.components) > 1:
        rows = selected.in_order().rows
        return Assignment(rows, np.zeros(len(rows), np.int64))
    share = Share(selected, binding.replicas, _before(question, selected, fleet))
    assignment = _divided(question, share, fleet, setting)
    if setting.empty_workloads and isinstance(assignment, Assignment):
        return _with_the_empty(assignment, selected, fleet)
    return assignment


def _divided(
    question: Question, share: Share, fleet: Fleet, setting: Setting
) -> Assignment | Refusal:
    """Ask the first division that has something to say, tier by tier where there are tiers."""
    for division in setting.plugins.divisions:
        divide = division.compile(question)
        if divide is not None:
            tiered = division.by_tier and bool(question.term.overflow)
            given = divide_by_tier(share, fleet, divide) if tiered else divide(share, fleet)
            return given if isinstance(given, Refusal) else _without_the_empty(given)
    return Refusal(Verdict.SCHEDULER_ERROR, "no plug-in divides replicas for this placement")


def _before(question: Question, selected: Candidates, fleet: Fleet) -> tuple[tuple[int, int], ...]:
    placed = question.placed
    if not placed:
        return ()
    is_selected = np.zeros(len(fleet), np.bool_)
    is_selected[selected.rows] = True
    again = is_selected[placed.rows]
    return tuple(zip(placed.rows[again].tolist(), placed.replicas[again].tolist(), strict=True))


def _without_the_empty(assignment: Assignment) -> Assignment:
    if assignment.replicas.all():
        return assignment
    given = np.flatnonzero(assignment.replicas)
    return replace(assignment, rows=assignment.rows[given], replicas=assignment.replicas[given])


def _with_the_empty(assignment: Assignment, selected: Candidates, fleet: Fleet) -> Assignment:
    """Selected clusters that got nothing, at the end, with no replicas."""
    idle = np.ones(len(fleet), np.bool_)
    idle[assignment.rows] = False
    rows = selected.in_order().rows
    rows = rows[idle[rows]]
    return replace(
        assignment,
        rows=np.concatenate([assignment.rows, rows]),
        replicas=np.concatenate([assignment.replicas, np.zeros(len(rows), np.int64)]),
    )


def _during(doing: str, result: T | Refusal) -> T | Refusal:
    return (
        replace(result, message=doing + result.message) if isinstance(result, Refusal) else result
    )
