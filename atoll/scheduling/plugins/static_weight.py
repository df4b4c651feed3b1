"""StaticWeight: divided by the weights the policy lists, from scratch, whatever room there is."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from atoll.model.intent import Weighted
from atoll.scheduling import webster
from atoll.scheduling.candidates import Assignment, Candidates, Share, Sum
from atoll.scheduling.columns import Numbers, Rows
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
            selected, given = share.selected, weights(question, division, fleet.traits)
            ballot = selected.remember("ballot", lambda: _ballot(selected, given))
            rows, votes, by_strength = ballot
            strongest = None if by_strength is None else by_strength[descending]
            won = webster.divide(
                share.replicas, votes, descending=descending, by_strength=strongest
            )
            total = Sum("static weight", share.replicas, rows, votes, won)
            return Assignment(rows, won, (total,))

        return divide


class _Ballot(NamedTuple):
    """Votes by name, and for those that many decisions share, whose are the most: where ties go to
    the first, and where they go to the last."""

    rows: Rows
    votes: Numbers
    by_strength: tuple[Numbers, Numbers] | None


def _ballot(selected: Candidates, given: Numbers) -> _Ballot:
    rows = np.sort(selected.rows) if selected.ranked else selected.rows
    votes = given[rows]
    if not np.count_nonzero(votes):
        votes = np.ones(len(rows), np.int64)
    if selected.memo is None:
        return _Ballot(rows, votes, None)
    first, last = (webster.strongest_first(votes, descending=each) for each in (False, True))
    return _Ballot(rows, votes, (first, last))
