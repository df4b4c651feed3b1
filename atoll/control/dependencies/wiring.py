"""Dependencies: what a binding's template needs beside it goes where that goes.

Who needs an object is looked up where bindings note it, never searched for: in the list of
dependencies that a parent keeps, and in the snapshots that an attached binding has of its parents.
"""

from collections.abc import Iterable
from functools import partial

from atoll.client.api import Wire
from atoll.client.mirror import Mirror
from atoll.control.dependencies import decide as depending
from atoll.control.hub import BINDING, Hub, meant_otherwise
from atoll.control.loop import Controller, Loop
from atoll.control.refusals import tell_owner
from atoll.dialects.karmada import names
from atoll.dialects.karmada.references import binding_of, template_of
from atoll.dialects.kubernetes.selectors import label_selector
from atoll.errors import Invalid
from atoll.interpreting.operations import Dependency
from atoll.model.action import Object, Ref

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

    def binding_changed(before: Wire | None, after: Wire | None) -> None:
        if not meant_otherwise(before, after):
            return
        known = [each for each in (before, after) if each is not None]
        if any(map(depending.concerns, known)):
            loop.wake(Ref.of(known[-1]))
        for each in known:
            for parent in depending.parents_of(each):
                loop.wake(Ref(BINDING, KIND, *parent))

    def template_changed(before: Wire | None, after: Wire | None) -> None:
        if not meant_otherwise(before, after):
            return
        own = hub.plane.find(binding_of(Ref.of(after or before or {})))
        if own is not None and own["kind"] == KIND and depending.concerns(own):
            loop.wake(Ref.of(own))
        for each in (before, after):
            for parent in _who_needs(hub, each) if each is not None else ():
                loop.wake(Ref.of(parent))

    hub.hear(KIND, binding_changed)
    hub.hear_templates(template_changed)
    return loop


def _observe(hub: Hub, ref: Ref) -> depending.SeenDependencies | None:
    # Of a parent that is gone without having been let go, attached bindings may still tell.
    binding = hub.plane.find(ref) or depending.gone(ref)
    attached = _bindings(hub).by(depending.attached_by, names.depended_by(ref.namespace, ref.name))
    if not attached and not depending.concerns(binding):
        return None
    template = hub.plane.find(template_of(binding)) if "spec" in binding else None
    needed: tuple[Dependency, ...] | None = None
    objects: list[Wire] = []
    problem = ""
    try:
        if template is not None:
            needed = hub.interpreters.dependencies(template)
            objects = [wire for each in needed for wire in _meant(hub, each)]
    except Invalid as failed:
        needed, problem = None, str(failed)
    keys = [depending.key_for(each, binding) for each in objects]
    there = [each for each in (_bindings(hub).get(*key) for key in keys) if each is not None]
    concerned = {_key(each): each for each in (*attached, *there)}
    snapshots = [parent for each in concerned.values() for parent in depending.parents_of(each)]
    parents = {parent: _bindings(hub).get(*parent) for parent in snapshots}
    return depending.SeenDependencies(
        binding=binding,
        template=template,
        dependencies=needed,
        problem=problem,
        objects=objects,
        bindings=concerned,
        parents={key: each for key, each in parents.items() if each is not None},
    )


def _bindings(hub: Hub) -> Mirror:
    return hub.plane.mirror(hub.plane.collection(BINDING, KIND))


def _key(wire: Object) -> depending.Key:
    return wire["metadata"].get("namespace", ""), wire["metadata"]["name"]


def _meant(hub: Hub, needed: Dependency) -> list[Wire]:
    """The objects that a dependency means, as far as they are there."""
    hub.want(needed.api_version, needed.kind)
    if needed.name:
        wanted = Ref(needed.api_version, needed.kind, needed.namespace, needed.name)
        found = hub.plane.find(wanted)
        return [found] if found is not None else []
    collection = hub.plane.directory.find(needed.api_version, needed.kind)
    if collection not in hub.template_collections():
        return []
    selector = label_selector(needed.selector or {}, "labelSelector")
    return [
        each
        for each in hub.plane.mirror(collection).within(needed.namespace)
        if selector.matches(each["metadata"].get("labels") or {})
    ]


def _who_needs(hub: Hub, wire: Wire) -> list[Wire]:
    """The bindings that note an object among their dependencies, by name or by its labels."""
    ref = Ref.of(wire)
    bindings = _bindings(hub)
    by_name = bindings.by(_noted, (ref.api_version, ref.kind, ref.namespace, ref.name))
    by_labels = bindings.by(_noted, (ref.api_version, ref.kind, ref.namespace, ""))
    return by_name + by_labels


def _noted(binding: Wire) -> Iterable[Shelf]:
    """Where a binding is filed: under all it depends on."""
    return {
        (each.api_version, each.kind, each.namespace, each.name)
        for each in depending.recorded(binding)
    }
