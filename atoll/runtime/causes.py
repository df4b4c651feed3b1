"""What led to what is done now: so that all that one change leads to shares one turn.

A change that concerns many, such as a policy's or a cluster's, is the cause of all that follows
from it, through every list that it passes. Tasks and timers inherit the cause they were begun with.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CAUSE: ContextVar[str] = ContextVar("cause", default="")


@contextmanager
def caused_by(cause: str) -> Iterator[None]:
    """This led to whatever is done within; nothing did, if it is empty."""
    token = _CAUSE.set(cause)
    try:
        yield
    finally:
        _CAUSE.reset(token)


def cause() -> str:
    """What led to what is done now; empty if that stands for itself."""
    return _CAUSE.get()
