"""Clusters that passed the filters, with what ranks them, and what selection and division return.

Parallel arrays: position i of each speaks of the cluster in `rows[i]`.
"""

from dataclasses import dataclass, replace

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.columns import Numbers, Rows

_SCORE_BITS, _AVAILABLE_BITS, _POSITION_BITS = 8, 34, 20


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tier (0 first), score, room for more replicas, and that room with what runs there already."""

    rows: Rows
    tiers: Numbers
    scores: Numbers
    allocatable: Numbers
    available: Numbers
    ranked: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, positions: Numbers) -> "Candidates":
        """The candidates at these positions, in this order."""
        return Candidates(
            self.rows[positions],
            self.tiers[positions],
            self.scores[positions],
            self.allocatable[positions],
            self.available[positions],
            ranked=True,
        )

    def in_order(self) -> "Candidates":
        """Best first: by tier, then score, then room, then name. Order that was chosen is kept."""
        return self if self.ranked else self.at(self._order())

    def ranked_as_is(self) -> "Candidates":
        return replace(self, ranked=True)

    def _order(self) -> Numbers:
        """Rows come in the order of names, so their position is the last word in every tie."""
        if len(self) < 2:
            return np.arange(len(self))
        plain = (
            self.tiers.max() == 0
            and self.scores.min() >= 0
            and self.scores.max() < 1 << _SCORE_BITS
            and abs(self.available).max() < 1 << (_AVAILABLE_BITS - 1)
        )
        if not plain:
            return np.lexsort((self.rows, -self.available, -self.scores, self.tiers))
        # One number each, sorted plainly, is several times faster than sorting by three keys.
        room = (1 << (_AVAILABLE_BITS - 1)) - self.available
        keys = ((1 << _SCORE_BITS) - self.scores) << _AVAILABLE_BITS | room
        keys = np.sort(keys << _POSITION_BITS | np.arange(len(self)))
        return keys & ((1 << _POSITION_BITS) - 1)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no answer, as the binding's condition will say it."""

    verdict: Verdict
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Replicas to be divided among selected clusters, and what ran in which of them before."""

    selected: Candidates
    replicas: int
    before: tuple[tuple[int, int], ...]
    """Row and replicas of the last decision's targets that are selected again, in its order."""


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """How replicas were divided: so many seats by these votes, on top of what was kept."""

    method: str
    seats: int
    rows: Rows
    votes: Numbers
    won: Numbers
    kept: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Replicas per cluster, in the order the result is told, and the sums that led there."""

    rows: Rows
    replicas: Numbers
    sums: tuple[Sum, ...] = ()
