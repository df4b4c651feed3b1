"""Clusters that passed the filters, with what ranks them, and what selection and division return.

Parallel arrays: position i of each speaks of the cluster in `rows[i]`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.placed import NONE_PLACED, Placed

_BITS = 62  # of a signed number of 64, with one to spare


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
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
        """Positions from the best to the last."""
        ranks, _ = self.ranks()
        ranks.sort()
        ranks &= (1 << len(self).bit_length()) - 1
        return ranks

    def ranks(self, spare: int = 0) -> tuple[Numbers, int]:
        """A number for each that is smaller for better, ends in the position, and has so many bits,
        with so many to spare.

        Rows come in the order of names, so their position is the last word in every tie.
        """
        count, available, scores = len(self), self.available, self.scores
        if not count:
            return np.zeros(0, np.int64), 0
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
        if width + count.bit_length() + spare > _BITS:
            order = np.lexsort((-available, -self.score_numbers, self.tier_numbers))
            better, width = np.empty(count, np.int64), count.bit_length()
            better[order] = np.arange(count)
        return (better << count.bit_length()) + np.arange(count), width + count.bit_length()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no answer, as the binding's condition will say it."""

    verdict: Verdict
    message: str
    groups: tuple[Groups, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """Replicas to be divided among selected clusters, and what ran in which of them before."""

    selected: Candidates
    replicas: int
    before: Placed = NONE_PLACED
    """The last decision's targets that are selected again, in its order."""


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """How replicas were divided: so many seats by these votes, on top of what was kept."""

    method: str
    seats: int
    rows: Rows
    votes: Numbers
    won: Numbers
    kept: Placed = NONE_PLACED


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Replicas per cluster, in the order the result is told, and the sums that led there."""

    rows: Rows
    replicas: Numbers
    sums: tuple[Sum, ...] = ()
