"""Eviction tasks of a binding: how one is written, and what becomes of it.

A task says that a copy is to be given up once another has taken its place. It is done when all
targets run well, or when its time is over and they have what they should: what runs is never given
up for nothing, so a task that finds no replacement stays open. A purge mode that asks for the copy
to go at once is obeyed by those who send; here such a task only ends.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

from atoll.control.eviction.decide.tolerating import Order
from atoll.dialects.karmada.objects.resource_bindings import eviction
from atoll.dialects.wire import written_time
from atoll.model.binding import Target
from atoll.model.resource_binding import Eviction

REASON, PRODUCER = "TaintUntolerated", "TaintManager"
_STAMP = "creationTimestamp"


class Replacement(IntEnum):
    """How far those are that take the place of what leaves."""

    NONE = 0
    SENT = 1  # all targets have what they should have, however it runs
    HEALTHY = 2


class Fate(Enum):
    """What becomes of a task."""

    STAYS = "stays"
    DONE = "done"
    BACK = "back"  # its cluster has it again
    STUCK = "stuck"  # its time is over, and there is nothing in its place


@dataclass(frozen=True, slots=True)
class Given:
    """What the fate of a binding's tasks depends on.

    `back`: the clusters that may have their copy back, as nothing took its place.
    """

    replacement: Replacement
    back: frozenset[str]
    timeout_s: float


def begun(target: Target, why: Order, purge_mode: str, now: float) -> Eviction:
    """The task for a target that must be left."""
    until = "" if why.at < 0 else f" any longer than until {written_time(why.at)}"
    return eviction(
        {
            "fromCluster": target.name,
            "purgeMode": purge_mode,
            **({"replicas": target.replicas} if target.replicas else {}),
            "reason": REASON,
            "message": f"the taint {why.taint} is not tolerated{until}",
            "producer": PRODUCER,
            _STAMP: written_time(now),
        }
    )


def stamped(task: Eviction, now: float) -> Eviction:
    """The task with the time since which it counts."""
    return task if task.created is not None else eviction({**task.wire, _STAMP: written_time(now)})


def is_of_taint(task: Eviction) -> bool:
    """Whether a task is of ours, for a taint, and leaves the copy alone until it is replaced."""
    return task.producer == PRODUCER and not task.is_at_once and task.suppressed is None


def fate(task: Eviction, given: Given, now: float) -> tuple[Fate, float | None]:
    """What becomes of a task, and in how many seconds that may be another thing."""
    if task.suppressed is not None:
        return (Fate.STAYS if task.suppressed else Fate.DONE), None
    if task.cluster in given.back:
        return Fate.BACK, None
    if given.replacement is Replacement.HEALTHY:
        return Fate.DONE, None
    since = now if task.created is None else task.created
    left = since + (given.timeout_s if task.grace_s is None else task.grace_s) - now
    if left > 0:
        return Fate.STAYS, left
    return (Fate.DONE if task.is_at_once or given.replacement else Fate.STUCK), None
