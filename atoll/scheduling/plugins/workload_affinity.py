"""WorkloadAffinity: a workload goes only where all of its group run."""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class WorkloadAffinity:
    """A group is one namespace's; members that run nowhere yet do not count."""

    name: str = "WorkloadAffinity"
    spares_placed: bool = True
    shared: bool = False

    def compile(self, question: Question) -> Judge | None:
        binding = question.binding
        if not (question.features.WorkloadAffinity and binding.affinity_group):
            return None
        members = [
            each.targets
            for each in question.surroundings.neighbours
            if each.affinity_group == binding.affinity_group
            and each.namespace == binding.resource.namespace
            and each.key != binding.key
            and each.targets
        ]
        if not members:
            return None
        everywhere = frozenset.intersection(*members)

        def judge(fleet: Fleet) -> Verdicts:
            codes = np.ones(len(fleet), np.uint16)
            codes[[fleet.rows[name] for name in everywhere if name in fleet.rows]] = 0
            reason = "ResourceBinding with the same affinity group does not target this cluster"
            return Verdicts(codes, (reason,))

        return judge
