"""Clusters that passed the filters, with what ranks them, and what selection and division return.

Parallel arrays: position i of each speaks of the cluster in `rows[i]`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np

from atoll.model.decision import Verdict
from atoll.scheduling.columns import Numbers, Rows, one_number, rows_mask
from atoll.scheduling.framing import framed, packed
from atoll.scheduling.placed import NONE_PLACED, Placed

_LARGEST = 2**62
"""Ranks up to here, and the position in them, fit into 64 bits."""


A = TypeVar("A")

Scores = tuple[tuple[str, Numbers], ...]
"""Of every cluster, by the plug-in that gave them."""


def total_score(scores: Scores, rows: Rows) -> Numbers | None:
    """The sum of what each of these rows was given; None if nobody gave any."""
    return reduce(np.add, [given for _, given in scores])[rows] if scores else None


@dataclass(frozen=True, eq=False)
class Grouping:
    """Candidates by a field of the clusters: their own rows, group by group, best first.

    `sizes` says where groups end.
    """

    key: str
    names: Sequence[str]
    sizes: Sequence[int]
    rows: Rows

    @cached_property
    def written(self) -> bytes:
        """Written once for all records that share it."""
        sizes = np.array(self.sizes, np.int64)
        return framed(self.key, *self.names) + packed(sizes) + packed(self.rows)


class Groups(NamedTuple):
    """What a selection thought of groups of candidates: for explanation."""

    grouping: Grouping
    scores: Sequence[int]
    taken: Sequence[int] = ()
    """Places of the groups that were taken, best first."""

    @property
    def key(self) -> str:
        return self.grouping.key

    @property
    def names(self) -> Sequence[str]:
        return self.grouping.names

    @property
    def sizes(self) -> Sequence[int]:
        return self.grouping.sizes

    @property
    def rows(self) -> Rows:
        return self.grouping.rows


@dataclass(slots=True, eq=False)
class Candidates:
    """Tier (0 first), score, room for more replicas, and that room with what runs there already.

    Never changed; not frozen, because that takes four times as long, twice in every decision.
    """

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
    memo: dict[str, Any] | None = None
    """What follows from rows and intent alone, where many decisions share them."""

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

    def remember(self, what: str, answer: Callable[[], A]) -> A:
        """What follows from rows and intent alone, worked out once for all that share them."""
        if self.memo is None:
            return answer()
        known: A | None = self.memo.get(what)
        if known is None:
            known = self.memo[what] = answer()
        return known

    def in_order(self) -> "Candidates":
        """Best first: by tier, then score, then room, then name. Order that was chosen is kept."""
        return self if self.ranked else self.at(self.best_first())

    @property
    def rows_in_order(self) -> Rows:
        """Whose order that is, without the rest."""
        return self.rows if self.ranked else self.rows[self.best_first()]

    @property
    def tier_numbers(self) -> Numbers:
        return np.zeros(len(self), np.int64) if self.tiers is None else self.tiers

    @property
    def score_numbers(self) -> Numbers:
        return np.zeros(len(self), np.int64) if self.scores is None else self.scores

    def best_first(self) -> Numbers:
        """Positions from the best to the last."""
        ranks = self._ranks()
        ranks.sort()
        ranks &= one_number(self._position_bits)
        return ranks

    def best_of(self, positions: Numbers) -> Numbers:
        """Of these positions, which come in order, the best first."""
        keys = [-self.available[positions]]
        if self.scores is not None:
            keys.append(-self.scores[positions])
        if self.tiers is not None:
            keys.append(self.tiers[positions])
        return positions[keys[0].argsort(kind="stable") if len(keys) == 1 else np.lexsort(keys)]

    @property
    def _position_bits(self) -> int:
        """The bits of a rank that say whose it is."""
        return (1 << len(self.rows).bit_length()) - 1

    def _ranks(self) -> Numbers:
        """A number for each, smaller for better, that ends in the position.

        Rows come in the order of names, so their position is the last word in every tie. Numbers
        sort several times faster than arrays of keys.
        """
        count, available = len(self.rows), self.available
        if count == 0:
            return available
        keys = [(available, -1)]
        if self.scores is not None:
            keys.append((self.scores, -1))
        if self.tiers is not None:
            keys.append((self.tiers, 1))
        ranks, unit, largest = np.arange(count), self._position_bits + 1, 0
        for column, sign in keys:
            least, most = column.item(column.argmin()), column.item(column.argmax())
            largest += unit * max(abs(least), abs(most))
            if largest > _LARGEST:
                return self._ranks_by_keys()
            ranks += column * one_number(sign * unit)
            unit <<= (most - least).bit_length()
        return ranks

    def _ranks_by_keys(self) -> Numbers:
        """The same order, where the keys do not fit into one number."""
        order = np.lexsort((-self.available, -self.score_numbers, self.tier_numbers))
        ranks = np.arange(len(order))
        ranks[order] += np.arange(len(order)) * (self._position_bits + 1)
        return ranks


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
    placed: Placed
    clusters: int
    """How many the fleet has."""

    @property
    def before(self) -> Placed:
        """The last decision's targets that are selected again, in its order."""
        if not self.placed:
            return self.placed
        return self.placed.among(rows_mask(self.selected.rows, self.clusters))


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
