"""StaticWeight: divided by the weights the policy lists, from scratch, whatever room there is."""

from dataclasses import dataclass

import numpy as np

from atoll.model.intent import Weighted
from atoll.scheduling import webster
from atoll.scheduling.candidates import Assignment, Share, Sum
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.plugin import Divide
from atoll.scheduling.question import Question
from atoll.scheduling.ties import ties_descend
from atoll.scheduling.weighing import weights


@dataclass(frozen=True, slots=True)
class StaticWeight:
    """Clusters without a weight get nothing, unless none has one: then all count the same."""

    name: str = "StaticWeight"
    by_tier: bool = True

    def compile(self, question: Question) -> Divide | None:
        division = question.intent.division
        if not isinstance(division, Weighted):
            return None
        descending = ties_descend(question.binding)

        def divide(share: Share, fleet: Fleet) -> Assignment:
            rows = np.sort(share.selected.rows) if share.selected.ranked else share.selected.rows
            votes = weights(question, division, fleet.traits)[rows]
            if not votes.any():
                votes = np.ones(len(rows), np.int64)
            won = webster.divide(share.replicas, votes, descending=descending)
            total = Sum("static weight", share.replicas, rows, votes, won)
            return Assignment(rows, won, (total,))

        return divide
