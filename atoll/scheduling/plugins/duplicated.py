"""Duplicated: every selected cluster runs all replicas, whatever room it has."""

from dataclasses import dataclass

import numpy as np

from atoll.model.intent import Duplicated as Wanted
from atoll.scheduling.candidates import Assignment, Share
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class Duplicated:
    """The best cluster is told first."""

    name: str = "Duplicated"
    by_tier: bool = True

    def compile(self, question: Question) -> Divide | None:
        return _divide if isinstance(question.intent.division, Wanted) else None


def _divide(share: Share, fleet: Fleet) -> Assignment:
    rows = share.selected.rows_in_order
    return Assignment(rows, np.full(len(rows), share.replicas, np.int64))
