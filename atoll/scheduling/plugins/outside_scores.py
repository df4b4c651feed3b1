"""OutsideScores: scores that others gave to clusters count, with the policy's weights."""

from dataclasses import dataclass

import numpy as np

from atoll.model.cluster import Cluster
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Measure
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class OutsideScores:
    """A cluster that has no score of a name gets nothing for it."""

    name: str = "OutsideScores"

    def compile(self, question: Question) -> Measure | None:
        weights = question.intent.scores
        if not weights:
            return None

        def total(cluster: Cluster) -> int:
            return sum(weight * cluster.scores.get(name, 0) for name, weight in weights)

        def measure(fleet: Fleet) -> Numbers:
            return fleet.traits.remember(
                ("scores", weights), lambda: np.array([*map(total, fleet.clusters)], np.int64)
            )

        return measure
