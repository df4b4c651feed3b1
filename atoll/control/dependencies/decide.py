"""What must travel along: bindings of a workload's dependencies that go where the workload goes.

Comes in: a binding that may carry its dependencies along, what its template depends on, the
dependencies that exist, and the bindings there are for them. Goes out: bindings attached to the
dependencies, each with a snapshot of every parent's clusters; detached when nobody needs them.
A dependency with a policy of its own keeps what that policy says and goes to both sets of clusters.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from atoll.dialects import json
from atoll.dialects.karmada import names
from atoll.dialects.karmada.objects.encoding import patched, snapshots
from atoll.dialects.karmada.templates import is_generated
from atoll.interpreting.operations import Dependency
from atoll.model.action import NOTHING, Action, Create, Plan, Ref, Tell, Update
from atoll.model.resource_binding import ResourceBinding, Snapshot
from atoll.wire import Object

API_VERSION, KIND = "work.karmada.io/v1alpha2", "ResourceBinding"
OVERWRITE, ABORT = "Overwrite", "Abort"
CONFLICT_EVENT = "DependencyPolicyConflict"
KNOWN, UNKNOWN = "GetDependenciesSucceed", "GetDependenciesFailed"
_GARBAGE_S = 5.0

Key = tuple[str, str]
"""Namespace and name of a binding."""


@dataclass(frozen=True, slots=True)
class SeenDependencies:
    """A binding, what its template depends on, and what is there of it.

    `binding` is None where it is gone without having been let go. `dependencies` is None where that
    cannot be told: the template is gone, or there is a `problem` with it. `objects`: the
    dependencies that exist, by name and by selector. `bindings`: those of these objects and those
    attached to this binding, by namespace and name. `parents`: all bindings that any of their
    snapshots name, as far as they are there. Bindings that cannot be read are left as they are.
    """

    key: Key
    binding: ResourceBinding | None = None
    template: Object | None = None
    dependencies: Sequence[Dependency] | None = None
    problem: str = ""
    objects: Sequence[Object] = ()
    bindings: Mapping[Key, ResourceBinding] = field(default_factory=dict)
    parents: Mapping[Key, ResourceBinding] = field(default_factory=dict)


def plan(seen: SeenDependencies) -> Plan:
    """Attach what is needed, detach what is not; the parent is held until all is detached.

    One that never needed anything is not even held.
    """
    binding = seen.binding
    if binding is not None and binding.problem is not None:
        return NOTHING
    if binding is None or not binding.spec.propagates_dependencies or binding.meta.is_going:
        let_go = [] if binding is None or not _is_held(binding) else [_let_go(binding)]
        return Plan((*_detach(seen, _attached(seen)), *let_go))
    if seen.problem and seen.template is not None:
        return Plan((Tell(seen.template, UNKNOWN, seen.problem, warning=True),))
    needed = seen.dependencies
    if needed is None or not (_is_held(binding) or (needed and binding.spec.clusters)):
        return NOTHING
    wanted = {key_for(each, seen.key): each for each in seen.objects if _may_travel(each)}
    orphans = [
        each
        for each in _attached(seen)
        if each.key not in wanted and not _is_declared(each, needed)
    ]
    attached: list[Action] = []
    again_in = None
    for key, dependency in sorted(wanted.items()):
        there = seen.bindings.get(key)
        if there is not None and _must_wait(there, dependency):
            again_in = _GARBAGE_S
        else:
            attached += _attach(binding, key, dependency, there, seen)
    held = _hold(binding, needed, seen.template)
    left_behind = _left_behind(seen.template or binding.wire, seen.objects)
    return Plan((*held, *left_behind, *_detach(seen, orphans), *attached), again_in=again_in)


def recorded(binding: ResourceBinding) -> tuple[Dependency, ...]:
    """The dependencies a binding last knew of, as it keeps them; what cannot be read is none."""
    text = binding.meta.annotations.get(names.DEPENDENCIES, "")
    return _read(text) if text else ()


def concerns(binding: ResourceBinding) -> bool:
    """Whether a binding carries dependencies along, or did so and is to be let go."""
    return binding.spec.propagates_dependencies or _is_held(binding)


def attached_by(binding: ResourceBinding) -> Iterable[str]:
    """The labels of the parents that a binding is attached to, whether or not it has them all."""
    marked = (each for each in binding.meta.labels if each.startswith(names.DEPENDED_BY_PREFIX))
    return {*marked, *(names.depended_by(*each.key) for each in binding.spec.required_by)}


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Dependency, ...]:
    value = json.read(text)
    listed = value if isinstance(value, list) else []
    return tuple(_dependency(each) for each in listed if isinstance(each, dict))


def _dependency(wire: Object) -> Dependency:
    api, kind, space, name = (
        str(wire.get(key) or "") for key in ("apiVersion", "kind", "namespace", "name")
    )
    selector = wire.get("labelSelector")
    return Dependency(api, kind, space, name, selector if isinstance(selector, dict) else None)


def _is_held(binding: ResourceBinding) -> bool:
    return names.DEPENDENCIES_FINALIZER in binding.meta.finalizers


def _hold(
    binding: ResourceBinding, needed: Sequence[Dependency], template: Object | None
) -> list[Action]:
    """Finalizer and record in one write, before anything is attached."""
    held = _is_held(binding)
    if (
        held
        and names.DEPENDENCIES in binding.meta.annotations
        and recorded(binding) == tuple(needed)
    ):
        return []
    finalizers = list(binding.meta.finalizers)
    listed = json.written([each.wire() for each in needed])
    metadata = {
        "finalizers": finalizers if held else [*finalizers, names.DEPENDENCIES_FINALIZER],
        "annotations": {names.DEPENDENCIES: listed},
    }
    actions: list[Action] = [Update(patched(binding.wire, {"metadata": metadata}))]
    if template is not None and needed:
        actions.append(Tell(template, KNOWN, f"Get dependencies({listed}) succeed."))
    return actions


def _may_travel(dependency: Object) -> bool:
    """What each cluster makes by itself stays where it is, as does what has too long a name."""
    return not _too_long(dependency) and not is_generated(dependency)


def _too_long(dependency: Object) -> str:
    ref = Ref.of(dependency)
    return names.too_long(ref.kind, ref.name, ref.namespace)


def _left_behind(about: Object, objects: Iterable[Object]) -> list[Action]:
    """What is said of dependencies that cannot have a binding."""
    problems = [(Ref.of(each), _too_long(each)) for each in objects]
    return [
        Tell(about, UNKNOWN, f"{ref} cannot go along: {problem}", warning=True)
        for ref, problem in problems
        if problem
    ]


def _let_go(binding: ResourceBinding) -> Action:
    left = [each for each in binding.meta.finalizers if each != names.DEPENDENCIES_FINALIZER]
    metadata = {"finalizers": left, "annotations": {names.DEPENDENCIES: None}}
    return Update(patched(binding.wire, {"metadata": metadata}))


def key_for(dependency: Object, parent: Key) -> Key:
    """Where the binding of a dependency is: beside it, or beside the parent if it is everywhere."""
    ref = Ref.of(dependency)
    return ref.namespace or parent[0], names.binding_name(ref.kind, ref.name)


def _attached(seen: SeenDependencies) -> list[ResourceBinding]:
    """The bindings that carry something of this one, in order."""
    label = names.depended_by(*seen.key)
    return [each for _, each in sorted(seen.bindings.items()) if label in attached_by(each)]


def _is_declared(attached: ResourceBinding, dependencies: Iterable[Dependency]) -> bool:
    """Whether it is still asked for by name: if its object is gone, it goes with that."""
    return any(
        (each.api_version, each.kind, each.namespace, each.name) == attached.spec.template
        for each in dependencies
    )


def _must_wait(there: ResourceBinding, dependency: Object) -> bool:
    """Whether the binding of this name will go with an object that is gone, or cannot be read."""
    owner = next((each for each in there.meta.owners if each.controller), None)
    uid = dependency["metadata"].get("uid", "")
    is_of_another = owner is not None and owner.uid != uid
    return there.meta.is_going or is_of_another or there.problem is not None


def _attach(
    parent: ResourceBinding,
    key: Key,
    dependency: Object,
    there: ResourceBinding | None,
    seen: SeenDependencies,
) -> list[Action]:
    if there is None and not parent.spec.clusters:
        return []
    own = Snapshot(*parent.key, parent.spec.clusters)
    known = () if there is None else there.spec.required_by
    merged = [own if each.key == own.key else each for each in known]
    if own not in merged:
        merged.append(own)
    has_policy = there is not None and there.spec.has_policy
    said, conflicts = ({}, []) if has_policy else _agreed(merged, seen)
    # With a policy of its own, it is the detector that says of which version it is.
    resource = {} if has_policy else {"resource": _resource(dependency)}
    before = _unattached(key, dependency) if there is None else there.wire
    label = names.depended_by(*parent.key)
    labels = {label: parent.meta.labels.get(names.BINDING_ID, "")}
    spec = {**resource, "requiredBy": snapshots(merged, before), **said}
    fresh = patched(before, {"metadata": {"labels": labels}, "spec": spec})
    if there is None:
        return [Create(fresh)]
    return [] if fresh == before else [Update(fresh), *_tell(fresh, conflicts)]


def _unattached(key: Key, dependency: Object) -> dict[str, Any]:
    ref = Ref.of(dependency)
    owner = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "name": ref.name,
        "uid": dependency["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "namespace": key[0],
        "name": key[1],
        "ownerReferences": [owner],
        "finalizers": [names.BINDING_FINALIZER],
    }
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {}}


def _resource(dependency: Object) -> dict[str, str | None]:
    ref, metadata = Ref.of(dependency), dependency["metadata"]
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace or None,
        "name": ref.name,
        "uid": metadata.get("uid") or None,
        "resourceVersion": metadata.get("resourceVersion") or None,
    }


def _detach(seen: SeenDependencies, attached: Iterable[ResourceBinding]) -> list[Action]:
    label = names.depended_by(*seen.key)
    actions: list[Action] = []
    for binding in attached:
        if binding.meta.is_going or binding.problem is not None:
            continue
        left = [each for each in binding.spec.required_by if each.key != seen.key]
        said = {} if binding.spec.has_policy else _agreed(left, seen)[0]
        spec = {"requiredBy": snapshots(left, binding.wire), **said}
        patch = {"metadata": {"labels": {label: None}}, "spec": spec}
        actions.append(Update(patched(binding.wire, patch)))
    return actions


def _agreed(
    required_by: Sequence[Snapshot], seen: SeenDependencies
) -> tuple[dict[str, Any], list[str]]:
    """What the parents of an attached binding say of conflicts, and where they disagree."""
    if not required_by:
        return {"conflictResolution": None, "preserveResourcesOnDeletion": None}, []
    known = dict(seen.parents) if seen.binding is None else {**seen.parents, seen.key: seen.binding}
    parents = [known[each.key] for each in required_by if each.key in known]
    specs = [each.spec for each in parents if each.problem is None]
    overwriting = [each.overwrites for each in specs]
    preserving = [each.preserves for each in specs]
    said = {
        "conflictResolution": OVERWRITE if any(overwriting) else ABORT,
        "preserveResourcesOnDeletion": any(preserving),
    }
    conflicts = []
    if any(overwriting) and not all(overwriting):
        conflicts.append("ConflictResolution conflicted (Overwrite vs Abort)")
    if any(preserving) and not all(preserving):
        conflicts.append("PreserveResourcesOnDeletion conflicted (true vs false)")
    return said, conflicts


def _tell(binding: Object, conflicts: Sequence[str]) -> list[Action]:
    if not conflicts:
        return []
    message = f"Dependency policy conflict detected: {'; '.join(conflicts)}."
    return [Tell(binding, CONFLICT_EVENT, message, warning=True)]
