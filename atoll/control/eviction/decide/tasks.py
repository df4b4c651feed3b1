"""Eviction tasks of a binding: how one is written, and what becomes of it.

A task says that a copy is to be given up once another has taken its place. It is done when all
targets run well, or when its time is over and they have what they should: what runs is never given
up for nothing, so a task that finds no replacement stays open. A purge mode that asks for the copy
to go at once is obeyed by those who send; here such a task only ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

from atoll.control.eviction.decide.tolerating import Order
from atoll.dialects.wire import instant, written_time
from atoll.model.action import Object

REASON, PRODUCER = "TaintUntolerated", "TaintManager"
AT_ONCE = ("Directly", "Immediately")
_STAMP = "creationTimestamp"
_NANOSECONDS = 1_000_000_000


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


def begun(target: Mapping[str, Any], why: Order, purge_mode: str, now: float) -> dict[str, Any]:
    """The task for a target that must be left."""
    until = "" if why.at < 0 else f" any longer than until {written_time(why.at)}"
    return {
        "fromCluster": target["name"],
        "purgeMode": purge_mode,
        **({"replicas": target["replicas"]} if target.get("replicas") else {}),
        "reason": REASON,
        "message": f"the taint {why.taint} is not tolerated{until}",
        "producer": PRODUCER,
        _STAMP: written_time(now),
    }


def stamped(task: Object, now: float) -> Object:
    """The task with the time since which it counts."""
    return task if task.get(_STAMP) else {**task, _STAMP: written_time(now)}


def is_of_taint(task: Object) -> bool:
    """Whether a task is of ours, for a taint, and leaves the copy alone until it is replaced."""
    return (
        task.get("producer") == PRODUCER
        and task.get("purgeMode") not in AT_ONCE
        and task.get("suppressDeletion") is None
    )


def fate(task: Object, given: Given, now: float) -> tuple[Fate, float | None]:
    """What becomes of a task, and in how many seconds that may be another thing."""
    suppressed = task.get("suppressDeletion")
    if suppressed is not None:
        return (Fate.STAYS if suppressed else Fate.DONE), None
    if task["fromCluster"] in given.back:
        return Fate.BACK, None
    if given.replacement is Replacement.HEALTHY:
        return Fate.DONE, None
    left = _since(task, now) + _grace(task, given) - now
    if left > 0:
        return Fate.STAYS, left
    gone = task.get("purgeMode") in AT_ONCE
    return (Fate.DONE if gone or given.replacement else Fate.STUCK), None


def _since(task: Object, now: float) -> float:
    found = instant(task, _STAMP, "")
    return now if found is None else found / _NANOSECONDS


def _grace(task: Object, given: Given) -> float:
    own = task.get("gracePeriodSeconds")
    return given.timeout_s if own is None else float(own)
