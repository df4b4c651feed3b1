"""Bindings and their Works: what is sent to which cluster."""

from collections.abc import Iterable
from functools import partial

import yaml

from atoll.control.dependencies import decide as depending
from atoll.control.hub import BINDING, Hub, spec_changed
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.refusals import tell_owner
from atoll.control.wakes import TEMPLATES
from atoll.control.works import concerned
from atoll.control.works.decide import plan as decide
from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.rendering import Means
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.ordinals import is_told, may_run
from atoll.dialects.karmada.references import binding_of, template_of, work_bindings
from atoll.dialects.karmada.works import has_arrived
from atoll.errors import Invalid
from atoll.interpreting.operations import Operation
from atoll.interpreting.pruning import prune
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.ordinals import Range
from atoll.model.policy import OverridePolicy
from atoll.model.resource_binding import ResourceBinding
from atoll.model.work import Work
from atoll.wire import Object, Wire


def works(hub: Hub) -> Loop[Ref]:
    """The loop of Works, by binding."""
    sending = Loop(
        Controller(
            "works",
            partial(observe_binding, hub),
            lambda seen: decide.plan(seen, hub.now),
            tell_owner(hub, decide.NOT_SENT, partial(_template_behind, hub)),
            took=hub.numbers.works_took,
            follow=None if hub.traces is None else hub.traces.rendering,
        ),
        hub.performer,
        hub.turns,
    )

    def wake_all(bindings: Iterable[ResourceBinding]) -> None:
        for each in bindings:
            sending.wake(each.ref)

    def binding_changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        if after is not None and spec_changed(before, after):
            is_placed = before is not None or after.targets
            sending.wake(after.ref, Level.ARRIVE if is_placed else Level.REPORT)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and spec_changed(before, after):
            sending.wake(binding_of(Ref.of(after)))

    def work_changed(before: Work | None, after: Work | None) -> None:
        work = after or before
        for binding in work.bindings if work is not None else ():
            is_sent = before is None or _arrived(before) != _arrived(after)
            if before is not None and spec_changed(before, after):
                sending.wake(binding)
            elif is_sent and _may_withdraw(hub, binding):
                sending.wake(binding, Level.REPORT)
            if after is None:
                wake_all(_attached(hub, binding))

    def override_changed(before: OverridePolicy | None, after: OverridePolicy | None) -> None:
        if spec_changed(before, after):
            for policy in (before, after):
                wake_all(concerned.by_policy(hub, policy) if policy is not None else ())

    def cluster_changed(before: Member | None, after: Member | None) -> None:
        wake_all(concerned.by_cluster(hub, before, after))

    hub.hear_bindings("works", binding_changed)
    hub.hear_values("works", kinds.CLUSTER, cluster_changed)
    hub.hear_values("works", kinds.WORK, work_changed)
    for kind in kinds.OVERRIDE_POLICIES:
        hub.hear_values("works", kind, override_changed)
    hub.hear("works", TEMPLATES, template_changed)
    return sending


def _template_behind(hub: Hub, wire: Object) -> Ref | None:
    """The template that a binding is for, or a Work."""
    if wire["apiVersion"] == BINDING:
        return template_of(wire)
    known = map(hub.binding, work_bindings(wire))
    return next((each.spec.template for each in known if each is not None), None)


def _may_withdraw(hub: Hub, ref: Ref) -> bool:
    """Whether what became of a binding's Works may lead to another being withdrawn, or sent."""
    binding = hub.binding(ref)
    if binding is None:
        return False
    if binding.spec.is_split or binding.spec.evictions:
        return True
    targets = concerned.target_names(binding)
    return any(work.cluster not in targets for work in hub.works_of(ref))


def _arrived(work: Work | None) -> tuple[bool, bool, Range | None]:
    """All that is read of a Work's status when Works are planned."""
    if work is None:
        return False, False, None
    arrived = has_arrived(work, knows_health=True), has_arrived(work, knows_health=False)
    return *arrived, may_run(work) if is_told(work) else None


def _read_yaml(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        # Its words quote the text, which may be a Secret's.
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "a character in it"
        raise Invalid("", "", f"{where} cannot be read") from None


def _write_yaml(value: object) -> str:
    return str(yaml.safe_dump(value, sort_keys=False))


TEXTS = Texts(_read_yaml, _write_yaml)


def means(hub: Hub) -> Means:
    """What rendering asks the interpreters of this plane."""
    return Means(hub.interpreters.revise, prune, TEXTS)


def observe_binding(hub: Hub, ref: Ref) -> decide.SeenBinding | None:
    """A binding, with all that its Works depend on."""
    binding = hub.binding(ref)
    if binding is None:
        return None
    template = binding.spec.template
    return decide.SeenBinding(
        binding=binding,
        template=hub.template(binding),
        clusters=hub.clusters,
        means=means(hub),
        works=tuple(_works(hub, binding)),
        policies=hub.overrides.of,
        new_id=hub.new_id(),
        knows_health=hub.interpreters.has(template, Operation.HEALTH),
        needed_in=_needed_in(hub, binding),
        move_limit_s=hub.times.graceful_eviction_timeout,
    )


def _attached(hub: Hub, parent: Ref) -> list[ResourceBinding]:
    """The bindings of what a binding carries along."""
    label = names.depended_by(parent.namespace, parent.name)
    return hub.plane.informer(kinds.RESOURCE_BINDING).by(depending.attached_by, label)


def _needed_in(hub: Hub, binding: ResourceBinding) -> frozenset[str]:
    """The clusters that still have what this binding is carried along for."""
    parents = (Ref(BINDING, "ResourceBinding", *each.key) for each in binding.spec.required_by)
    return frozenset(work.cluster for parent in parents for work in hub.works_of(parent))


def _works(hub: Hub, binding: ResourceBinding) -> list[Work]:
    """The Works that are a binding's, and those that stand where its own would."""
    found = {each.ref: each for each in hub.works_of(binding.ref)}
    template = binding.spec.template
    name = names.work_name(template.kind, template.name, template.namespace)
    for target in binding.targets:
        there = hub.works.get(names.execution_namespace(target.name), name)
        if there is not None:
            found[there.ref] = there
    return list(found.values())
