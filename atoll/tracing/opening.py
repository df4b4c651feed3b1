"""Where spans go, by the user's choice: to a collector, or nowhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.config import TracingChoice
from atoll.effects import Effects
from atoll.tracing.tracer import Tracer


@asynccontextmanager
async def tracing(choice: TracingChoice, effects: Effects) -> AsyncIterator[Tracer | None]:
    """A tracer whose spans are sent where the user wants them; None if that is nowhere."""
    if not choice.endpoint:
        yield None
        return
    from atoll.tracing.exporting import exporting  # what it takes is loaded only where it is used

    async with exporting(choice, effects.chance) as exporter:
        yield Tracer(effects, exporter.keep, ratio=choice.ratio, numbers=exporter.numbers)
