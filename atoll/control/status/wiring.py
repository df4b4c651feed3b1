"""Statuses of bindings and templates: what clusters say of their Works, summed up."""

from atoll.control import patience
from atoll.control.hub import Hub, spec_changed
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.scheduler.decide import plan as scheduling
from atoll.control.settling import Settling
from atoll.control.status import decide
from atoll.control.wakes import TEMPLATES
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.references import binding_of
from atoll.model.action import Plan, Ref
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Wire


def status(hub: Hub) -> Loop[Ref]:
    """The loop of statuses, by binding."""
    loop = _loop(hub)

    def binding_changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        if after is not None and spec_changed(before, after):
            loop.wake(after.ref, Level.SUM)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and spec_changed(before, after):
            loop.wake(binding_of(Ref.of(after)), Level.SUM)

    def work_changed(before: Work | None, after: Work | None) -> None:
        work = after or before
        for binding in work.bindings if work is not None else ():
            loop.wake(binding, Level.SUM)

    hub.hear_bindings("status", binding_changed)
    hub.hear_values("status", kinds.WORK, work_changed)
    hub.hear("status", TEMPLATES, template_changed)
    return loop


def _loop(hub: Hub) -> Loop[Ref]:
    """The loop of statuses."""
    settling: Settling[Ref] = Settling(lambda: hub.now, hub.turns.backlog)

    def observe(ref: Ref) -> decide.SeenStatuses | None:
        binding = hub.binding(ref)
        if binding is None:
            settling.forget(ref)
            return None
        return decide.SeenStatuses(
            binding,
            hub.works_of(ref),
            None if hub.is_of_policy(binding) else hub.plane.find(binding.spec.template),
            hub.interpreters.aggregate,
            settling.waited(ref),
            report,
        )

    def report(binding: ResourceBinding, now: float) -> Plan:
        seen = scheduling.SeenBinding(binding=binding, fleet=hub.fleet, setting=hub.setting)
        return scheduling.report(seen, now)

    def plan(seen: decide.SeenStatuses) -> Plan:
        return settling.planned(seen.binding.ref, decide.plan(seen, hub.now))

    follow = None if hub.traces is None else hub.traces.aggregating
    controller = Controller("status", observe, plan, follow=follow)
    return Loop(controller, hub.performer, hub.turns, again=Level.SUM, few=patience.FEW)
