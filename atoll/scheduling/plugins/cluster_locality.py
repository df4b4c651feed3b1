"""ClusterLocality: clusters that hold the work already come first."""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Measure
from atoll.scheduling.question import Question

_SCORE = 100


@dataclass(frozen=True, slots=True)
class ClusterLocality:
    """All or nothing: 100 for every target of the last decision."""

    name: str = "ClusterLocality"

    def compile(self, question: Question) -> Measure | None:
        placed = question.placed
        if not placed:
            return None

        def measure(fleet: Fleet) -> Numbers:
            scores = np.zeros(len(fleet), np.int64)
            scores[placed.rows] = _SCORE
            return scores

        return measure
