"""Makes spans: their ids by chance, their times by the clock, both as the process was given them.

Whoever does something opens a span and ends it; ended ones go to whoever keeps them. Of a trace
that is not recorded nothing is kept, but its context is made all the same, for others to go by.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from atoll.effects import Effects, stopwatch
from atoll.instruments.families import More
from atoll.tracing.context import Context
from atoll.tracing.span import Span, Value

Keep = Callable[[Span], None]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOW_BITS = 63


class Tracer:
    """The spans of one process; `ratio` says which part of the traces it begins is recorded."""

    def __init__(
        self, effects: Effects, keep: Keep, *, ratio: float = 1.0, numbers: More = tuple
    ) -> None:
        """`numbers`: what there is to tell of spans that were kept."""
        self.numbers = numbers
        self._now = effects.now
        self._draws = effects.chance.of("traces")
        self._keep = keep
        self._least = round(ratio * 2**_LOW_BITS)

    def now_ns(self) -> int:
        return (self._now() - _EPOCH) // _MICROSECOND * 1000

    def ns_at(self, begun: float) -> int:
        """When it was that a stopwatch showed this."""
        return self.now_ns() - round((stopwatch() - begun) * 1e9)

    def begin(self) -> Context:
        """The first span of a new trace."""
        number = self._draws.getrandbits(128) or 1
        # By the number itself, so that others with the same ratio would decide the same.
        sampled = number % 2**64 >> 1 < self._least
        return Context(f"{number:032x}", self._span_id(), sampled)

    def open(self, name: str, parent: Context, began_ns: int) -> "Open":
        """A span below another that has begun."""
        context = Context(parent.trace, self._span_id(), parent.sampled)
        return Open(self, name, context, parent.span, began_ns)

    def keep(self, span: Span) -> None:
        if span.context.sampled:
            self._keep(span)

    def _span_id(self) -> str:
        return f"{self._draws.getrandbits(64) or 1:016x}"


@dataclass(slots=True)
class Open:
    """A span that has begun; what is known of it only later is put among its attributes."""

    tracer: Tracer
    name: str
    context: Context
    parent: str
    began_ns: int
    attributes: dict[str, Value] = field(default_factory=dict)

    def end(self, problem: str | None = None) -> None:
        """Have it kept, with why it failed if it did."""
        self.tracer.keep(
            Span(
                name=self.name,
                context=self.context,
                parent=self.parent,
                began_ns=self.began_ns,
                ended_ns=self.tracer.now_ns(),
                attributes=self.attributes,
                problem=problem,
            )
        )
