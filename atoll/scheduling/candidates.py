"""Clusters that passed the filters, with what ranks them, and what selection and division return.

Parallel arrays: position i of each speaks of the cluster in `rows[i]`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.placed import NONE_PLACED, Placed

_BITS = 62  # of a signed number of 64, with one to spare
_FEW = 24
"""So few are sorted sooner in plain Python than by calls into NumPy."""


class Groups(NamedTuple):
    """Groups of candidates that a selection weighed, by a field of the clusters: for explanation.

    `rows` are the candidates' own, group by group, best first; `sizes` says where groups end.
    """

    key: str
    names: Sequence[str]
    scores: Sequence[int]
    sizes: Sequence[int]
    rows: Rows
    taken: Sequence[int] = ()
    """Places of the groups that were taken, best first."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Tier (0 first), score, room for more replicas, and that room with what runs there already."""

    rows: Rows
    tiers: Numbers | None
    """None: all in the first tier."""
    scores: Numbers | None
    """None: nobody was given any."""
    allocatable: Numbers
    available: Numbers
    ranked: bool = False
    groups: tuple[Groups, ...] = ()
    """What they were selected by, if by groups."""
    memo: dict[str, Any] = field(default_factory=dict)
    """What follows from the rows alone, for all decisions that have the same."""

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, positions: Numbers, groups: tuple[Groups, ...] = ()) -> "Candidates":
        """The candidates at these positions, in this order."""
        return Candidates(
            self.rows[positions],
            None if self.tiers is None else self.tiers[positions],
            None if self.scores is None else self.scores[positions],
            self.allocatable[positions],
            self.available[positions],
            ranked=True,
            groups=groups,
        )

    def in_order(self) -> "Candidates":
        """Best first: by tier, then score, then room, then name. Order that was chosen is kept."""
        return self if self.ranked else self.at(self.best_first())

    @property
    def tier_numbers(self) -> Numbers:
        return np.zeros(len(self), np.int64) if self.tiers is None else self.tiers

    @property
    def score_numbers(self) -> Numbers:
        return np.zeros(len(self), np.int64) if self.scores is None else self.scores

    def best_first(self) -> Numbers:
        """Positions from the best to the last.

        Rows come in the order of names, so their position is the last word in every tie.
        """
        if len(self) <= _FEW:
            return self._best_few_first()
        ranks = self._ranks()
        if ranks is None:
            keys = (-self.available, -self.score_numbers, self.tier_numbers)
            return np.lexsort(keys)
        ranks.sort()
        ranks &= (1 << len(self).bit_length()) - 1
        return ranks

    def _best_few_first(self) -> Numbers:
        available, scores = self.available.tolist(), self.score_numbers.tolist()
        order = sorted(range(len(self)), key=lambda i: (-scores[i], -available[i]))
        if self.tiers is not None:
            order.sort(key=self.tiers.tolist().__getitem__)
        return np.array(order, np.int64)

    def _ranks(self) -> Numbers | None:
        """A number for each, smaller for better and ending in the position, if 64 bits will do.

        Numbers sort several times faster than arrays of keys.
        """
        count, available, scores = len(self), self.available, self.scores
        most = int(available.max())
        width = (most - int(available.min())).bit_length()
        better = most - available
        if scores is not None:
            best = int(scores.max())
            better += (best - scores) << width
            width += (best - int(scores.min())).bit_length()
        if self.tiers is not None:
            better += self.tiers << width
            width += int(self.tiers.max()).bit_length()
        if width + count.bit_length() > _BITS:
            return None
        return (better << count.bit_length()) + np.arange(count)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no answer, as the binding's condition will say it."""

    verdict: Verdict
    message: str
    groups: tuple[Groups, ...] = ()


class Share(NamedTuple):
    """Replicas to be divided among selected clusters, and what ran in which of them before."""

    selected: Candidates
    replicas: int
    before: Placed = NONE_PLACED
    """The last decision's targets that are selected again, in its order."""


class Sum(NamedTuple):
    """How replicas were divided: so many seats by these votes, on top of what was kept."""

    method: str
    seats: int
    rows: Rows
    votes: Numbers
    won: Numbers
    kept: Placed = NONE_PLACED


class Assignment(NamedTuple):
    """Replicas per cluster, in the order the result is told, and the sums that led there."""

    rows: Rows
    replicas: Numbers
    sums: tuple[Sum, ...] = ()
