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
from atoll.dialects.karmada import names
from atoll.dialects.kubernetes import conditions
from atoll.dialects.kubernetes.conditions import Condition
from atoll.errors import AtollError
from atoll.interpreting.operations import Item
from atoll.model.action import NOTHING, Action, Object, Plan, Ref, Tell, Update
from atoll.model.health import is_well

Aggregate = Callable[[Object, tuple[Item, ...]], Object | None]
Report = Callable[[Object, float], Plan]

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
_AT_ONCE = ("Immediately", "Directly")


@dataclass(frozen=True, slots=True)
class SeenStatuses:
    """A binding of either kind, its Works in any order, and its template if that is there.

    `waited`: how long there has been something to tell.
    """

    binding: Object
    works: Sequence[Object]
    template: Object | None
    aggregate: Aggregate
    waited: Waited = FOR_LONG
    report: Report = lambda _binding, _now: NOTHING


def plan(seen: SeenStatuses, now: float) -> Plan:
    """Carry what the Works say to the binding and to the template, where it is news there."""
    binding = seen.binding
    status = binding.get("status") or {}
    known = status.get("conditions") or []
    live = [each for each in seen.works if not each["metadata"].get("deletionTimestamp")]
    silent = not any(_applied(each) for each in live)
    if silent and not status.get("aggregatedStatus") and not conditions.find(known, FULLY_APPLIED):
        return NOTHING
    items = items_of(binding, live)
    is_complete = _is_complete(binding, items)
    condition = _ALL if is_complete else _NOT_ALL
    fresh = _with(status, items, condition, now)
    actions: list[Action] = []
    if fresh != {"aggregatedStatus": [], **status}:
        actions += _failures(seen, items)
        worse = is_worse(status.get("aggregatedStatus") or (), items, "clusterName")
        patience_s = left_s(seen.waited, presses=worse)
        if patience_s and not actions and not (is_complete and all(map(is_well, items))):
            return Plan(again_in=patience_s)
        for action in seen.report(binding, now).actions:
            if isinstance(action, Update):
                fresh = _with(action.object["status"], items, condition, now)
            else:
                actions.append(action)
        actions.append(Update({**binding, "status": fresh}, subresource="status"))
    return Plan((*actions, *_sum(seen, items)))


def _with(
    status: Object, items: list[dict[str, Any]], condition: Condition, now: float
) -> dict[str, Any]:
    """A binding's status that says this of its clusters."""
    stated = conditions.stated(status.get("conditions") or [], condition, now)
    return {**status, "aggregatedStatus": items, "conditions": stated}


def items_of(binding: Object, works: Iterable[Object]) -> list[dict[str, Any]]:
    """One item per Work, by cluster."""
    about = Ref(*(binding["spec"]["resource"].get(each, "") for each in _RESOURCE))
    found = []
    for work in works:
        cluster = names.cluster_of(work["metadata"]["namespace"])
        if cluster is not None:
            key = (cluster, work["metadata"]["name"])
            found.append((key, {"clusterName": cluster, **_item(work, about)}))
    return [item for _, item in sorted(found, key=lambda one: one[0])]


_RESOURCE = ("apiVersion", "kind", "namespace", "name")


def targets(binding: Object) -> frozenset[str]:
    """The clusters that are to have the object: decided, needed by others, or just leaving."""
    spec = binding.get("spec") or {}
    lists = [spec.get("clusters"), *(each.get("clusters") for each in spec.get("requiredBy") or ())]
    leaving = [
        each["fromCluster"]
        for each in spec.get("gracefulEvictionTasks") or ()
        if each.get("purgeMode") not in _AT_ONCE
    ]
    return frozenset([*(each["name"] for one in lists for each in one or ()), *leaving])


def _failures(seen: SeenStatuses, items: Sequence[Mapping[str, Any]]) -> list[Action]:
    """What clusters refuse, told where the owner of the template will look."""
    known = (seen.binding.get("status") or {}).get("aggregatedStatus") or ()
    before = [each.get("appliedMessage") for each in known]
    said = [each["appliedMessage"] for each in items if each.get("appliedMessage")]
    about = [each for each in (seen.binding, seen.template) if each is not None]
    return [
        Tell(each, working.NOT_APPLIED, message, warning=True)
        for message in said
        for each in about
        if message not in before
    ]


def _is_complete(binding: Object, items: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every cluster that is to have the object has it, and no other reports any."""
    reporting = [each["clusterName"] for each in items]
    expected = targets(binding)
    return (
        bool(expected)
        and len(reporting) == len(expected)
        and frozenset(reporting) == expected
        and all(each.get("applied") for each in items)
    )


def _applied(work: Object) -> Object | None:
    known = (work.get("status") or {}).get("conditions") or []
    return conditions.find(known, working.APPLIED)


def _item(work: Object, about: Ref) -> dict[str, Any]:
    """What a Work says of one object. Of what is not applied, an old status says nothing."""
    applied = _applied(work)
    if applied is None or applied.get("status") != "True":
        message = (applied or {}).get("message")
        return {**({"appliedMessage": message} if message else {}), "health": "Unknown"}
    entry = _entry(work, about)
    health = (entry or {}).get("health") or "Unknown"
    status = (entry or {}).get("status")
    return {**({} if status is None else {"status": status}), "applied": True, "health": health}


def _entry(work: Object, about: Ref) -> Object | None:
    refs = [Ref.of(each) if working.is_object(each) else None for each in working.manifests(work)]
    if about not in refs:
        return None
    identifier = reflecting.identifier(refs.index(about), about)
    entries = (work.get("status") or {}).get("manifestStatuses") or ()
    return next((each for each in entries if _identified(each) == identifier), None)


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
    wanted = seen.binding["spec"]["resource"].get("uid")
    if wanted and wanted != template["metadata"].get("uid"):
        # Made anew under the same name: its own binding will speak for it.
        return []
    try:
        status = seen.aggregate(template, tuple(Item.of(each) for each in items))
    except AtollError as failed:
        message = f"The statuses of {Ref.of(template)} cannot be summed up: {failed}"
        about = (seen.binding, template)
        return [Tell(each, "AggregateStatusFailed", message, warning=True) for each in about]
    if status is None or status == (template.get("status") or {}):
        return []
    return [Update({**template, "status": status}, subresource="status")]
