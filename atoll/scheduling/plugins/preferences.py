"""Preferences: clusters a policy would rather have score more; with a negative weight, less."""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.plugin import Measure
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class Preferences:
    """A soft affinity: the weights of all that match are added up."""

    name: str = "Preferences"

    def compile(self, question: Question) -> Measure | None:
        preferences = question.intent.preferences
        if not preferences:
            return None

        def measure(fleet: Fleet) -> Numbers:
            scores = np.zeros(len(fleet), np.int64)
            for each in preferences:
                scores[matching(each.affinity, fleet.traits)] += each.weight
            return scores

        return measure
