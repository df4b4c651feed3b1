"""Where in which trace something happens, as W3C writes it for others to go on from.

Text comes in or goes out: the annotation by which a trace travels on Works, a `traceparent` with
the time at which the trace began. Nothing here makes ids or knows a clock.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

ANNOTATION = "placement.atoll.io/traceparent"

_WRITTEN = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class Context:
    """A span of a trace, by ids in hexadecimal digits, and whether its trace is recorded."""

    trace: str
    span: str
    sampled: bool = True

    def __str__(self) -> str:
        return f"00-{self.trace}-{self.span}-{self.sampled:02x}"


@dataclass(frozen=True, slots=True)
class Mark:
    """A context, and since when there is its trace, in seconds: what an old one did is past."""

    context: Context
    since: float

    def __str__(self) -> str:
        return f"{self.context} {datetime.fromtimestamp(self.since, UTC):%Y-%m-%dT%H:%M:%SZ}"


def read_context(written: str) -> Context | None:
    """The context that a `traceparent` gives; None if it is none, as the standard wants it."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not (int(trace, 16) and int(span, 16)):
        return None
    return Context(trace, span, bool(int(flags, 16) & _SAMPLED))


def read_mark(written: str) -> Mark | None:
    """The mark that an annotation gives; None if somebody else wrote it."""
    text, _, since = written.partition(" ")
    context = read_context(text)
    if context is None:
        return None
    try:
        began = datetime.fromisoformat(since)
        return None if began.tzinfo is None else Mark(context, began.timestamp())
    except (ValueError, OverflowError):
        return None
