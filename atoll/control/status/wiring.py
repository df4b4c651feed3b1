"""Statuses of bindings and templates: what clusters say of their Works, summed up."""

from functools import partial

from atoll.client.api import Wire
from atoll.control import patience
from atoll.control.hub import BINDING_KINDS, WORK, Hub, meant_otherwise
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.scheduler.announcing import report
from atoll.control.settling import Settling
from atoll.control.status import decide
from atoll.dialects.karmada.references import binding_of, template_of, work_bindings
from atoll.model.action import Plan, Ref


def status(hub: Hub) -> Loop[Ref]:
    """The loop of statuses, by binding."""
    loop = _loop(hub)

    def binding_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after):
            loop.wake(Ref.of(after), Level.SUM)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after):
            loop.wake(binding_of(Ref.of(after)), Level.SUM)

    def work_changed(before: Wire | None, after: Wire | None) -> None:
        for binding in work_bindings(after or before or {}):
            loop.wake(binding, Level.SUM)

    for kind in BINDING_KINDS:
        hub.hear(kind, binding_changed)
    hub.hear("Work", work_changed)
    hub.hear_templates(template_changed)
    return loop


def _loop(hub: Hub) -> Loop[Ref]:
    """The loop of statuses."""
    settling: Settling[Ref] = Settling(lambda: hub.now)

    def observe(ref: Ref) -> decide.SeenStatuses | None:
        binding = hub.plane.find(ref)
        if binding is None:
            settling.forget(ref)
            return None
        return decide.SeenStatuses(
            binding,
            hub.plane.mirror(hub.plane.collection(WORK, "Work")).by(work_bindings, ref),
            hub.plane.find(template_of(binding)),
            hub.interpreters.aggregate,
            settling.waited(ref),
            partial(report, hub),
        )

    def plan(seen: decide.SeenStatuses) -> Plan:
        return settling.planned(Ref.of(seen.binding), decide.plan(seen, hub.now))

    follow = None if hub.traces is None else hub.traces.aggregating
    controller = Controller("status", observe, plan, follow=follow)
    return Loop(controller, hub.performer, hub.turns, again=Level.SUM, few=patience.FEW)
