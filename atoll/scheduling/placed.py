"""Where work runs already, as rows of a fleet."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from atoll.model.binding import Target
from atoll.scheduling.columns import Mask, Numbers, Rows, total


class Placed(NamedTuple):
    """Clusters of the fleet that hold the work already: their rows, and the replicas they run."""

    rows: Rows
    replicas: Numbers

    @classmethod
    def of(cls, targets: tuple[Target, ...], rows: Mapping[str, int]) -> "Placed":
        """Of these targets those that the rows know."""
        if not targets:
            return NONE_PLACED
        names, replicas = zip(*targets, strict=True)
        found = [*map(rows.get, names)]
        if None in found:
            return cls.of(tuple(each for each in targets if each.name in rows), rows)
        return cls(np.array(found, np.int64), np.array(replicas, np.int64))

    def __bool__(self) -> bool:
        return len(self.rows) > 0

    def among(self, chosen: Mask) -> "Placed":
        """Those whose row is chosen, in their order."""
        again = chosen[self.rows].nonzero()[0]
        if len(again) == len(self.rows):
            return self
        return Placed(self.rows[again], self.replicas[again])

    def added_to(self, room: Numbers, rows: Rows, count: int) -> Numbers:
        """The room in these rows, of so many, with what runs there."""
        if not self:
            return room
        running = np.zeros(count, np.int64)
        np.add.at(running, self.rows, self.replicas)
        return room + running[rows]

    @property
    def total(self) -> int:
        return total(self.replicas)


NONE_PLACED = Placed(np.zeros(0, np.int64), np.zeros(0, np.int64))
