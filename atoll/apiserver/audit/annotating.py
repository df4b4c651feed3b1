"""Remarks on the request that is being served, for its audit events.

Whoever decides something about a request may say so here; where nobody audits, it goes nowhere and
costs nothing.
"""

from contextvars import ContextVar

_remarks: ContextVar[dict[str, str] | None] = ContextVar("remarks", default=None)


def collect(remarks: dict[str, str]) -> None:
    """Put what is said of this task's request from now on into this."""
    _remarks.set(remarks)


def annotate(key: str, value: str) -> None:
    """Say this of the request that is being served; what was said first stays."""
    remarks = _remarks.get()
    if remarks is not None:
        remarks.setdefault(key, value)
