"""The inner steps of our decision, in the form in which Karmada's were recorded.

The record kept of a decision comes in; what its last attempt saw goes out as a recorded `detail`
has it: every filter's reason for every cluster it turned away, the candidates in order, the
regions with their scores, and who was selected or why nobody was. What is empty is left out.
"""

from typing import Any

from atoll.scheduling.candidates import Candidates
from atoll.scheduling.recording import Record, Trial

DELETING = {"-": "deleting"}
SELECTING = "failed to select clusters: "


def steps(record: Record) -> dict[str, Any]:
    last, names = record.trials[-1], record.roll.names.tolist()
    told = {
        "affinity": last.term,
        "filters": _filters(record, names),
        "candidates": _candidates(last.candidates, names),
        "regions": _regions(last),
        "selected": _names(last.selected, names),
        "selectError": _select_error(last),
    }
    return {key: value for key, value in told.items() if value}


def _filters(record: Record, names: list[str]) -> dict[str, dict[str, str]]:
    deleting, placed = record.roll.deleting.tolist(), set(record.placed.rows.tolist())
    reasons: dict[str, dict[str, str]] = {
        name: DELETING for name, leaving in zip(names, deleting, strict=True) if leaving
    }
    for said in record.trials[-1].said:
        for row in said.codes.nonzero()[0].tolist():
            if not deleting[row] and not (said.spares_placed and row in placed):
                reason = said.reasons[said.codes[row] - 1]
                reasons.setdefault(names[row], {})[said.filter] = reason
    return reasons


def _candidates(candidates: Candidates | None, names: list[str]) -> list[list[Any]]:
    if candidates is None:
        return []
    ranked = candidates.in_order()
    columns = (ranked.score_numbers, ranked.allocatable, ranked.available, ranked.tier_numbers)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return [[name, *each] for name, each in zip(_names(ranked, names), numbers, strict=True)]


def _names(candidates: Candidates | None, names: list[str]) -> list[str]:
    return [] if candidates is None else [names[row] for row in candidates.in_order().rows.tolist()]


def _regions(trial: Trial) -> list[list[Any]]:
    return [
        list(region)
        for groups in trial.groups
        for region in sorted(zip(groups.names, groups.scores, groups.sizes, strict=True))
    ]


def _select_error(trial: Trial) -> str:
    message = trial.refusal.message if trial.refusal else ""
    return message.removeprefix(SELECTING) if message.startswith(SELECTING) else ""
