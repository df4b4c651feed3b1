"""Where work runs already, as rows of a fleet."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from atoll.model.binding import Target
from atoll.scheduling.columns import Mask, Numbers, Rows


class Placed(NamedTuple):
    """Clusters of the fleet that hold the work already: their rows, and the replicas they run."""

    rows: Rows
    replicas: Numbers

    @classmethod
    def of(cls, targets: tuple[Target, ...], rows: Mapping[str, int]) -> "Placed":
        names, replicas = zip(*targets, strict=True)
        found = np.array([rows.get(name, -1) for name in names], np.int64)
        placed = cls(found, np.array(replicas, np.int64))
        gone = found < 0
        return Placed(found[~gone], placed.replicas[~gone]) if gone.any() else placed

    def __bool__(self) -> bool:
        return len(self.rows) > 0

    def among(self, chosen: Mask) -> "Placed":
        """Those whose row is chosen, in their order."""
        again = chosen[self.rows]
        return self if again.all() else Placed(self.rows[again], self.replicas[again])

    @property
    def total(self) -> int:
        return int(self.replicas.sum())


NONE_PLACED = Placed(np.zeros(0, np.int64), np.zeros(0, np.int64))
