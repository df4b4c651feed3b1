"""What a binding's status says after a turn: the condition `Scheduled` and what goes with it.

An outcome and the status there is come in; the status there should be goes out, equal to the one
there is if nothing is new. Other people's fields of the status are left as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.dialects.karmada.standing import LAST, OBSERVED_GENERATION, OBSERVED_TERM
from atoll.dialects.kubernetes.conditions import Condition, find, stated
from atoll.dialects.wire import written_time
from atoll.model.action import Action, Tell
from atoll.model.binding import Target
from atoll.model.decision import Verdict
from atoll.model.standing import Standing
from atoll.wire import Object

SCHEDULED = "Scheduled"
SUCCESS = "Binding has been scheduled successfully."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended; `decided`: by a decision made now."""

    verdict: Verdict
    message: str = ""
    decided: bool = False

    @property
    def ok(self) -> bool:
        return self.verdict is Verdict.SUCCESS

    @property
    def said(self) -> str:
        return self.message or SUCCESS


def kept(message: str, runs: tuple[Target, ...]) -> str:
    """The message of a decision that found no cluster, where what runs stays nevertheless."""
    if not runs:
        return message
    where = ", ".join(sorted(each.name for each in runs))
    return f"{message} What runs stays, as no change of the policy ordered it away: {where}."


def still_run(message: str, wire: Object) -> str:
    """The message of a decision that failed, where copies are being evicted nevertheless."""
    gone = ("Directly", "Immediately")
    where = [each["fromCluster"] for each in tasks_of(wire) if each.get("purgeMode") not in gone]
    if not where:
        return message
    return f"{message} What is to leave {', '.join(where)} stays there until it has a place."


def tasks_of(wire: Object) -> list[Object]:
    """The evictions that are under way."""
    return list((wire.get("spec") or {}).get("gracefulEvictionTasks") or ())


def tell(wire: Object, reason: str, message: str, *, warning: bool) -> list[Action]:
    """One event on a binding and one on what it places."""
    told: list[Action] = [Tell(wire, reason, message, warning=warning)]
    resource = (wire.get("spec") or {}).get("resource")
    if isinstance(resource, Mapping) and resource.get("name"):
        template = {
            "apiVersion": resource.get("apiVersion", ""),
            "kind": resource.get("kind", ""),
            "metadata": {
                key: resource[key] for key in ("namespace", "name", "uid") if resource.get(key)
            },
        }
        told.append(Tell(template, reason, message, warning=warning))
    return told


def status_of(wire: Object) -> Mapping[str, Any]:
    """The status there is."""
    status = wire.get("status")
    return status if isinstance(status, Mapping) else {}


def said_in(status: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What the condition says; None without one."""
    found = find(_conditions(status), SCHEDULED)
    return None if found is None else tuple(map(found.get, ("status", "reason", "message")))


def status_after(
    wire: Object, found: Standing | None, outcome: Outcome, now: float
) -> Mapping[str, Any]:
    """The status a binding should have; `found` is None where it could not be read."""
    before = status_of(wire)
    condition = Condition(SCHEDULED, outcome.ok, str(outcome.verdict), outcome.said)
    after = {**before, "conditions": stated(_conditions(before), condition, now)}
    if found is None or not outcome.ok:
        return after
    after[OBSERVED_GENERATION] = found.generation
    if found.term:
        after[OBSERVED_TERM] = found.term
    else:
        after.pop(OBSERVED_TERM, None)
    if outcome.decided and found.binding.fresh:
        after[LAST] = written_time(now)
    elif found.last and found.last != before.get(LAST):
        after[LAST] = found.last  # of the decision that this status is the rest of
    elif outcome.decided and after != before:
        after[LAST] = written_time(now)
    return after


def _conditions(status: Mapping[str, Any]) -> list[Object]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
