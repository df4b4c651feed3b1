"""Dependencies: what a binding's template needs beside it goes where that goes.

Who needs an object is looked up where bindings note it, never searched for: in the list of
dependencies that a parent keeps, and in the snapshots that an attached binding has of its parents.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from atoll.client.informer import Informer
from atoll.control.dependencies import decide as depending
from atoll.control.hub import BINDING, Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.control.refusals import tell_owner
from atoll.control.wakes import TEMPLATES
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.references import binding_of, template_of
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.errors import Invalid
from atoll.interpreting.operations import Dependency
from atoll.model.action import Ref
from atoll.model.resource_binding import ResourceBinding
from atoll.wire import Wire

KIND = "ResourceBinding"

Shelf = tuple[str, str, str, str]
"""API version, kind, namespace and name; no name for what is meant by labels."""


def dependencies(hub: Hub) -> Loop[Ref]:
    """The loop of dependencies, by the binding that needs them."""
    controller = Controller(
        "dependencies",
        partial(_observe, hub),
        depending.plan,
        tell_owner(hub, depending.UNKNOWN, template_of),
    )
    loop = Loop(controller, hub.performer, hub.turns)

    def binding_changed(before: ResourceBinding | None, after: ResourceBinding | None) -> None:
        if not spec_changed(before, after):
            return
        known = [each for each in (before, after) if each is not None]
        if any(map(depending.concerns, known)):
            loop.wake(known[-1].ref)
        for each in known:
            for parent in each.spec.required_by:
                loop.wake(Ref(BINDING, KIND, *parent.key))
        # What it says that it needs is followed from now on; each that is found there wakes it.
        for needed in () if after is None else depending.recorded(after):
            hub.want(needed.api_version, needed.kind)

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if not spec_changed(before, after):
            return
        own = hub.binding(binding_of(Ref.of(after or before or {})))
        if own is not None and not own.is_cluster_wide and depending.concerns(own):
            loop.wake(own.ref)
        for each in (before, after):
            for parent in _who_needs(hub, each) if each is not None else ():
                loop.wake(parent.ref)

    hub.hear_values("dependencies", kinds.RESOURCE_BINDING, binding_changed)
    hub.hear("dependencies", TEMPLATES, template_changed)
    return loop


def _observe(hub: Hub, ref: Ref) -> depending.SeenDependencies | None:
    known = _bindings(hub)
    binding = known.get(ref.namespace, ref.name)
    attached = known.by(depending.attached_by, names.depended_by(ref.namespace, ref.name))
    # Of a parent that is gone without having been let go, attached bindings may still tell.
    if not attached and (binding is None or not depending.concerns(binding)):
        return None
    template = None if binding is None else hub.template(binding)
    needed: tuple[Dependency, ...] | None = None
    objects: list[Wire] = []
    problem = ""
    try:
        if template is not None:
            needed = hub.interpreters.dependencies(template)
            objects = [wire for each in needed for wire in _meant(hub, each)]
    except Invalid as failed:
        needed, problem = None, str(failed)
    key = (ref.namespace, ref.name)
    keys = dict.fromkeys(depending.key_for(each, key) for each in objects)
    concerned = {each.key: each for each in attached} | dict(_there(known, keys))
    parents = {one.key for each in concerned.values() for one in each.spec.required_by}
    return depending.SeenDependencies(
        key=key,
        binding=binding,
        template=template,
        dependencies=needed,
        problem=problem,
        objects=objects,
        bindings=concerned,
        parents=dict(_there(known, parents)),
    )


def _bindings(hub: Hub) -> Informer[ResourceBinding]:
    return hub.plane.informer(kinds.RESOURCE_BINDING)


def _there(
    known: Informer[ResourceBinding], keys: Iterable[depending.Key]
) -> Iterator[tuple[depending.Key, ResourceBinding]]:
    """The bindings of these names, as far as they are there."""
    for key in keys:
        found = known.get(*key)
        if found is not None:
            yield key, found


def _meant(hub: Hub, needed: Dependency) -> list[Wire]:
    """The objects that a dependency means, as far as they are there."""
    if needed.name:
        wanted = Ref(needed.api_version, needed.kind, needed.namespace, needed.name)
        found = hub.plane.find(wanted)
        return [found] if found is not None else []
    mirror = hub.plane.mirrored(needed.api_version, needed.kind)
    if mirror is None or mirror.collection not in hub.template_collections():
        return []
    selector = label_selector(needed.selector or {}, "labelSelector")
    return [
        each
        for each in mirror.within(needed.namespace)
        if selector.matches(each["metadata"].get("labels") or {})
    ]


def _who_needs(hub: Hub, wire: Wire) -> list[ResourceBinding]:
    """The bindings that note an object among their dependencies, by name or by its labels."""
    ref = Ref.of(wire)
    bindings = _bindings(hub)
    by_name = bindings.by(_noted, (ref.api_version, ref.kind, ref.namespace, ref.name))
    by_labels = bindings.by(_noted, (ref.api_version, ref.kind, ref.namespace, ""))
    return by_name + by_labels


def _noted(binding: ResourceBinding) -> Iterable[Shelf]:
    """Where a binding is filed: under all it depends on."""
    return {
        (each.api_version, each.kind, each.namespace, each.name)
        for each in depending.recorded(binding)
    }
