"""The scheduler's turn over one binding: is a decision needed, what is it, what is written.

A binding, the fleet and the moment come in; a write goes out. A decision takes at most two, in two
turns: the targets with what they were decided for, and then, on the version that made, the status,
unless whoever else writes the status has written that with it (`report`). The first carries a mark
from which the second follows, so that being interrupted between them costs nothing. What a decision
is, is known to `scheduling`.

What runs is taken away only if a user ordered it: a placement that nothing fits empties the
targets if it differs from the one applied; if only clusters changed, what runs stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from atoll.control.scheduler.decide.outcome import (
    Outcome,
    kept,
    said_in,
    status_after,
    status_of,
    still_run,
    tasks_of,
    tell,
)
from atoll.control.scheduler.decide.preempting.making_room import (
    Others,
    Room,
    make_room,
    wants_preemption,
)
from atoll.dialects import json
from atoll.dialects.karmada import names
from atoll.dialects.karmada.ordinals import NOTED, is_split, note
from atoll.dialects.karmada.preemption_notes import PREEMPTS, Part, written
from atoll.dialects.karmada.standing import (
    LAST,
    MARK,
    is_told,
    mark,
    to_schedule,
)
from atoll.dialects.wire import written_time
from atoll.errors import Invalid
from atoll.model.action import NOTHING, Action, Plan, Update
from atoll.model.binding import Binding, Target
from atoll.model.decision import Verdict
from atoll.model.intent import Failback
from atoll.model.ordinals import Range
from atoll.model.resource_binding import ResourceBinding
from atoll.model.standing import Standing
from atoll.scheduling.cycle import decide, terms_from
from atoll.scheduling.decision import Decision
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.question import NOWHERE, Surroundings
from atoll.scheduling.setting import USUAL_SETTING, Setting
from atoll.scheduling.trigger import Trigger, trigger
from atoll.wire import Object

LOOK_BACK_EVERY = 60.0
"""Seconds after which to see whether an earlier term can hold the work again."""
SUCCEEDED, FAILED = "ScheduleBindingSucceed", "ScheduleBindingFailed"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenBinding:
    """A ResourceBinding or ClusterResourceBinding, and the world it is to be placed in."""

    binding: ResourceBinding | None
    fleet: Fleet
    setting: Setting = USUAL_SETTING
    surroundings: Surroundings = NOWHERE
    others: Others | None = None
    """Who might give way; None as long as nobody has to."""


@dataclass(frozen=True, slots=True, eq=False)
class Placing:
    """What to do, and the decision behind it, for the record; None if none was needed."""

    plan: Plan = NOTHING
    trigger: Trigger = Trigger.NONE
    decision: Decision | None = None
    verdict: Verdict | None = None
    """How the binding stands; None if it is not ours to place."""
    wants_preemption: bool = False
    """Whether it found no room, and others may give way: to be planned again with them."""
    gives: tuple[Part, ...] = ()
    """Who gives way to it."""

    @property
    def retry(self) -> bool:
        """Whether to try again without waiting for a change."""
        return self.decision is not None and self.decision.retry

    @property
    def binding(self) -> Object | None:
        """The binding as the decision writes it, if that finds a place and writes more than a
        status.
        """
        write = next(iter(self.plan.actions), None)
        is_found = self.decision is not None and self.decision.ok
        if is_found and isinstance(write, Update) and not write.subresource:
            return write.object
        return None


def plan(seen: SeenBinding, now: float) -> Placing:
    """What to do about a binding."""
    binding = seen.binding
    found = None if binding is None else to_schedule(binding)
    if binding is None or found is None:
        return Placing()
    if isinstance(found, Invalid):
        return _unreadable(binding.wire, found, now)
    back = _failed_back(found, seen)
    if back is not None:
        return _placed(found, back, Trigger.FAILBACK, now)
    why = _trigger(found, seen)
    if _stands(found, why):
        reported = _reported(found.wire, found, Outcome(Verdict.SUCCESS), now)
        return Placing(_until_back(reported, found.binding), verdict=Verdict.SUCCESS)
    decision = decide(found.binding, seen.fleet, seen.setting, seen.surroundings)
    if not wants_preemption(binding, decision):
        return _placed(found, decision, why, now)
    if seen.others is None:
        return replace(_placed(found, decision, why, now), wants_preemption=True)
    room = make_room(binding, decision, seen.others)
    if isinstance(room, Room):
        return _placed(found, room.decision, why, now, room.gives)
    refused = f"{decision.message} Nobody gives way: {room.reason}."
    return _placed(found, decision._replace(message=refused), why, now)


def report(seen: SeenBinding, now: float) -> Plan:
    """What the status is yet to say of the decision that a binding carries; nothing if that is to
    be made anew.
    """
    if seen.binding is None or is_told(seen.binding.wire):
        return NOTHING
    found = to_schedule(seen.binding)
    if not isinstance(found, Standing):
        return NOTHING
    why = _trigger(found, seen)
    if why is Trigger.DUPLICATED and _is_duplicated(found.binding) and _is_news(found):
        # It is decided anew whenever it is looked at; what came of that is not to be contradicted.
        why = Trigger.NONE
    if not _stands(found, why):
        return NOTHING
    return _reported(found.wire, found, Outcome(Verdict.SUCCESS), now)


def _is_news(found: Standing) -> bool:
    """Whether nothing is told yet of the last decision: neither it, nor a refusal since then."""
    status = status_of(found.wire)
    said = said_in(status)
    return said is None or (said[0] == "True" and found.last != status.get(LAST))


def _is_duplicated(binding: Binding) -> bool:
    """Whether every target has as many replicas as are wanted now."""
    return all(each.replicas == binding.replicas for each in binding.targets)


def _stands(found: Standing, why: Trigger) -> bool:
    """Whether what was decided last is what is wanted.

    What is nowhere is decided again: nothing can be moved by it, and it may be nowhere for want of
    a place.
    """
    return why is Trigger.NONE and bool(found.binding.targets) and not _lacks_ordinals(found)


def _placed(
    found: Standing, decision: Decision, why: Trigger, now: float, gives: tuple[Part, ...] = ()
) -> Placing:
    try:
        carried_out = _carried_out(found, decision, why, now, written(PREEMPTS, gives))
    except Invalid as problem:
        return _unreadable(found.wire, problem, now)
    plan = _until_back(carried_out, found.binding)
    return Placing(plan, why, decision, decision.verdict, gives=gives)


def _failed_back(found: Standing, seen: SeenBinding) -> Decision | None:
    """The decision to return to an earlier term, where that is wanted and possible."""
    if not _may_fail_back(found.binding):
        return None
    from_first = replace(found.binding, observed_term="")
    decision = decide(from_first, seen.fleet, seen.setting, seen.surroundings)
    earlier = len(decision.attempts) <= terms_from(found.binding).start
    return decision if decision.ok and earlier else None


def _may_fail_back(binding: Binding) -> bool:
    wanted = binding.intent.failback is Failback.WHEN_POSSIBLE and binding.targets
    return bool(wanted) and terms_from(binding).start > 0


def _until_back(plan: Plan, binding: Binding) -> Plan:
    """Room in an earlier term is not announced: look again."""
    if plan.again_in is not None or not _may_fail_back(binding):
        return plan
    return replace(plan, again_in=LOOK_BACK_EVERY)


def _unreadable(wire: Object, problem: Invalid, now: float) -> Placing:
    """Say what is wrong with a binding; nothing is tried again before it changes."""
    outcome = Outcome(Verdict.SCHEDULER_ERROR, str(problem))
    return Placing(_reported(wire, None, outcome, now), verdict=outcome.verdict)


def _trigger(found: Standing, seen: SeenBinding) -> Trigger:
    why = trigger(found.binding, found.applied_intent, seen.fleet, seen.setting.features)
    if why in (Trigger.REPLICAS_CHANGED, Trigger.DUPLICATED) and _was_evicted(found):
        return Trigger.EVICTED
    gone = any(each.name not in seen.fleet.rows for each in found.binding.targets)
    # Nobody may have looked while the cluster was on its way out.
    return Trigger.TERMINATING_TARGET if why is Trigger.NONE and gone else why


def _was_evicted(found: Standing) -> bool:
    """Whether a target was taken away since the last decision, for a place to be found for it."""
    begun = (str(each.get("creationTimestamp", "")) for each in tasks_of(found.wire))
    return bool(found.last) and any(each >= found.last for each in begun)


def _carried_out(
    found: Standing, decision: Decision, why: Trigger, now: float, beside: Mapping[str, str]
) -> Plan:
    """The next write of a decision, and of what is noted beside; none if all is so already."""
    runs, message = found.binding.targets, decision.message
    if decision.ok:
        targets = decision.targets
        moved = dict(targets) != dict(runs) or len(targets) != len(runs)
        ordinals = _ordinals(found, decision)
        as_noted = (found.applied, found.term, found.ordinals)
        if moved or as_noted != (found.placement, decision.term, ordinals):
            marked = {MARK: mark(written_time(now), decision.term), **_noted(ordinals), **beside}
            return _first(_with_targets(found, targets if moved else None, marked))
    elif decision.verdict is Verdict.NO_CLUSTER_FIT:
        if why is Trigger.PLACEMENT_CHANGED and found.applied_intent is not None:
            return _first(_with_targets(found, (), _noted(found.ordinals)))
        message = kept(message, runs)
    if not decision.ok:
        message = still_run(message, found.wire)
    return _reported(found.wire, found, Outcome(decision.verdict, message, decided=True), now)


def _lacks_ordinals(found: Standing) -> bool:
    """Whether nobody knows any more which ordinals run where: someone took the note away."""
    return is_split(found.wire) and found.ordinals is None


def _ordinals(found: Standing, decision: Decision) -> tuple[Range, ...] | None:
    """Which ordinals of a StatefulSet go where, close to those decided last; None if undivided."""
    if not is_split(found.wire):
        return None
    divided = decision.ordinals(found.ordinals or ())
    return None if divided is None else tuple(sorted(divided.ranges, key=_by_start))


def _by_start(ordinals: Range) -> tuple[int, str]:
    return ordinals.start, ordinals.cluster


def _noted(ordinals: tuple[Range, ...] | None) -> Mapping[str, str]:
    return {} if ordinals is None else {NOTED: note(ordinals)}


def _first(wire: Object) -> Plan:
    """Write the binding; its status is written on what that made of it, and follows."""
    return Plan((Update(wire),), again_in=0.0)


def _with_targets(
    found: Standing, targets: tuple[Target, ...] | None, marked: Mapping[str, str]
) -> Object:
    """The binding with these targets, None for those it has, and what they were decided for."""
    metadata, spec = dict(found.wire["metadata"]), dict(found.wire["spec"])
    if targets is not None:
        spec["clusters"] = [_target(each) for each in targets]
    if targets == ():
        del spec["clusters"]
    applied = {names.APPLIED_PLACEMENT: json.written(found.placement)}
    known = metadata.get("annotations") or {}
    kept = {key: value for key, value in known.items() if key != NOTED}
    metadata["annotations"] = {**kept, **applied, **marked}
    return {**found.wire, "metadata": metadata, "spec": spec}


def _target(target: Target) -> Mapping[str, Any]:
    """A target as Karmada writes it: no replicas are left out."""
    return {"name": target.name, **({"replicas": target.replicas} if target.replicas else {})}


def _reported(wire: Object, found: Standing | None, outcome: Outcome, now: float) -> Plan:
    """The status as it follows from an outcome, if it differs, and events if the outcome is new."""
    before, status = status_of(wire), status_after(wire, found, outcome, now)
    if status == before:
        return NOTHING
    is_new = said_in(status) != said_in(before) or status.get(LAST) != before.get(LAST)
    told = _events(wire, outcome) if is_new else []
    return Plan((*told, Update({**wire, "status": status}, subresource="status")))


def _events(wire: Object, outcome: Outcome) -> list[Action]:
    """One event on the binding and one on what it places."""
    reason, message = FAILED, outcome.said
    if outcome.ok:
        clusters = (wire.get("spec") or {}).get("clusters") or []
        result = ", ".join(f"{each['name']}:{each.get('replicas') or 0}" for each in clusters)
        reason, message = SUCCEEDED, f"{message} Result: {{{result}}}"
    return tell(wire, reason, message, warning=not outcome.ok)
