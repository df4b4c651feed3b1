"""What all clusters say of one template: on its binding item by item, on the template as a sum.

Comes in: the binding, its Works and its template. Goes out: at most one write of the binding's
status and one of the template's. How the statuses of a kind add up is handed in. As long as no
cluster has said anything, neither does this; and while some have not, or are not well, it waits a
moment for them, to tell it once. What else is to be said in the binding's status, of where it was
decided to go, is handed in and told along.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atoll.control.delivery.decide import plan as working
from atoll.control.delivery.decide import reflecting
from atoll.control.patience import FOR_LONG, Waited, is_worse, left_s
from atoll.dialects.karmada.objects.encoding import patched
from atoll.dialects.karmada.works import APPLIED
from atoll.dialects.kubernetes import conditions
from atoll.dialects.kubernetes.conditions import Condition
from atoll.errors import AtollError
from atoll.interpreting.operations import Item
from atoll.model.action import NOTHING, Action, Plan, Ref, Tell, Update
from atoll.model.health import is_well
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object

Aggregate = Callable[[Object, tuple[Item, ...]], Object | None]
Report = Callable[[ResourceBinding, float], Plan]

FULLY_APPLIED = "FullyApplied"
_ALL = Condition(
    FULLY_APPLIED, True, "FullyAppliedSuccess", "All works have been successfully applied"
)
_NOT_ALL = Condition(
    FULLY_APPLIED,
    False,
    "FullyAppliedFailed",
    "Failed to apply all works, see status.aggregatedStatus for details",
)


@dataclass(frozen=True, slots=True)
class SeenStatuses:
    """A binding of either kind, its Works in any order, and its template if that is there.

    `waited`: how long there has been something to tell.
    """

    binding: ResourceBinding
    works: Sequence[Work]
    template: Object | None
    aggregate: Aggregate
    waited: Waited = FOR_LONG
    report: Report = lambda _binding, _now: NOTHING


def plan(seen: SeenStatuses, now: float) -> Plan:
    """Carry what the Works say to the binding and to the template, where it is news there."""
    binding = seen.binding
    if binding.problem is not None:
        return NOTHING
    status = binding.status
    live = [each for each in seen.works if not each.meta.is_going]
    silent = not any(_applied(each) for each in live)
    if silent and not status.aggregated and not conditions.find(status.conditions, FULLY_APPLIED):
        return NOTHING
    items = items_of(binding, live)
    is_complete = _is_complete(binding, items)
    condition = _ALL if is_complete else _NOT_ALL
    stated = conditions.stated(status.conditions, condition, now)
    actions: list[Action] = []
    if (tuple(items), tuple(stated)) != (status.aggregated, status.conditions):
        actions += _failures(seen, items)
        worse = is_worse(status.aggregated, items, "clusterName")
        patience_s = left_s(seen.waited, presses=worse)
        if patience_s and not actions and not (is_complete and all(map(is_well, items))):
            return Plan(again_in=patience_s)
        wire = binding.wire
        for action in seen.report(binding, now).actions:
            if isinstance(action, Update):
                wire = action.object
                stated = conditions.stated(wire["status"].get("conditions") or (), condition, now)
            else:
                actions.append(action)
        fresh = {"aggregatedStatus": items, "conditions": stated}
        actions.append(Update(patched(wire, {"status": fresh}), subresource="status"))
    return Plan((*actions, *_sum(seen, items)))


def items_of(binding: ResourceBinding, works: Iterable[Work]) -> list[dict[str, Any]]:
    """One item per Work, by cluster."""
    sent = sorted((each for each in works if each.cluster), key=lambda one: (one.cluster, one.ref))
    about = binding.spec.template
    return [{"clusterName": each.cluster, **_item(each, about)} for each in sent]


def targets(binding: ResourceBinding) -> frozenset[str]:
    """The clusters that are to have the object: decided, needed by others, or just leaving."""
    leaving = (each.cluster for each in binding.spec.evictions if not each.is_at_once)
    return frozenset([*(each.name for each in binding.targets), *leaving])


def _failures(seen: SeenStatuses, items: Sequence[Mapping[str, Any]]) -> list[Action]:
    """What clusters refuse, told where the owner of the template will look."""
    before = [each.get("appliedMessage") for each in seen.binding.status.aggregated]
    said = [each["appliedMessage"] for each in items if each.get("appliedMessage")]
    about = [each for each in (seen.binding.wire, seen.template) if each is not None]
    return [
        Tell(each, working.NOT_APPLIED, message, warning=True)
        for message in said
        for each in about
        if message not in before
    ]


def _is_complete(binding: ResourceBinding, items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every cluster that is to have the object has it, and no other reports any."""
    reporting = [each["clusterName"] for each in items]
    expected = targets(binding)
    return (
        bool(expected)
        and len(reporting) == len(expected)
        and frozenset(reporting) == expected
        and all(each.get("applied") for each in items)
    )


def _applied(work: Work) -> Object | None:
    return conditions.find(work.status.conditions, APPLIED)


def _item(work: Work, about: Ref) -> dict[str, Any]:
    """What a Work says of one object. Of what is not applied, an old status says nothing."""
    applied = _applied(work)
    if applied is None or applied.get("status") != "True":
        message = (applied or {}).get("message")
        return {**({"appliedMessage": message} if message else {}), "health": "Unknown"}
    entry = _entry(work, about)
    health = (entry or {}).get("health") or "Unknown"
    status = (entry or {}).get("status")
    return {**({} if status is None else {"status": status}), "applied": True, "health": health}


def _entry(work: Work, about: Ref) -> Object | None:
    refs = [Ref.of(each) if working.is_object(each) else None for each in work.spec.manifests]
    if about not in refs:
        return None
    identifier = reflecting.identifier(refs.index(about), about)
    return next((each for each in work.status.manifests if _identified(each) == identifier), None)


def _identified(entry: Object) -> Mapping[str, Any]:
    """Who an entry is about, as we write it, whoever wrote it."""
    given = entry.get("identifier") or {}
    empty = [key for key in ("group", "namespace") if given.get(key) == ""]
    return {"resource": "", **{key: value for key, value in given.items() if key not in empty}}


def _sum(seen: SeenStatuses, items: Sequence[Mapping[str, Any]]) -> list[Action]:
    """The template's status, if its kind has a sum and it differs from what stands there."""
    template = seen.template
    if template is None or template["metadata"].get("deletionTimestamp"):
        return []
    wanted = seen.binding.spec.template_uid
    if wanted and wanted != template["metadata"].get("uid"):
        # Made anew under the same name: its own binding will speak for it.
        return []
    try:
        status = seen.aggregate(template, tuple(Item.of(each) for each in items))
    except AtollError as failed:
        message = f"The statuses of {Ref.of(template)} cannot be summed up: {failed}"
        about = (seen.binding.wire, template)
        return [Tell(each, "AggregateStatusFailed", message, warning=True) for each in about]
    if status is None or status == (template.get("status") or {}):
        return []
    return [Update({**template, "status": status}, subresource="status")]
