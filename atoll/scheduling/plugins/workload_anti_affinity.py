"""WorkloadAntiAffinity: a workload goes nowhere that another of its group runs."""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class WorkloadAntiAffinity:
    """A group is one namespace's."""

    name: str = "WorkloadAntiAffinity"
    spares_placed: bool = True
    shared: bool = False

    def compile(self, question: Question) -> Judge | None:
        binding = question.binding
        if not (question.features.WorkloadAffinity and binding.anti_affinity_group):
            return None
        taken = {
            name
            for each in question.surroundings.neighbours
            if each.anti_affinity_group == binding.anti_affinity_group
            and each.namespace == binding.resource.namespace
            and each.key != binding.key
            for name in each.targets
        }
        if not taken:
            return None

        def judge(fleet: Fleet) -> Verdicts:
            codes = np.zeros(len(fleet), np.uint16)
            codes[[fleet.rows[name] for name in taken if name in fleet.rows]] = 1
            reason = "cluster already has workload with the same anti-affinity group"
            return Verdicts(codes, (reason,))

        return judge
