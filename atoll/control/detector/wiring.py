"""Templates and policies: which binding a template has, and what a policy lets go of."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from atoll.client.api import Wire
from atoll.control.detector.decide import plan as templates
from atoll.control.detector.decide.binding import Interpreted
from atoll.control.hub import (
    BINDING,
    BINDING_KINDS,
    OVERRIDE_KINDS,
    POLICY,
    POLICY_KINDS,
    Hub,
    meant_otherwise,
)
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.policies import decide as policies
from atoll.control.policies.index import (
    CLUSTER_OVERRIDE,
    OVERRIDE,
    PolicyIndex,
    priority_classes,
    waits_for,
)
from atoll.control.policies.templates import Held, candidates
from atoll.control.refusals import tell_owner
from atoll.dialects.karmada.claims import Claim, claim_for, claim_of
from atoll.dialects.karmada.references import binding_of, template_of
from atoll.dialects.karmada.templates import Rules, is_template, selectors_of
from atoll.effects import stopwatch
from atoll.errors import Invalid
from atoll.interpreting.operations import Operation
from atoll.model.action import Action, Create, Object, Plan, Ref, Update

RULES = Rules()
PRIORITY_CLASS = ("scheduling.k8s.io/v1", "PriorityClass")


def detection(hub: Hub, placed: Callable[[Object], Object]) -> tuple[Loop[Ref], Loop[Ref]]:
    """The loops of templates and of policies; `placed` gives a binding its targets, if it can."""
    known, held = PolicyIndex(), Held(hub)
    releaser = Controller("policies", partial(_observe_policy, hub, held), policies.plan)
    looking = Loop(_detector(hub, known, placed), hub.performer, hub.turns)
    releasing = Loop(releaser, hub.performer, hub.turns)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after) and is_template(after, RULES):
            if hub.traces is not None:
                hub.traces.changed(before, after)
            looking.wake(Ref.of(after))

    def policy_changed(before: Wire | None, after: Wire | None) -> None:
        if not meant_otherwise(before, after):
            return
        look_at_templates(before, after)
        if after is not None:
            releasing.wake(Ref.of(after))

    def look_at_templates(*versions: Object | None) -> None:
        for ref in policies.wakes(versions, _templates_for(hub, held, *versions)):
            looking.wake(ref)

    def binding_changed(before: Wire | None, after: Wire | None) -> None:
        wire = after or before
        if wire is not None and meant_otherwise(before, after):
            # One that is there is on its way: it is only looked at whether it is as it should be.
            looking.wake(template_of(wire), Level.ARRIVE if after is None else Level.REPORT)

    def override_changed(before: Wire | None, after: Wire | None) -> None:
        # Policies wait for override policies to be there, whatever those say.
        if before is None or after is None:
            for policy in known.waiting_for(Ref.of(after or before or {})):
                look_at_templates(policy)

    def priority_changed(before: Wire | None, after: Wire | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        for policy in known.prioritized_by(name):
            look_at_templates(policy)

    if hub.features.PriorityBasedScheduling:
        hub.want(*PRIORITY_CLASS)
        hub.hear(PRIORITY_CLASS[1], priority_changed)
    hub.hear_templates(template_changed)
    for kind in POLICY_KINDS:
        hub.hear(kind, known.changed)
        hub.hear(kind, policy_changed)
    for kind in OVERRIDE_KINDS:
        hub.hear(kind, override_changed)
    for kind in BINDING_KINDS:
        hub.hear(kind, binding_changed)
    return looking, releasing


def _detector(hub: Hub, known: PolicyIndex, placed: Callable[[Object], Object]) -> Controller[Ref]:
    def matched(seen: templates.SeenTemplate) -> Plan:
        begun = stopwatch()
        plan = templates.plan(seen)
        hub.numbers.matched.note(stopwatch() - begun)
        return replace(plan, actions=tuple(_placed(each, placed) for each in plan.actions))

    return Controller(
        "detector",
        partial(_observe_template, hub, known),
        matched,
        tell_owner(hub, templates.NOT_APPLIED, template_behind),
        took=hub.numbers.apply_took,
        follow=None if hub.traces is None else hub.traces.detecting,
    )


def _placed(action: Action, placed: Callable[[Object], Object]) -> Action:
    """An action, with targets if it writes a binding."""
    if isinstance(action, Create | Update) and action.object["apiVersion"] == BINDING:
        return replace(action, object=placed(action.object))
    return action


def template_behind(wire: Object) -> Ref:
    """The template that a binding is for, or the template itself."""
    is_binding = wire["apiVersion"] == BINDING
    return template_of(wire) if is_binding else Ref.of(wire)


def _observe_template(hub: Hub, known: PolicyIndex, ref: Ref) -> templates.SeenTemplate | None:
    template = hub.plane.find(ref)
    if template is None:
        return None
    selecting = known.of_template(template)
    overrides = {each for policy in selecting for each in _overrides(hub, policy)}
    return templates.SeenTemplate(
        template=template,
        policies=selecting,
        binding=hub.plane.find(binding_of(ref)),
        interpreted=_interpreted(hub, template),
        overrides=frozenset(name for namespace, name in overrides if namespace),
        cluster_overrides=frozenset(name for namespace, name in overrides if not namespace),
        priorities=_priorities(hub, selecting),
        rules=replace(
            RULES,
            preemption=hub.features.PropagationPolicyPreemption,
            priority=hub.features.PriorityBasedScheduling,
            affinity=hub.features.WorkloadAffinity,
        ),
        new_id=hub.new_id(),
    )


def _overrides(hub: Hub, policy: Object) -> Iterator[tuple[str, str]]:
    """The override policies that a policy waits for and that are there."""
    for namespace, name in waits_for(policy):
        kind = OVERRIDE if namespace else CLUSTER_OVERRIDE
        if hub.plane.find(Ref(POLICY, kind, namespace, name)) is not None:
            yield namespace, name


def _priorities(hub: Hub, policies: Iterable[Object]) -> dict[str, int]:
    """The values of the priority classes that policies name, where anyone asks."""
    if not hub.features.PriorityBasedScheduling:
        return {}
    named = {name: None for policy in policies for name in priority_classes(policy)}
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


def _templates_for(hub: Hub, held: Held, *versions: Object | None) -> list[Wire]:
    """The templates that versions of a policy may mean, and those it holds; few others are seen."""
    found: dict[Ref, Wire] = {}
    for policy in versions:
        if policy is not None:
            for each in (*_selected(hub, policy), *held.by(claim_for(policy))):
                found[Ref.of(each)] = each
    return [each for each in found.values() if is_template(each, RULES)]


def _selected(hub: Hub, policy: Object) -> Iterator[Wire]:
    """What a policy may select, as its selectors find it."""
    for selector in selectors_of(policy):
        mirror = hub.plane.mirrored(selector.api_version, selector.kind)
        if mirror is not None:
            yield from candidates(selector, mirror)


def _observe_policy(hub: Hub, held: Held, ref: Ref) -> policies.SeenPolicy | None:
    policy = hub.plane.find(ref)
    if policy is None or not policy["metadata"].get("deletionTimestamp"):
        return None
    claim = claim_for(policy)
    bindings = [each for kind in BINDING_KINDS for each in _claimed(hub, claim, kind)]
    templates = [each for each in held.by(claim) if is_template(each, RULES)]
    return policies.SeenPolicy(policy, tuple(templates), tuple(bindings))


def _claimed(hub: Hub, claim: Claim | None, kind: str) -> list[Wire]:
    """The bindings of a kind that carry a claim."""
    mirror = hub.plane.mirrored(BINDING, kind)
    return [] if mirror is None or claim is None else mirror.by(_claims, claim)


def _claims(wire: Wire) -> tuple[Claim, ...]:
    claim = claim_of(wire)
    return () if claim is None else (claim,)
