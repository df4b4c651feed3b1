"""ClusterEviction: what is being moved away from a cluster does not come back while it moves."""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class ClusterEviction:
    """Holds even for clusters that are still among the targets."""

    name: str = "ClusterEviction"
    spares_placed: bool = False
    shared: bool = False

    def compile(self, question: Question) -> Judge | None:
        evicting = question.binding.evicting
        if not evicting:
            return None

        def judge(fleet: Fleet) -> Verdicts:
            codes = np.zeros(len(fleet), np.uint16)
            codes[[fleet.rows[name] for name in evicting if name in fleet.rows]] = 1
            return Verdicts(codes, ("cluster(s) is in the process of eviction",))

        return judge
