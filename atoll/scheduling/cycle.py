"""One decision, from a binding and a fleet to its targets: the whole algorithm on one screen.

    for each term of the intent, from the one observed last:
        filter -> score -> estimate -> select -> divide
    the first term that can hold the work is taken; if none can, the first refusal counts

Pure: the same binding, fleet, setting and surroundings give the same decision, and the decision
keeps what it was made from.
"""

import numpy as np

from atoll.model.affinity import Term
from atoll.model.binding import Binding, Target
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Assignment, Candidates, Refusal
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.diagnosis import no_cluster_fits
from atoll.scheduling.estimates import Estimates, estimate
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import NOWHERE, Question, Surroundings
from atoll.scheduling.setting import ORDINARY, Setting
from atoll.scheduling.shortlisting import Shortlist, shortlist
from atoll.scheduling.strategies import assign, select
from atoll.scheduling.tiers import tiers_of


def decide(
    binding: Binding,
    fleet: Fleet,
    setting: Setting = ORDINARY,
    surroundings: Surroundings = NOWHERE,
) -> Decision:
    """Where the binding goes, or why nowhere."""
    attempts: list[Attempt] = []
    for term in terms_from(binding):
        question = Question(binding, term, setting.features, surroundings)
        attempts.append(attempt(question, fleet, setting))
        if attempts[-1].refusal is None:
            break
    tried, made_with = tuple(attempts), (binding, fleet, setting, surroundings)
    first, last = attempts[0].refusal, attempts[-1]
    if last.assignment is not None and last.refusal is None:
        targets = _targets(last.assignment, fleet)
        success = (Verdict.SUCCESS, "", targets, targets, False, last.term.name)
        return Decision(*success, tried, *made_with)
    assert first is not None, "an attempt that assigns nothing says why"
    unfit = first.verdict is Verdict.NO_CLUSTER_FIT
    bound = () if unfit else binding.targets
    failure = (first.verdict, first.message, (), bound, not unfit, binding.observed_term)
    return Decision(*failure, tried, *made_with)


def attempt(question: Question, fleet: Fleet, setting: Setting) -> Attempt:
    """Try one term."""
    term, shortlisted = question.term, shortlist(question, fleet, setting)
    if not len(shortlisted.rows):
        refusal = no_cluster_fits(question.binding, fleet, shortlisted)
        return Attempt(term, shortlisted, refusal=refusal)
    estimates = estimate(question, fleet, shortlisted.rows)
    candidates = _candidates(question, fleet, shortlisted, estimates, setting)
    reached = (term, shortlisted, candidates, estimates)
    selected = select(question, candidates, fleet, setting)
    if isinstance(selected, Refusal):
        return Attempt(*reached, refusal=selected)
    assignment = assign(question, selected, fleet, setting)
    if isinstance(assignment, Refusal):
        return Attempt(*reached, selected, refusal=assignment)
    return Attempt(*reached, selected, assignment)


def terms_from(binding: Binding) -> tuple[Term, ...]:
    """The terms to try: the one observed last and those after it; never one before."""
    terms = binding.intent.terms
    names = [term.name for term in terms]
    observed = binding.observed_term
    return terms[names.index(observed) :] if observed and observed in names else terms


def _candidates(
    question: Question,
    fleet: Fleet,
    shortlisted: Shortlist,
    estimates: Estimates,
    setting: Setting,
) -> Candidates:
    rows, allocatable = shortlisted.rows, estimates.allocatable
    scores, available = np.zeros(len(fleet), np.int64), allocatable
    for score in setting.plugins.scores:
        measure = score.compile(question)
        if measure is not None:
            scores = scores + measure(fleet)
    if question.binding.targets:
        running = np.zeros(len(fleet), np.int64)
        for target in question.binding.targets:
            row = fleet.rows.get(target.name)
            if row is not None:
                running[row] += target.replicas
        available = allocatable + running[rows]
    tiers = tiers_of(question, fleet, rows)
    return Candidates(rows, tiers, scores[rows], allocatable, available)


def _targets(assignment: Assignment, fleet: Fleet) -> tuple[Target, ...]:
    names, replicas = fleet.names_of(assignment.rows), assignment.replicas.tolist()
    return tuple(map(Target, names, replicas))
