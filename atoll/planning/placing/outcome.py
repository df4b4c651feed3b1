"""What a binding's status says after a turn: the condition `Scheduled` and what goes with it.

An outcome and the status there is come in; the status there should be goes out, equal to the one
there is if nothing is new. Other people's fields of the status are left as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.model.action import Object
from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.planning.placing.standing import (
    LAST,
    OBSERVED_GENERATION,
    OBSERVED_TERM,
    Standing,
    written_time,
)

SCHEDULED = "Scheduled"
SUCCESS = "Binding has been scheduled successfully."
MESSAGE_MOST = 32768
"""What the API takes as a condition's message."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended.

    `decided`: by a decision made now. `moved`: the targets change, and with them the generation.
    `written`: the binding is written before its status.
    """

    verdict: Verdict
    message: str = ""
    decided: bool = False
    moved: bool = False
    written: bool = False
    term: str | None = None
    """The term decided for; None: as before."""

    @property
    def ok(self) -> bool:
        return self.verdict is Verdict.SUCCESS

    @property
    def said(self) -> str:
        return (self.message or SUCCESS)[:MESSAGE_MOST]


PLACED = Outcome(Verdict.SUCCESS)
"""Nothing needed deciding."""


def kept(message: str, runs: tuple[Target, ...]) -> str:
    """The message of a decision that found no cluster, where what runs stays nevertheless."""
    if not runs:
        return message
    where = ", ".join(sorted(each.name for each in runs))
    return f"{message} What runs stays, as no change of the policy ordered it away: {where}."


def status_of(wire: Object) -> Mapping[str, Any]:
    """The status there is."""
    status = wire.get("status")
    return status if isinstance(status, Mapping) else {}


def condition_of(status: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What the condition says; None without one."""
    for each in _conditions(status):
        if _is_ours(each):
            return each.get("status"), each.get("reason"), each.get("message")
    return None


def status_after(
    wire: Object, found: Standing | None, outcome: Outcome, now: float
) -> Mapping[str, Any]:
    """The status a binding should have; `found` is None where it could not be read."""
    before = status_of(wire)
    after = {**before, "conditions": _with_condition(before, outcome, now)}
    if found is None or not outcome.ok:
        return after
    term = found.term if outcome.term is None else outcome.term
    after[OBSERVED_GENERATION] = found.generation + outcome.moved
    _set(after, OBSERVED_TERM, term)
    if outcome.written or (outcome.decided and found.binding.fresh):
        after[LAST] = written_time(now)
    elif found.last and found.last != before.get(LAST):
        after[LAST] = found.last  # of the decision whose status was never written
    elif outcome.decided and after != before:
        after[LAST] = written_time(now)
    return after


def _with_condition(before: Mapping[str, Any], outcome: Outcome, now: float) -> list[Any]:
    """All conditions with ours set; its time changes only with its status."""
    holds = "True" if outcome.ok else "False"
    ours: dict[str, Any] = {"type": SCHEDULED, "status": holds}
    ours |= {"reason": str(outcome.verdict), "message": outcome.said}
    conditions = _conditions(before)
    for place, each in enumerate(conditions):
        if _is_ours(each):
            same = each.get("status") == holds and each.get("lastTransitionTime")
            ours["lastTransitionTime"] = same or written_time(now)
            conditions[place] = {**each, **ours}
            return conditions
    return [*conditions, {**ours, "lastTransitionTime": written_time(now)}]


def _conditions(status: Mapping[str, Any]) -> list[Any]:
    found = status.get("conditions")
    return list(found) if isinstance(found, list) else []


def _is_ours(condition: Any) -> bool:
    return isinstance(condition, Mapping) and condition.get("type") == SCHEDULED


def _set(status: dict[str, Any], key: str, value: str) -> None:
    """Set a text; an empty one is left out."""
    if value:
        status[key] = value
    else:
        status.pop(key, None)
