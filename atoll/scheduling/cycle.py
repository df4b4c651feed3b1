"""One decision, from a binding and a fleet to its targets: the whole algorithm on one screen.

    for each term of the intent, from the one observed last:
        filter -> score -> estimate -> select -> divide
    the first term that can hold the work is taken; if none can, the first refusal counts

Pure: the same binding, fleet, setting and surroundings give the same decision, and the decision
keeps what it was made from.
"""

from functools import reduce

import numpy as np

from atoll.model.binding import Binding
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Candidates, Refusal
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.diagnosis import no_cluster_fits
from atoll.scheduling.estimates import Estimates, estimate
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import (
    NONE_PLACED,
    NOWHERE,
    Placed,
    Question,
    Surroundings,
)
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
    placed = Placed.of(binding.targets, fleet.rows) if binding.targets else NONE_PLACED
    for place in terms_from(binding):
        question = Question(binding, place, placed, setting.features, surroundings)
        attempts.append(attempt(question, fleet, setting))
        if attempts[-1].refusal is None:
            break
    refusal = attempts[-1].refusal and attempts[0].refusal
    verdict = refusal.verdict if refusal else Verdict.SUCCESS
    message = refusal.message if refusal else ""
    made_with = (binding, fleet, setting, surroundings)
    return Decision(verdict, message, tuple(attempts), *made_with)


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


def terms_from(binding: Binding) -> range:
    """The places of the terms to try: the one observed last and after it; never one before."""
    terms, observed = binding.intent.terms, binding.observed_term
    names = [term.name for term in terms]
    start = names.index(observed) if observed and observed in names else 0
    return range(start, len(terms))


def _candidates(
    question: Question,
    fleet: Fleet,
    shortlisted: Shortlist,
    estimates: Estimates,
    setting: Setting,
) -> Candidates:
    rows, available, scores = shortlisted.rows, estimates.allocatable, None
    measures = [score.compile(question) for score in setting.plugins.scores]
    given = [measure(fleet) for measure in measures if measure is not None]
    if given:
        scores = reduce(np.add, given)[rows]
    if question.placed:
        running = np.zeros(len(fleet), np.int64)
        np.add.at(running, question.placed.rows, question.placed.replicas)
        available = available + running[rows]
    tiers = tiers_of(question, fleet, rows)
    return Candidates(rows, tiers, scores, estimates.allocatable, available)
