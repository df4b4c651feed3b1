"""One cluster's part in a decision, as plain data.

A record, one of its trials and the fates in it come in; what is known of each row goes out, one
cluster at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Numbers, Rows, rows_mask
from atoll.scheduling.fates import Fate, Fates, Reason
from atoll.scheduling.recording import Record, Trial

PASS, SPARED = "pass", "spared"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one filter said of one cluster.

    `pass`, `spared` (it held the work already), or the reason it was turned away.
    """

    filter: str
    said: str

    @property
    def turned_away(self) -> bool:
        return self.said not in (PASS, SPARED)


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """One cluster's part in the decision. What was not reached is None or empty."""

    name: str
    chosen: bool
    replicas: int
    before: int | None
    """What it ran before; None if the work was not there."""
    reason: Reason
    rulings: tuple[Ruling, ...]
    selected: bool
    rank: int | None
    """Its place among the candidates, from 1."""
    tier: int | None
    score: int | None
    scores: tuple[tuple[str, int], ...]
    room: int | None
    """For how many more replicas."""
    estimates: tuple[tuple[str, int | None], ...]
    """Who said how many; None does not know."""
    groups: tuple[tuple[str, str], ...]

    @property
    def turned_away(self) -> tuple[Ruling, ...]:
        """All filters it failed, not only the first."""
        return tuple(each for each in self.rulings if each.turned_away)


Cells = list[int | None]
_NOBODY = np.zeros(0, np.int64)


class ClusterColumns:
    """What is known of each row, in lists over all rows, so that single reports are quick."""

    def __init__(self, record: Record, trial: Trial, fates: Fates) -> None:
        self._names, self._deleting = record.roll.names, record.roll.deleting
        self._said, self._fates = trial.said, fates
        selected, given, placed = trial.selected, trial.assignment, record.placed
        self._placed = rows_mask(placed.rows, len(self._names)).tolist()
        self._before = self._cells(placed.rows, placed.replicas)
        chosen = _NOBODY if selected is None else selected.rows
        self._selected = rows_mask(chosen, len(self._names)).tolist()
        self._replicas = self._cells(given.rows, given.replicas) if given else self._cells()
        self._groups = [
            (groups.key, self._cells(groups.rows, _places(groups.sizes)), groups.names)
            for groups in trial.groups
        ]
        self._rank, self._tier, self._score, self._room = (self._cells() for _ in range(4))
        self._scores: list[tuple[str, list[int]]] = []
        self._estimates: list[tuple[str, Cells]] = []
        if trial.candidates is not None:
            self._stand(trial, trial.candidates)

    def _stand(self, trial: Trial, candidates: Candidates) -> None:
        """How the candidates stood."""
        rows, ranked = candidates.rows, candidates.in_order().rows
        self._rank = self._cells(ranked, np.arange(len(ranked)) + 1)
        self._tier = self._cells(rows, candidates.tier_numbers)
        self._score = self._cells(rows, candidates.score_numbers)
        self._room = self._cells(rows, candidates.allocatable)
        self._scores = [(name, column.tolist()) for name, column in trial.scores]
        self._estimates = [(name, self._cells(rows, column)) for name, column in trial.estimates]

    def report(self, row: int) -> ClusterReport:
        """The report of the cluster in this row."""
        reason = self._fates.reasons[self._fates.codes[row]]
        stands = self._rank[row] is not None
        groups = ((key, place[row], names) for key, place, names in self._groups)
        answers = ((name, column[row]) for name, column in self._estimates)
        return ClusterReport(
            name=str(self._names[row]),
            chosen=reason.fate is Fate.CHOSEN,
            replicas=self._replicas[row] or 0,
            before=self._before[row],
            reason=reason,
            rulings=() if self._deleting[row] else self._rulings(row),
            selected=self._selected[row],
            rank=self._rank[row],
            tier=self._tier[row],
            score=self._score[row],
            scores=tuple((name, column[row]) for name, column in self._scores if stands),
            room=self._room[row],
            estimates=tuple((name, _known(answer)) for name, answer in answers if stands),
            groups=tuple((key, names[place]) for key, place, names in groups if place is not None),
        )

    def _rulings(self, row: int) -> tuple[Ruling, ...]:
        rulings = []
        for said in self._said:
            code = said.codes[row]
            spared = said.spares_placed and self._placed[row]
            ruling = SPARED if spared else said.reasons[code - 1] if code else PASS
            rulings.append(Ruling(said.filter, ruling))
        return tuple(rulings)

    def _cells(self, rows: Rows = _NOBODY, numbers: Numbers = _NOBODY) -> Cells:
        """Numbers by row, added up where a row is named twice; None where it is not."""
        cells: Cells = [None] * len(self._names)
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            cells[row] = (cells[row] or 0) + number
        return cells


def _known(answer: int | None) -> int | None:
    return None if answer is None or answer < 0 else answer


def _places(sizes: Sequence[int]) -> Numbers:
    return np.repeat(np.arange(len(sizes)), sizes)
