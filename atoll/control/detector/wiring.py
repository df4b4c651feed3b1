"""Templates and policies: which binding a template has, and what a policy lets go of."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from atoll.control.detector.decide import plan as templates
from atoll.control.detector.decide.binding import Interpreted
from atoll.control.hub import BINDING, Hub, spec_changed
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.policies import decide as policies
from atoll.control.policies.templates import Held, candidates
from atoll.control.refusals import tell_owner
from atoll.control.wakes import AWAITED, POLICIES, TEMPLATES
from atoll.dialects.karmada.references import binding_of, owner_of, template_of
from atoll.dialects.karmada.templates import is_template
from atoll.effects import stopwatch
from atoll.errors import Invalid
from atoll.interpreting.operations import Operation
from atoll.model.action import Action, Create, Plan, Ref, Update
from atoll.model.policy import Claim, Policy
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Object, Wire

PRIORITY_CLASS = ("scheduling.k8s.io/v1", "PriorityClass")


def detection(hub: Hub, placed: Callable[[Object], Object]) -> tuple[Loop[Ref], Loop[Ref]]:
    """The loops of templates and of policies; `placed` gives a binding its targets, if it can."""
    known, held = hub.policies, Held(hub)
    looking = Loop(_detector(hub, placed), hub.performer, hub.turns)
    releasing = _policies(hub, held)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and spec_changed(before, after) and is_template(after):
            if hub.traces is not None:
                hub.traces.changed(before, after)
            looking.wake(Ref.of(after))

    def policy_changed(before: Policy | None, after: Policy | None) -> None:
        if not spec_changed(before, after):
            return
        look_at_templates(before, after)
        if after is not None:
            releasing.wake(after.ref)

    def look_at_templates(*versions: Policy | None) -> None:
        found = _templates_for(hub, held, *versions)
        for ref in policies.wakes(versions, found, hub.claims):
            looking.wake(ref)
        for policy in versions:
            if policy is not None and policy.own_template is not None:
                looking.wake(policy.ref)

    def binding_changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        binding = after or before
        if binding is not None and spec_changed(before, after):
            # One that is there is on its way: it is only looked at whether it is as it should be.
            level = Level.ARRIVE if after is None else Level.REPORT
            template = template_of(binding.wire)  # also of one of which something cannot be read
            looking.wake(template, level)
            for policy in known.owning(template):
                looking.wake(policy.ref, level)

    def awaited_changed(before: Wire | None, after: Wire | None) -> None:
        # Policies wait for others' objects to be there, whatever those say.
        if before is None or after is None:
            look_at_templates(*known.waiting_for(Ref.of(after or before or {})))

    def priority_changed(before: Wire | None, after: Wire | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        look_at_templates(*known.prioritized_by(name))

    if hub.features.PriorityBasedScheduling:
        hub.want(*PRIORITY_CLASS)
        hub.hear("detector", PRIORITY_CLASS, priority_changed)
    hub.hear("detector", TEMPLATES, template_changed)
    for kind in hub.sources.kinds:
        hub.hear_values("detector", kind, policy_changed, POLICIES)
    for awaited in hub.sources.awaited:
        hub.hear("detector", awaited, awaited_changed, AWAITED)
    hub.hear_bindings("detector", binding_changed)
    return looking, releasing


def _detector(hub: Hub, placed: Callable[[Object], Object]) -> Controller[Ref]:
    def matched(seen: templates.SeenTemplate) -> Plan:
        begun = stopwatch()
        plan = templates.plan(seen)
        hub.numbers.matched.note(stopwatch() - begun)
        return replace(plan, actions=tuple(_placed(each, placed) for each in plan.actions))

    return Controller(
        "detector",
        partial(_observe_template, hub),
        matched,
        tell_owner(hub, templates.NOT_APPLIED, _told_on),
        took=hub.numbers.apply_took,
        follow=None if hub.traces is None else hub.traces.detecting,
    )


def _placed(action: Action, placed: Callable[[Object], Object]) -> Action:
    """An action, with targets if it writes a binding."""
    if isinstance(action, Create | Update) and action.object["apiVersion"] == BINDING:
        return replace(action, object=placed(action.object))
    return action


def _told_on(wire: Object) -> Ref:
    """Where people look for what became of a write: at the template, or the policy it is in."""
    owner = owner_of(wire) if wire["apiVersion"] == BINDING else None
    if owner is None:
        return Ref.of(wire)
    namespace = wire["metadata"].get("namespace", "")
    return Ref(owner["apiVersion"], owner["kind"], namespace, owner["name"])


def _observe_template(hub: Hub, ref: Ref) -> templates.SeenTemplate | None:
    owner = hub.policies.get(ref)
    template = hub.plane.find(ref) if owner is None else owner.own_template
    if template is None:
        return None
    selecting = hub.policies.of_template(template) if owner is None else ()
    concerned = selecting if owner is None else (owner,)
    awaited = (each for policy in concerned for each in policy.awaits)
    return templates.SeenTemplate(
        template=template,
        claims=hub.claims,
        policies=selecting,
        owner=owner,
        binding=hub.plane.find(binding_of(Ref.of(template))),
        interpreted=_interpreted(hub, template),
        there=frozenset(each for each in awaited if hub.plane.find(each) is not None),
        priorities=_priorities(hub, concerned),
        features=hub.features,
        new_id=hub.new_id(),
    )


def _priorities(hub: Hub, policies: Iterable[Policy]) -> dict[str, int]:
    """The values of the priority classes that policies name, where anyone asks."""
    if not hub.features.PriorityBasedScheduling:
        return {}
    named = dict.fromkeys(each.priority_class for each in policies if each.priority_class)
    found = {name: hub.plane.find(Ref(*PRIORITY_CLASS, "", name)) for name in named}
    values = {name: (each or {}).get("value") for name, each in found.items()}
    return {name: value for name, value in values.items() if isinstance(value, int)}


def _interpreted(hub: Hub, template: Object) -> Interpreted:
    """The components of a workload that has several, if the gate is open; else its replicas."""
    known = hub.interpreters
    by_component = hub.features.MultiplePodTemplatesScheduling
    try:
        if by_component and known.has(Ref.of(template), Operation.COMPONENTS):
            return Interpreted(components=known.components(template))
        found = known.replicas(template)
    except Invalid as problem:
        return Interpreted(problem=str(problem))
    return Interpreted() if found is None else Interpreted(found.count, found.requirements)


def _templates_for(hub: Hub, held: Held, *versions: Policy | None) -> list[Wire]:
    """The templates that versions of a policy may mean, and those it holds; few others are seen."""
    found: dict[Ref, Wire] = {}
    for policy in versions:
        if policy is not None:
            for each in (*_selected(hub, policy), *held.by(policy.claim)):
                found[Ref.of(each)] = each
    return [each for each in found.values() if is_template(each)]


def _selected(hub: Hub, policy: Policy) -> Iterator[Wire]:
    """What a policy may select, as its selectors find it."""
    for selector in policy.selectors:
        mirror = hub.plane.mirrored(selector.api_version, selector.kind)
        if mirror is not None:
            yield from candidates(selector, mirror)


def _policies(hub: Hub, held: Held) -> Loop[Ref]:
    """The loop of policies: what they let go of, and what those are told that want to know."""
    reports = hub.sources.reports

    def observe(ref: Ref) -> policies.SeenPolicy | None:
        policy, report = hub.policies.get(ref), reports.get(ref[:2])
        if policy is None or not (report or policy.meta.is_going):
            return None
        bindings = [] if policy.claim is None else hub.bindings(claimed, policy.claim)
        templates = [each for each in held.by(policy.claim) if is_template(each)]
        return policies.SeenPolicy(
            policy, hub.claims, templates, bindings, report, find=hub.plane.find
        )

    def claimed(binding: ResourceBinding) -> tuple[Claim, ...]:
        claim = hub.claims.of(binding.wire)
        return () if claim is None else (claim,)

    def binding_changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        for binding in (before, after):
            for claim in () if binding is None else claimed(binding):
                if claim.policy[:2] in reports:
                    loop.wake(claim.policy, Level.SUM)

    controller = Controller("policies", observe, lambda seen: policies.plan(seen, hub.now))
    loop: Loop[Ref] = Loop(controller, hub.performer, hub.turns)
    if reports:
        hub.hear_bindings("policies", binding_changed)
    return loop
