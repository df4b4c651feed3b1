"""What goes first when there is much to do: that objects arrive, then what is said of them.

What is said later is said once: it then has what came in meanwhile.
"""

from enum import IntEnum


class Level(IntEnum):
    """How much something presses, the most first."""

    ARRIVE = 0
    REPORT = 1
    SUM = 2
    TELL = 3
