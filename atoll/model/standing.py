"""Where a workload stands: what is wanted of it, and what was decided for it last."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.model.binding import Binding
from atoll.model.intent import Intent
from atoll.model.ordinals import Range
from atoll.wire import Object


@dataclass(frozen=True, slots=True)
class Standing:
    """A binding that is ours to place."""

    wire: Object
    binding: Binding
    placement: Mapping[str, Any]
    """The placement wanted, as it is noted once it is applied: with Atoll's additions inside."""
    applied: Any
    """The placement noted by the last decision; None if there is none to be read."""
    applied_intent: Intent | None
    generation: int
    term: str
    """The term decided for last, whether or not the status knows already."""
    last: str
    """When it was decided last, likewise; empty if never."""
    ordinals: tuple[Range, ...] | None = None
    """Which ordinals were decided to run where, if they are divided."""
