"""A span: one step of a trace, with a beginning, an end and how it went."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.tracing.context import Context

Value = str | bool | int | float | tuple[str, ...]
Attributes = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span that has ended. Times are nanoseconds since 1970."""

    name: str
    context: Context
    parent: str = ""
    began_ns: int
    ended_ns: int
    attributes: Attributes = field(default_factory=dict)
    problem: str | None = None
    """Why it failed; None: it did not."""
