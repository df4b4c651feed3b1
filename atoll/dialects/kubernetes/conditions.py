"""Conditions in an object's status: what holds, why, and since when.

The time is that of the last change of status and is only written where something else changes, so
that the same finding twice is the same object.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from atoll.wire import Object

MESSAGE_MOST = 32768


@dataclass(frozen=True, slots=True)
class Condition:
    """A finding: whether something holds, with the reason for programs and the words for people.

    `holds` is None where nobody can tell.
    `generation`: of which state of the object it was found, where that is worth saying.
    """

    type: str
    holds: bool | None
    reason: str
    message: str
    generation: int | None = None


def find(conditions: Iterable[Object], kind: str) -> Object | None:
    return next((each for each in conditions if each.get("type") == kind), None)


def stated(conditions: Iterable[Object], fresh: Condition, now: float) -> list[Object]:
    """The conditions with this one among them, in its old place if it had one."""
    known = list(conditions)
    before = find(known, fresh.type)
    after = _written(fresh, before, now)
    if before is None:
        return [*known, after]
    return [after if each is before else each for each in known]


def _written(fresh: Condition, before: Object | None, now: float) -> Object:
    status = "Unknown" if fresh.holds is None else str(fresh.holds)
    since = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if before is not None and before.get("status") == status:
        since = before.get("lastTransitionTime", since)
    seen = {} if fresh.generation is None else {"observedGeneration": fresh.generation}
    return {
        **(before or {}),
        **seen,
        "type": fresh.type,
        "status": status,
        "reason": fresh.reason,
        "message": fresh.message[:MESSAGE_MOST],
        "lastTransitionTime": since,
    }
