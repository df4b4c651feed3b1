"""The steps a strategy decides: who of the candidates is selected, and who gets how much."""

from dataclasses import replace

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates, Refusal, Share
from atoll.scheduling.columns import rows_mask
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Question
from atoll.scheduling.setting import Setting
from atoll.scheduling.tiers import divide_by_tier


def select(
    question: Question, candidates: Candidates, fleet: Fleet, setting: Setting
) -> tuple[str, Candidates | Refusal]:
    """Ask the first selection that has something to say; its name, and what it says."""
    for selection in setting.plugins.selections:
        choose = selection.compile(question)
        if choose is not None:
            chosen = choose(candidates, fleet)
            if isinstance(chosen, Refusal):
                chosen = _during("failed to select clusters: ", chosen)
            return selection.name, chosen
    return "", Refusal(Verdict.SCHEDULER_ERROR, "no plug-in selects clusters for this placement")


def assign(
    question: Question, selected: Candidates, fleet: Fleet, setting: Setting
) -> tuple[str, Assignment | Refusal]:
    """Who divides, and how many replicas each cluster gets; those with none are left out."""
    division, assignment = _assign(question, selected, fleet, setting)
    if isinstance(assignment, Refusal):
        assignment = _during("failed to assign replicas: ", assignment)
    return division, assignment


def _assign(
    question: Question, selected: Candidates, fleet: Fleet, setting: Setting
) -> tuple[str, Assignment | Refusal]:
    binding = question.binding
    if not len(selected):
        return "", Refusal(Verdict.SCHEDULER_ERROR, "no clusters available to schedule")
    has_replicas = binding.replicas > 0 or binding.demand is not None
    if not has_replicas or len(binding.components) > 1:
        rows = selected.rows_in_order
        return "", Assignment(rows, np.zeros(len(rows), np.int64))
    share = Share(selected, binding.replicas, question.placed, len(fleet))
    division, assignment = _divided(question, share, fleet, setting)
    if setting.empty_workloads and isinstance(assignment, Assignment):
        return division, _with_the_empty(assignment, selected, fleet)
    return division, assignment


def _divided(
    question: Question, share: Share, fleet: Fleet, setting: Setting
) -> tuple[str, Assignment | Refusal]:
    """Ask the first division that has something to say, tier by tier where there are tiers."""
    for division in setting.plugins.divisions:
        divide = division.compile(question)
        if divide is not None:
            tiered = division.by_tier and bool(question.term.overflow)
            given = divide_by_tier(share, fleet, divide) if tiered else divide(share, fleet)
            name = division.name
            return name, given if isinstance(given, Refusal) else _without_the_empty(given)
    return "", Refusal(Verdict.SCHEDULER_ERROR, "no plug-in divides replicas for this placement")


def _without_the_empty(assignment: Assignment) -> Assignment:
    given = assignment.replicas.nonzero()[0]
    if len(given) == len(assignment.replicas):
        return assignment
    return Assignment(assignment.rows[given], assignment.replicas[given], assignment.sums)


def _with_the_empty(assignment: Assignment, selected: Candidates, fleet: Fleet) -> Assignment:
    """Selected clusters that got nothing, at the end, with no replicas."""
    busy = rows_mask(assignment.rows, len(fleet))
    rows = selected.rows_in_order
    rows = rows[~busy[rows]]
    return assignment._replace(
        rows=np.concatenate([assignment.rows, rows]),
        replicas=np.concatenate([assignment.replicas, np.zeros(len(rows), np.int64)]),
    )


def _during(doing: str, refusal: Refusal) -> Refusal:
    return replace(refusal, message=doing + refusal.message)
