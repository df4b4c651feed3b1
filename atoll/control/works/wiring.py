"""Bindings and their Works: what is sent to which cluster."""

from functools import partial

import yaml

from atoll.client.api import Wire
from atoll.control.dependencies import decide as depending
from atoll.control.hub import (
    BINDING,
    BINDING_KINDS,
    POLICY,
    WORK,
    Hub,
    meant_otherwise,
    wanted_otherwise,
)
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.refusals import tell_owner
from atoll.control.works.decide import plan as decide
from atoll.control.works.decide.overriding.fields import Texts
from atoll.control.works.decide.overriding.overriding import Policies
from atoll.control.works.decide.rendering import Means
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.ordinals import is_split, is_told, may_run
from atoll.dialects.karmada.references import binding_of, targets_of, template_of, work_bindings
from atoll.dialects.karmada.works import cluster_of, has_arrived
from atoll.errors import Invalid
from atoll.interpreting.operations import Operation
from atoll.interpreting.pruning import prune
from atoll.model.action import Object, Ref
from atoll.model.ordinals import Range
from atoll.model.policy import OverridePolicy


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

    def binding_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after):
            is_placed = before is not None or targets_of(after)
            sending.wake(Ref.of(after), Level.ARRIVE if is_placed else Level.REPORT)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after):
            sending.wake(binding_of(Ref.of(after)))

    def work_changed(before: Wire | None, after: Wire | None) -> None:
        for binding in work_bindings(after or before or {}):
            is_sent = before is None or _arrived(before) != _arrived(after)
            if before is not None and meant_otherwise(before, after):
                sending.wake(binding)
            elif is_sent and _may_withdraw(hub, binding):
                sending.wake(binding, Level.REPORT)
            if after is None:
                for attached in _attached(hub, binding):
                    sending.wake(Ref.of(attached))

    hub.hear("Cluster", partial(_cluster_changed, hub, sending))
    for kind in BINDING_KINDS:
        hub.hear(kind, binding_changed)
    for override_kind in kinds.OVERRIDE_POLICIES:
        hub.hear_values(override_kind, partial(_override_changed, hub, sending))
    hub.hear("Work", work_changed)
    hub.hear_templates(template_changed)
    return sending


def _template_behind(hub: Hub, wire: Object) -> Ref | None:
    """The template that a binding is for, or a Work."""
    known = [wire] if wire["apiVersion"] == BINDING else map(hub.plane.find, work_bindings(wire))
    return next((template_of(each) for each in known if each is not None), None)


def _override_changed(
    hub: Hub, sending: Loop[Ref], before: OverridePolicy | None, after: OverridePolicy | None
) -> None:
    if wanted_otherwise(before, after):
        for kind in BINDING_KINDS:
            for binding in hub.plane.all(BINDING, kind):
                sending.wake(Ref.of(binding))


def _cluster_changed(hub: Hub, sending: Loop[Ref], before: Wire | None, after: Wire | None) -> None:
    """What a target gets depends on its labels too, and on its being there at all."""
    if gets_otherwise(before, after):
        name = (after or before or {})["metadata"]["name"]
        for kind in BINDING_KINDS:
            mirror = hub.plane.mirror(hub.plane.collection(BINDING, kind))
            for binding in mirror.by(_target_names, name):
                sending.wake(Ref.of(binding))


def gets_otherwise(before: Wire | None, after: Wire | None) -> bool:
    """Whether what is sent to a cluster may be otherwise: overrides look at where and what it is.

    Taints are not looked at, and those of a cluster that comes and goes change all the time.
    """
    return _looked_at(before) != _looked_at(after)


def _looked_at(cluster: Wire | None) -> tuple[object, ...] | None:
    if cluster is None:
        return None
    metadata, spec = cluster["metadata"], cluster.get("spec") or {}
    where = (spec.get(each) for each in ("provider", "region", "zone", "zones"))
    return (metadata.get("labels"), bool(metadata.get("deletionTimestamp")), *where)


def _target_names(binding: Wire) -> list[str]:
    return [target.name for target in targets_of(binding)]


def _may_withdraw(hub: Hub, ref: Ref) -> bool:
    """Whether what became of a binding's Works may lead to another being withdrawn, or sent."""
    binding = hub.plane.find(ref)
    if binding is None:
        return False
    if is_split(binding) or (binding.get("spec") or {}).get("gracefulEvictionTasks"):
        return True
    targets = _target_names(binding)
    standing = hub.plane.mirror(hub.plane.collection(WORK, "Work")).by(work_bindings, ref)
    return any(cluster_of(work) not in targets for work in standing)


def _arrived(work: Wire | None) -> tuple[bool, bool, Range | None]:
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


def override_policies(hub: Hub, namespace: str) -> Policies:
    """The override policies for what is in a namespace, or in none."""
    return Policies(
        tuple(hub.plane.all(POLICY, "ClusterOverridePolicy")),
        tuple(hub.in_namespace("OverridePolicy", namespace)),
    )


def observe_binding(hub: Hub, ref: Ref) -> decide.SeenBinding | None:
    """A binding, with all that its Works depend on."""
    binding = hub.plane.find(ref)
    if binding is None:
        return None
    template = template_of(binding)
    return decide.SeenBinding(
        binding=binding,
        template=hub.plane.find(template),
        clusters=hub.clusters,
        means=means(hub),
        works=tuple(_works_of(hub, ref, binding)),
        policies=override_policies(hub, template.namespace),
        new_id=hub.new_id(),
        knows_health=hub.interpreters.has(template, Operation.HEALTH),
        needed_in=_needed_in(hub, binding),
        move_limit_s=hub.times.graceful_eviction_timeout,
    )


def _attached(hub: Hub, parent: Ref) -> list[Wire]:
    """The bindings of what a binding carries along."""
    mirror = hub.plane.mirror(hub.plane.collection(BINDING, "ResourceBinding"))
    return mirror.by(depending.attached_by, names.depended_by(parent.namespace, parent.name))


def _needed_in(hub: Hub, binding: Object) -> frozenset[str]:
    """The clusters that still have what this binding is carried along for."""
    mirror = hub.plane.mirror(hub.plane.collection(WORK, "Work"))
    parents = (Ref(BINDING, "ResourceBinding", *key) for key in depending.parents_of(binding))
    works = (work for parent in parents for work in mirror.by(work_bindings, parent))
    return frozenset(cluster_of(work) for work in works)


def _works_of(hub: Hub, ref: Ref, binding: Object) -> list[Wire]:
    mirror = hub.plane.mirror(hub.plane.collection(WORK, "Work"))
    found = {Ref.of(each): each for each in mirror.by(work_bindings, ref)}
    template = template_of(binding)
    name = names.work_name(template.kind, template.name, template.namespace)
    for target in targets_of(binding):
        there = mirror.get(names.execution_namespace(target.name), name)
        if there is not None:
            found[Ref.of(there)] = there
    return list(found.values())
