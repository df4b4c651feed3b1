"""ClusterAffinity: only clusters that the term means, or one of its overflow tiers."""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.plugin import Judge
from atoll.scheduling.question import Question
from atoll.scheduling.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class ClusterAffinity:
    """Overflow tiers count for workloads only: nothing else can overflow."""

    name: str = "ClusterAffinity"
    spares_placed: bool = False
    shared: bool = True

    def compile(self, question: Question) -> Judge | None:
        term = question.term
        wanted = (term.affinity, *(term.overflow if question.binding.is_workload else ()))

        def judge(fleet: Fleet) -> Verdicts:
            meant = reduce(or_, (matching(each, fleet.traits) for each in wanted))
            reason = "cluster(s) did not match the placement cluster affinity constraint"
            return Verdicts.turning_away(~meant, reason)

        return judge
