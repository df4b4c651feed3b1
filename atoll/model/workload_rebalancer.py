"""A wish to have workloads placed anew, once, and what came of it for each."""

from dataclasses import dataclass
from typing import NamedTuple

from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.metadata import Metadata
from atoll.wire import Object


class Observed(NamedTuple):
    """A workload that was listed, and what was answered; nothing yet, if there is no result."""

    workload: Ref
    result: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadRebalancer:
    """A WorkloadRebalancer. `problem`: what cannot be read of it."""

    wire: Object
    meta: Metadata
    workloads: tuple[Ref, ...] = ()
    """What it lists, each once."""
    kept_s: int | None = None
    """How long it stays once all is answered; None for ever."""
    observed: tuple[Observed, ...] = ()
    finished: float | None = None
    problem: Invalid | None = None
