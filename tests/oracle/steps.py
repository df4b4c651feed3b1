"""The inner steps of our decision, in the form in which Karmada's were recorded.

A decision comes in; what its last attempt saw goes out as a recorded `detail` has it: every
filter's reason for every cluster it turned away, the candidates in order, the regions with their
scores, and who was selected or why nobody was. What is empty is left out.
"""

from typing import Any

from atoll.model.intent import Duplicated, Field
from atoll.scheduling.decision import Attempt, Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import Question
from atoll.scheduling.regions import regions_of

DELETING = {"-": "deleting"}
SELECTING = "failed to select clusters: "


def steps(decision: Decision) -> dict[str, Any]:
    last, fleet = decision.attempts[-1], decision.fleet
    told = {
        "affinity": last.term.name,
        "filters": _filters(decision),
        "candidates": _candidates(last, fleet),
        "regions": _regions(decision),
        "selected": [] if last.selected is None else _selected(last, fleet),
        "selectError": _select_error(last),
    }
    return {key: value for key, value in told.items() if value}


def _filters(decision: Decision) -> dict[str, dict[str, str]]:
    placed = {each.name for each in decision.binding.targets}
    reasons = {}
    for row, cluster in enumerate(decision.fleet.clusters):
        found = DELETING if cluster.deleting else {}
        for opinion in () if cluster.deleting else decision.attempts[-1].shortlist.opinions:
            spared = opinion.filter.spares_placed and cluster.name in placed
            reason = None if spared else opinion.verdicts.reason(row)
            if reason is not None:
                found[opinion.filter.name] = reason
        if found:
            reasons[cluster.name] = found
    return reasons


def _candidates(attempt: Attempt, fleet: Fleet) -> list[list[Any]]:
    if attempt.candidates is None:
        return []
    ranked = attempt.candidates.in_order()
    columns = (ranked.scores, ranked.allocatable, ranked.available, ranked.tiers)
    numbers = (column.tolist() for column in columns)
    return [list(each) for each in zip(fleet.names_of(ranked.rows), *numbers, strict=True)]


def _regions(decision: Decision) -> list[list[Any]]:
    """Regions count where the selection by region is the one that has something to say."""
    last, binding, setting = decision.attempts[-1], decision.binding, decision.setting
    if last.candidates is None:
        return []
    question = Question(binding, last.term, setting.features, decision.surroundings)
    asked = (each for each in setting.plugins.selections if each.compile(question))
    if next(asked).name != "SpreadByRegion":
        return []
    least = {each.field: each.least for each in binding.intent.spread}
    duplicated = isinstance(binding.intent.division, Duplicated)
    needs = None if duplicated else (least.get(Field.CLUSTER, 0), least[Field.REGION])
    ranked = last.candidates.in_order()
    found = regions_of(ranked, decision.fleet.traits, binding.replicas, needs)
    return sorted([each.name, each.score, len(each.positions)] for each in found)


def _selected(attempt: Attempt, fleet: Fleet) -> list[str]:
    assert attempt.selected is not None
    return fleet.names_of(attempt.selected.in_order().rows)


def _select_error(attempt: Attempt) -> str:
    message = attempt.refusal.message if attempt.refusal else ""
    return message.removeprefix(SELECTING) if message.startswith(SELECTING) else ""
