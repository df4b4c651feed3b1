"""Questions to someone outside: the answer is known, or whoever asks is told how to find out.

Interpreting and planning may not wait. A layer that has to ask a script or a server, and does not
know the answer yet, raises `Unanswered`; whoever may wait finds out, and plans anew from the
beginning. Who is asked and how is not known here.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Known:
    """An answer as JSON; while somebody holds it, the same question has it.

    `again_in`: it is worth asking again after so many seconds, since it may only be a bad moment.
    """

    answer: bytes
    again_in: float | None = None


class Unanswered(Exception):
    """Nobody knows yet; `find_out` asks whoever does. No error: who handles errors lets it pass."""

    def __init__(self, find_out: Callable[[], Awaitable[Known]]) -> None:
        super().__init__("not known yet")
        self.find_out = find_out
