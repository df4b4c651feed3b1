"""Templates and policies: which binding a template has, and what a policy lets go of."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from atoll.client.api import Wire
from atoll.client.mirror import Mirror
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
from atoll.control.refusals import tell_owner
from atoll.dialects.karmada.claims import Claim, claim_for, claim_of
from atoll.dialects.karmada.references import binding_of, template_of
from atoll.dialects.karmada.templates import Rules, is_template
from atoll.effects import stopwatch
from atoll.errors import Invalid
from atoll.interpreting.operations import Operation
from atoll.model.action import Action, Create, Object, Plan, Ref, Update

RULES = Rules()
PRIORITY_CLASS = ("scheduling.k8s.io/v1", "PriorityClass")


def detection(hub: Hub, placed: Callable[[Object], Object]) -> tuple[Loop[Ref], Loop[Ref]]:
    """The loops of templates and of policies; `placed` gives a binding its targets, if it can."""
    releaser = Controller("policies", partial(_observe_policy, hub), policies.plan)
    looking = Loop(_detector(hub, placed), hub.performer, hub.turns)
    releasing = Loop(releaser, hub.performer, hub.turns)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after) and is_template(after, RULES):
            if hub.traces is not None:
                hub.traces.changed(before, after)
            looking.wake(Ref.of(after))

    def policy_changed(before: Wire | None, after: Wire | None) -> None:
        if not meant_otherwise(before, after):
            return
        for ref in policies.wakes(before, after, _templates_for(hub, before, after)):
            looking.wake(ref)
        if after is not None:
            releasing.wake(Ref.of(after))

    def binding_changed(before: Wire | None, after: Wire | None) -> None:
        wire = after or before
        if wire is not None and meant_otherwise(before, after):
            # One that is there is on its way: it is only looked at whether it is as it should be.
            looking.wake(template_of(wire), Level.ARRIVE if after is None else Level.REPORT)

    def override_changed(before: Wire | None, after: Wire | None) -> None:
        override = Ref.of(after or before or {})
        for policy in policies.depending(_all_policies(hub), override):
            policy_changed(None, dict(policy))

    def priority_changed(before: Wire | None, after: Wire | None) -> None:
        name = (after or before or {})["metadata"]["name"]
        for policy in policies.prioritized(_all_policies(hub), name):
            policy_changed(None, dict(policy))

    if hub.features.PriorityBasedScheduling:
        hub.want(*PRIORITY_CLASS)
        hub.hear(PRIORITY_CLASS[1], priority_changed)
    hub.hear_templates(template_changed)
    for kind in POLICY_KINDS:
        hub.hear(kind, policy_changed)
    for kind in OVERRIDE_KINDS:
        hub.hear(kind, override_changed)
    for kind in BINDING_KINDS:
        hub.hear(kind, binding_changed)
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


def _observe_template(hub: Hub, ref: Ref) -> templates.SeenTemplate | None:
    template = hub.plane.find(ref)
    if template is None:
        return None
    return templates.SeenTemplate(
        template=template,
        policies=tuple(_policies_for(hub, ref.namespace)),
        binding=hub.plane.find(binding_of(ref)),
        interpreted=_interpreted(hub, template),
        overrides=frozenset(
            each["metadata"]["name"] for each in hub.in_namespace("OverridePolicy", ref.namespace)
        ),
        cluster_overrides=frozenset(
            each["metadata"]["name"] for each in hub.plane.all(POLICY, "ClusterOverridePolicy")
        ),
        priorities=_priorities(hub),
        rules=replace(
            RULES,
            preemption=hub.features.PropagationPolicyPreemption,
            priority=hub.features.PriorityBasedScheduling,
            affinity=hub.features.WorkloadAffinity,
        ),
        new_id=hub.new_id(),
    )


def _priorities(hub: Hub) -> dict[str, int]:
    """The values of priority classes, where the plane has any and someone asks."""
    found = hub.plane.all(*PRIORITY_CLASS) if hub.features.PriorityBasedScheduling else []
    values = ((each["metadata"]["name"], each.get("value")) for each in found)
    return {name: value for name, value in values if isinstance(value, int)}


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


def _policies_for(hub: Hub, namespace: str) -> list[Wire]:
    own = hub.in_namespace("PropagationPolicy", namespace) if namespace else []
    return own + hub.plane.all(POLICY, "ClusterPropagationPolicy")


def _all_policies(hub: Hub) -> list[Wire]:
    return [each for kind in POLICY_KINDS for each in hub.plane.all(POLICY, kind)]


def _templates_for(hub: Hub, *versions: Wire | None) -> list[Wire]:
    """The templates that versions of a policy may mean, and those it holds; no others are seen."""
    found: dict[Ref, Wire] = {}
    for policy in versions:
        if policy is not None:
            for each in (*_selected(hub, policy), *_held(hub, policy)):
                found[Ref.of(each)] = each
    return [each for each in found.values() if is_template(each, RULES)]


def _selected(hub: Hub, policy: Wire) -> Iterator[Wire]:
    """What is of a kind and in a namespace that a policy selects from."""
    for selector in policy["spec"].get("resourceSelectors") or ():
        mirror = hub.plane.mirrored(selector["apiVersion"], selector["kind"])
        if mirror is not None:
            yield from in_reach(policy, selector, mirror)


def in_reach(policy: Object, selector: Object, mirror: Mirror) -> Iterable[Wire]:
    """The objects of a kind among which a selector of a policy may mean some."""
    namespace = policy["metadata"].get("namespace") or selector.get("namespace")
    return mirror.within(namespace) if namespace else mirror


def _held(hub: Hub, policy: Wire) -> Iterator[Wire]:
    for each in hub.template_collections():
        yield from _claimed(hub, policy, each.api_version, each.kind)


def _claimed(hub: Hub, policy: Wire, api_version: str, kind: str) -> list[Wire]:
    mirror, claim = hub.plane.mirrored(api_version, kind), claim_for(policy)
    return [] if mirror is None or claim is None else mirror.by(_claims, claim)


def _claims(wire: Wire) -> tuple[Claim, ...]:
    claim = claim_of(wire)
    return () if claim is None else (claim,)


def _observe_policy(hub: Hub, ref: Ref) -> policies.SeenPolicy | None:
    policy = hub.plane.find(ref)
    if policy is None or not policy["metadata"].get("deletionTimestamp"):
        return None
    bindings = [each for kind in BINDING_KINDS for each in _claimed(hub, policy, BINDING, kind)]
    held = [each for each in _held(hub, policy) if is_template(each, RULES)]
    return policies.SeenPolicy(policy, tuple(held), tuple(bindings))
