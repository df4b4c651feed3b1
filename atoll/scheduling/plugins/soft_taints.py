"""SoftTaints: a taint that would rather not have work costs score, if the policy says how much."""

from dataclasses import dataclass

import numpy as np

from atoll.model.taint import Effect, Taint
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Measure
from atoll.scheduling.question import Question


@dataclass(frozen=True, slots=True)
class SoftTaints:
    """Every untolerated PreferNoSchedule taint counts."""

    name: str = "SoftTaints"

    def compile(self, question: Question) -> Measure | None:
        cost, tolerations = question.intent.soft_taints, question.intent.tolerations
        if not cost:
            return None

        def untolerated(taints: tuple[Taint, ...]) -> int:
            soft = (each for each in taints if each.effect is Effect.PREFER_NO_SCHEDULE)
            return sum(not any(one.tolerates(each) for one in tolerations) for each in soft)

        def measure(fleet: Fleet) -> Numbers:
            return fleet.traits.taints.judged(untolerated).astype(np.int64) * -cost

        return measure
