"""How long it may go untold that something does not run well: soon it may, and is told once then.

In: how long there has been something to tell, how much else waits for its turn, and whether this
presses. Out: in how many seconds to tell it. What presses, such as that something no longer runs
well, is put off for a moment; what is new, or new somewhere, may wait for longer where there is
more to do than can be done at once: told once, it takes less of it.
"""

from collections.abc import Collection
from math import inf
from typing import NamedTuple

from atoll.model.health import is_well
from atoll.wire import Object

MOMENT_S, MOST_S = 1.0, 20.0
FEW = 15
"""While so much waits it is told after a moment; while more does, after longer."""


class Waited(NamedTuple):
    """How long there has been something to tell, and how much waits for its turn."""

    seconds: float
    backlog: int = 0


FOR_LONG = Waited(inf)


def left_s(waited: Waited, *, presses: bool = False) -> float:
    """For how many seconds something may still go untold; what presses, for a moment only."""
    patience_s = MOMENT_S if presses else min(MOMENT_S * max(1.0, waited.backlog / FEW), MOST_S)
    return max(0.0, patience_s - waited.seconds)


def is_worse(told: Collection[Object], found: Collection[Object], name: str) -> bool:
    """Whether something that was told to be well is not, or is not there any more.

    `name`: the field that says what each entry is about.
    """
    well = [each.get(name) for each in found if is_well(each)]
    return any(is_well(each) and each.get(name) not in well for each in told)
