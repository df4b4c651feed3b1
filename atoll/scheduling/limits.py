"""How many replicas each candidate may get: from its bounds, and from its room where that counts.

Where nobody's room counts (division by given weights, without overflow tiers) only bounds do. A
cluster that cannot take its least takes nothing.
"""

from dataclasses import dataclass

import numpy as np

from atoll.model.intent import Intent, Weighted
from atoll.scheduling.candidates import Candidates
from atoll.scheduling.columns import Numbers
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.matching import matching
from atoll.scheduling.question import Question
from atoll.scheduling.traits import Traits
from atoll.scheduling.whole_numbers import INT32_MOST


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """By candidate: it gets nothing, or from its least to its most."""

    least: Numbers
    most: Numbers

    @classmethod
    def of(cls, question: Question, candidates: Candidates, fleet: Fleet) -> "Limits":
        intent, traits, rows = question.intent, fleet.traits, candidates.rows
        least, most = np.zeros(len(rows), np.int64), np.full(len(rows), INT32_MOST)
        if intent.bounds:
            bounds = traits.remember(("bounds", intent), lambda: _bounds(intent, traits))
            least, most = bounds[0][rows], bounds[1][rows]
        if question.term.overflow or not isinstance(intent.division, Weighted):
            most = np.minimum(most, np.maximum(candidates.available, 0))
        able = least <= most
        return cls(np.where(able, least, 0), np.where(able, most, 0))


def _bounds(intent: Intent, traits: Traits) -> tuple[Numbers, Numbers]:
    """The least and the most by row: the first entry that matches counts."""
    least = np.zeros(len(traits.names), np.int64)
    most = np.full(len(traits.names), INT32_MOST)
    for entry in reversed(intent.bounds):
        meant = matching(entry.affinity, traits)
        least[meant] = entry.least
        most[meant] = INT32_MOST if entry.most is None else entry.most
    return least, most
