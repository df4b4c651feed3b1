"""How long it may go untold that something does not run well: soon it may, and is told once then.

In: what was told of it last, and how long there has been something else to tell, and of how many.
Out: in how many seconds to tell it. That something no longer runs well is put off for a moment;
what is new may wait for longer where much is: those who tell it share their time.
"""

from collections.abc import Collection
from math import inf
from typing import NamedTuple

from atoll.interpreting.operations import are_well
from atoll.model.action import Object

MOMENT_S, MOST_S = 1.0, 20.0
FEW = 25
"""Of so many it is told after a moment; of more, after longer."""


class Waited(NamedTuple):
    """How long there has been something to tell, and of how many things there is."""

    seconds: float
    untold: int = 0


FOR_LONG = Waited(inf)


def left_s(told: Collection[Object], waited: Waited) -> float:
    """For how many seconds it may still go untold that something is not as it was told."""
    return max(0.0, _patience_s(told, waited.untold) - waited.seconds)


def _patience_s(told: Collection[Object], untold: int) -> float:
    return MOMENT_S if are_well(told) else min(MOMENT_S * max(1.0, untold / FEW), MOST_S)
