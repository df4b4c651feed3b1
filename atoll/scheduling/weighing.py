"""The weights that a division by weight gives to clusters."""

import numpy as np

from atoll.model.intent import Combine, Weighted
from atoll.scheduling.columns import Numbers
from atoll.scheduling.matching import matching
from atoll.scheduling.question import Question
from atoll.scheduling.traits import Traits


def weights(question: Question, division: Weighted, traits: Traits) -> Numbers:
    """Of every cluster; 0 where no entry matches. Remembered with the traits."""
    return traits.remember(("weights", question.intent), lambda: _weights(division, traits))


def _weights(division: Weighted, traits: Traits) -> Numbers:
    found = np.zeros(len(traits.names), np.int64)
    combine = np.add if division.combine is Combine.SUM else np.maximum
    for affinity, weight in division.weights:
        found = np.where(matching(affinity, traits), combine(found, weight), found)
    return found
