"""One decision, from a binding and a fleet to its targets: the whole algorithm on one screen.

    for each term of the intent, from the one observed last:
        filter -> score -> estimate -> select -> divide
    the first term that can hold the work is taken; if none can, the first refusal counts

Pure: the same binding, fleet, setting and surroundings give the same decision, and the decision
keeps what it was made from.
"""

from atoll.model.binding import Binding
from atoll.model.decision import Verdict
from atoll.scheduling.candidates import Candidates, Refusal, Scores, total_score
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.diagnosis import no_cluster_fits
from atoll.scheduling.estimates import Estimates, estimate
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.guarding import PluginFailed
from atoll.scheduling.placed import Placed
from atoll.scheduling.question import NOWHERE, Question, Surroundings
from atoll.scheduling.refusing import refused
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
    placed = Placed.of(binding.targets, fleet.rows)
    for place in terms_from(binding):
        question = Question(binding, place, placed, setting.features, surroundings)
        try:
            attempts.append(attempt(question, fleet, setting))
        except PluginFailed as failed:
            attempts = [refused(question.term, failed, fleet)]
            break
        if attempts[-1].refusal is None:
            break
    refusal = attempts[-1].refusal and attempts[0].refusal
    verdict = refusal.verdict if refusal else Verdict.SUCCESS
    message = refusal.message if refusal else ""
    made_with = (binding, fleet, setting, surroundings, placed)
    return Decision(verdict, message, tuple(attempts), *made_with)


def attempt(question: Question, fleet: Fleet, setting: Setting) -> Attempt:
    """Try one term."""
    term, shortlisted = question.term, shortlist(question, fleet, setting)
    if not len(shortlisted.rows):
        refusal = no_cluster_fits(question.binding, fleet, shortlisted)
        return Attempt(term, shortlisted, refusal=refusal)
    estimates = estimate(question, fleet, shortlisted.rows)
    scores = _scores(question, fleet, setting)
    candidates = _candidates(question, fleet, shortlisted, estimates, scores)
    reached = (term, shortlisted, candidates, estimates, scores)
    selection, selected = select(question, candidates, fleet, setting)
    if isinstance(selected, Refusal):
        return Attempt(*reached, selection, refusal=selected)
    division, assignment = assign(question, selected, fleet, setting)
    if isinstance(assignment, Refusal):
        return Attempt(*reached, selection, selected, division, refusal=assignment)
    return Attempt(*reached, selection, selected, division, assignment)


def terms_from(binding: Binding) -> range:
    """The places of the terms to try: the one observed last and after it; never one before."""
    terms, observed = binding.intent.terms, binding.observed_term
    if not observed:
        return range(len(terms))
    names = [term.name for term in terms]
    return range(names.index(observed) if observed in names else 0, len(terms))


def _scores(question: Question, fleet: Fleet, setting: Setting) -> Scores:
    scores = []
    for score in setting.plugins.scores:
        measure = score.compile(question)
        if measure is not None:
            scores.append((score.name, measure(fleet)))
    return tuple(scores)


def _candidates(
    question: Question, fleet: Fleet, shortlisted: Shortlist, estimates: Estimates, scores: Scores
) -> Candidates:
    rows, allocatable = shortlisted.rows, estimates.allocatable
    available = question.placed.added_to(allocatable, rows, len(fleet))
    tiers = tiers_of(question, fleet, rows)
    total = total_score(scores, rows)
    return Candidates(rows, tiers, total, allocatable, available, memo=shortlisted.memo)
