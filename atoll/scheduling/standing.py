"""Who takes part in a division within bounds, and what each keeps: common to our own divisions.

Selected clusters come in, with their limits and what they run; who can be given how much goes out.
How that is then divided is for each division to say.
"""

from dataclasses import dataclass

import numpy as np

from atoll.scheduling.candidates import Share
from atoll.scheduling.columns import Numbers, Rows
from atoll.scheduling.limits import Limits
from atoll.scheduling.placed import Placed
from atoll.scheduling.sharing import usable


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """By cluster: it starts with its base, and may be given more, up to its ceiling."""

    rows: Rows
    base: Numbers
    ceiling: Numbers
    growing: bool
    """Whether what runs is part of the base; else it must shrink, and is the ceiling."""

    @property
    def room(self) -> Numbers:
        return self.ceiling - self.base

    @property
    def kept(self) -> Placed:
        """What they start with, where it is anything."""
        some = np.flatnonzero(self.base)
        return Placed(self.rows[some], self.base[some])


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """Selected clusters in an order; each gets nothing, or from its least to its most."""

    rows: Rows
    least: Numbers
    most: Numbers
    available: Numbers
    running: Numbers
    """What is kept if possible."""
    placed: int
    """How many of the replicas can be placed."""

    @classmethod
    def of(cls, share: Share, limits: Limits, positions: Numbers, *, keep: bool) -> "Lineup":
        """The clusters at these positions. If not all can have their least, the first have it:
        those that run what is kept, then in order."""
        selected = share.selected
        rows, running = selected.rows[positions], np.zeros(len(positions), np.int64)
        if keep and share.before:
            by_row = np.argsort(rows)
            at = by_row[np.searchsorted(rows[by_row], share.before.rows)]
            np.add.at(running, at, share.before.replicas)
        least, most = limits.least[positions], limits.most[positions]
        first = np.argsort(np.equal(running, 0), kind="stable")
        placed, taking = usable(share.replicas, least[first], most[first])
        idle = first[~taking]
        least[idle] = most[idle] = 0
        return cls(rows, least, most, selected.available[positions], running, placed)

    def standing(self, seats: int, members: Numbers) -> Standing:
        """What these members start from where they are given so many seats together."""
        least, most = self.least[members], self.most[members]
        stays = np.maximum(least, np.minimum(self.running[members], most))
        growing = int(stays.sum()) <= seats
        base, ceiling = (stays, most) if growing else (least, stays)
        return Standing(self.rows[members], base, ceiling, growing)

    def shortage(self, replicas: int) -> str:
        """That not all replicas can be placed."""
        clusters = "1 cluster" if len(self.rows) == 1 else f"{len(self.rows)} clusters"
        return (
            f"{replicas} replicas are asked for, but the {clusters} selected can take "
            f"{self.placed} within room and bounds."
        )
