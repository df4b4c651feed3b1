"""What led to what is done now: so that all that one change leads to shares one turn.

A change that concerns many, such as a policy's or a cluster's, is the cause of all that follows
from it, through every list that it passes. Tasks and timers inherit the cause they were begun with.
"""

from contextvars import ContextVar, Token

_CAUSE: ContextVar[str] = ContextVar("cause", default="")


class caused_by:  # noqa: N801 (it is used as a word, and made for every change there is)
    """This led to whatever is done within; nothing did, if it is empty."""

    __slots__ = ("_cause", "_token")

    def __init__(self, cause: str) -> None:
        self._cause = cause

    def __enter__(self) -> None:
        self._token: Token[str] = _CAUSE.set(self._cause)

    def __exit__(self, *_: object) -> None:
        _CAUSE.reset(self._token)


def cause() -> str:
    """What led to what is done now; empty if that stands for itself."""
    return _CAUSE.get()
