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
from atoll.dialects.karmada.templates import is_generated
from atoll.interpreting.operations import Dependency
from atoll.model.action import NOTHING, Action, Create, Object, Plan, Ref, Tell, Update

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

    `dependencies` is None where that cannot be told: the template is gone, or there is a `problem`
    with it. `objects`: the dependencies that exist, by name and by selector. `bindings`: those of
    these objects and those attached to this binding, by namespace and name. `parents`: all
    bindings that any of their snapshots name, as far as they are there.
    """

    binding: Object
    template: Object | None = None
    dependencies: Sequence[Dependency] | None = None
    problem: str = ""
    objects: Sequence[Object] = ()
    bindings: Mapping[Key, Object] = field(default_factory=dict)
    parents: Mapping[Key, Object] = field(default_factory=dict)


def plan(seen: SeenDependencies) -> Plan:
    """Attach what is needed, detach what is not; the parent is held until all is detached.

    One that never needed anything is not even held.
    """
    binding = seen.binding
    if not _carries(binding):
        detached = _detach(seen, _attached(seen))
        return Plan((*detached, *_let_go(binding)))
    if seen.problem and seen.template is not None:
        return Plan((Tell(seen.template, UNKNOWN, seen.problem, warning=True),))
    needed = seen.dependencies
    if needed is None or not (_is_held(binding) or (needed and _clusters(binding))):
        return NOTHING
    wanted = {key_for(each, binding): each for each in seen.objects if _may_travel(each)}
    orphans = [
        each
        for each in _attached(seen)
        if _key(each) not in wanted and not _is_declared(each, needed)
    ]
    attached: list[Action] = []
    again_in = None
    for key, dependency in sorted(wanted.items()):
        there = seen.bindings.get(key)
        if there is not None and _must_wait(there, dependency):
            again_in = _GARBAGE_S
        else:
            attached += _attach(seen, key, dependency, there)
    return Plan(
        (*_hold(seen), *_left_behind(seen), *_detach(seen, orphans), *attached), again_in=again_in
    )


def recorded(binding: Object) -> tuple[Dependency, ...]:
    """The dependencies a binding last knew of, as it keeps them; what cannot be read is none."""
    text = (binding["metadata"].get("annotations") or {}).get(names.DEPENDENCIES, "")
    return _read(text) if text else ()


def concerns(binding: Object) -> bool:
    """Whether a binding carries dependencies along, or did so and is to be let go."""
    return bool((binding.get("spec") or {}).get("propagateDeps")) or _is_held(binding)


def gone(parent: Ref) -> Object:
    """A binding of which nothing is left but its name: it carries nothing."""
    metadata = {"namespace": parent.namespace, "name": parent.name}
    return {"apiVersion": parent.api_version, "kind": parent.kind, "metadata": metadata}


def attached_by(binding: Object) -> Iterable[str]:
    """The labels of the parents that a binding is attached to, whether or not it has them all."""
    labels = binding["metadata"].get("labels") or {}
    marked = (each for each in labels if each.startswith(names.DEPENDED_BY_PREFIX))
    return {*marked, *(names.depended_by(*each) for each in parents_of(binding))}


def parents_of(binding: Object) -> list[Key]:
    """The bindings on whose behalf one is propagated."""
    return [_parent(each) for each in _snapshots(binding)]


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


def _carries(binding: Object) -> bool:
    leaving = binding["metadata"].get("deletionTimestamp")
    return bool((binding.get("spec") or {}).get("propagateDeps")) and not leaving


def _clusters(binding: Object) -> list[Any]:
    return (binding.get("spec") or {}).get("clusters") or []


def _is_held(binding: Object) -> bool:
    return names.DEPENDENCIES_FINALIZER in (binding["metadata"].get("finalizers") or ())


def _hold(seen: SeenDependencies) -> list[Action]:
    """Finalizer and record in one write, before anything is attached."""
    metadata = seen.binding["metadata"]
    needed = tuple(seen.dependencies or ())
    known = metadata.get("annotations") or {}
    held = _is_held(seen.binding)
    if held and names.DEPENDENCIES in known and recorded(seen.binding) == needed:
        return []
    finalizers = metadata.get("finalizers") or []
    listed = json.written([each.wire() for each in needed])
    fresh = {
        **metadata,
        "finalizers": finalizers if held else [*finalizers, names.DEPENDENCIES_FINALIZER],
        "annotations": {**known, names.DEPENDENCIES: listed},
    }
    actions: list[Action] = [Update({**seen.binding, "metadata": fresh})]
    if seen.template is not None and needed:
        actions.append(Tell(seen.template, KNOWN, f"Get dependencies({listed}) succeed."))
    return actions


def _may_travel(dependency: Object) -> bool:
    """What each cluster makes by itself stays where it is, as does what has too long a name."""
    return not _too_long(dependency) and not is_generated(dependency)


def _too_long(dependency: Object) -> str:
    ref = Ref.of(dependency)
    return names.too_long(ref.kind, ref.name, ref.namespace)


def _left_behind(seen: SeenDependencies) -> list[Action]:
    """What is said of dependencies that cannot have a binding."""
    about = seen.template or seen.binding
    problems = [(Ref.of(each), _too_long(each)) for each in seen.objects]
    return [
        Tell(about, UNKNOWN, f"{ref} cannot go along: {problem}", warning=True)
        for ref, problem in problems
        if problem
    ]


def _let_go(binding: Object) -> list[Action]:
    metadata = binding["metadata"]
    if not _is_held(binding):
        return []
    left = [each for each in metadata["finalizers"] if each != names.DEPENDENCIES_FINALIZER]
    known = metadata.get("annotations") or {}
    fresh = {
        **metadata,
        "finalizers": left,
        "annotations": {key: value for key, value in known.items() if key != names.DEPENDENCIES},
    }
    return [Update({**binding, "metadata": fresh})]


def _key(binding: Object) -> Key:
    return binding["metadata"].get("namespace", ""), binding["metadata"]["name"]


def key_for(dependency: Object, parent: Object) -> Key:
    """Where the binding of a dependency is: beside it, or beside the parent if it is everywhere."""
    ref = Ref.of(dependency)
    return ref.namespace or _key(parent)[0], names.binding_name(ref.kind, ref.name)


def _label(parent: Object) -> str:
    return names.depended_by(*_key(parent))


def _attached(seen: SeenDependencies) -> list[Object]:
    """The bindings that carry something of this one, in order."""
    label, parent = _label(seen.binding), _key(seen.binding)
    return [
        binding
        for _, binding in sorted(seen.bindings.items())
        if label in (binding["metadata"].get("labels") or {})
        or any(_parent(each) == parent for each in _snapshots(binding))
    ]


def _is_declared(attached: Object, dependencies: Iterable[Dependency]) -> bool:
    """Whether it is still asked for by name: if its object is gone, it goes with that."""
    of = attached["spec"]["resource"]
    given = tuple(of.get(each, "") for each in ("apiVersion", "kind", "namespace", "name"))
    return any(
        (each.api_version, each.kind, each.namespace, each.name) == given for each in dependencies
    )


def _snapshots(binding: Object) -> list[Object]:
    return (binding.get("spec") or {}).get("requiredBy") or []


def _parent(snapshot: Object) -> Key:
    return snapshot.get("namespace", ""), snapshot.get("name", "")


def _must_wait(there: Object, dependency: Object) -> bool:
    """Whether the binding of this name belongs to an object that is gone, and will go too."""
    metadata = there["metadata"]
    owner = next((each for each in metadata.get("ownerReferences") or () if _rules(each)), None)
    uid = dependency["metadata"].get("uid", "")
    return bool(metadata.get("deletionTimestamp")) or (owner is not None and owner["uid"] != uid)


def _rules(owner: Object) -> bool:
    return bool(owner.get("controller"))


def _attach(
    seen: SeenDependencies, key: Key, dependency: Object, there: Object | None
) -> list[Action]:
    parent = seen.binding
    before = there or _unattached(key, dependency)
    snapshot = {
        "namespace": _key(parent)[0],
        "name": _key(parent)[1],
        **({"clusters": _clusters(parent)} if _clusters(parent) else {}),
    }
    known = _snapshots(before)
    merged = [snapshot if _parent(each) == _key(parent) else each for each in known]
    if snapshot not in merged:
        merged.append(snapshot)
    own_id = (parent["metadata"].get("labels") or {}).get(names.BINDING_ID, "")
    metadata = before["metadata"]
    labels = {**(metadata.get("labels") or {}), _label(parent): own_id}
    # With a policy of its own, it is the detector that says of which version it is.
    resource = {} if _has_policy(before) else {"resource": _resource(dependency)}
    spec = {**before["spec"], **resource, "requiredBy": merged}
    fresh, conflicts = _settled({**before, "spec": spec}, seen)
    fresh = {**fresh, "metadata": {**metadata, "labels": labels}}
    if fresh == before or (there is None and not _clusters(parent)):
        return []
    told = _tell(fresh, conflicts) if there is not None else []
    return [Create(fresh) if there is None else Update(fresh), *told]


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


def _resource(dependency: Object) -> dict[str, str]:
    ref, metadata = Ref.of(dependency), dependency["metadata"]
    known = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": metadata.get("uid", ""),
        "resourceVersion": metadata.get("resourceVersion", ""),
    }
    return {key: value for key, value in known.items() if value}


def _detach(seen: SeenDependencies, attached: Iterable[Object]) -> list[Action]:
    label, parent = _label(seen.binding), _key(seen.binding)
    actions: list[Action] = []
    for binding in attached:
        metadata = binding["metadata"]
        if metadata.get("deletionTimestamp"):
            continue
        left = [each for each in _snapshots(binding) if _parent(each) != parent]
        labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != label}
        spec = {**binding["spec"], "requiredBy": left}
        fresh, _ = _settled({**binding, "spec": spec}, seen)
        actions.append(Update({**fresh, "metadata": {**metadata, "labels": labels}}))
    return actions


def _settled(binding: Object, seen: SeenDependencies) -> tuple[dict[str, Any], list[str]]:
    """The binding with what its parents together say of conflicts, and where they disagree.

    Where there is a policy of its own, its word counts alone.
    """
    spec = dict(binding["spec"])
    parents = [_parent(each) for each in _snapshots(binding)]
    known = {**seen.parents, _key(seen.binding): seen.binding}
    specs = [known[each].get("spec") or {} for each in parents if each in known]
    if _has_policy(binding):
        return {**binding, "spec": spec}, []
    if not parents:
        for key in ("conflictResolution", "preserveResourcesOnDeletion"):
            spec.pop(key, None)
        return {**binding, "spec": spec}, []
    overwriting = [each.get("conflictResolution") == OVERWRITE for each in specs]
    preserving = [bool(each.get("preserveResourcesOnDeletion")) for each in specs]
    spec["conflictResolution"] = OVERWRITE if any(overwriting) else ABORT
    spec["preserveResourcesOnDeletion"] = any(preserving)
    conflicts = []
    if any(overwriting) and not all(overwriting):
        conflicts.append("ConflictResolution conflicted (Overwrite vs Abort)")
    if any(preserving) and not all(preserving):
        conflicts.append("PreserveResourcesOnDeletion conflicted (true vs false)")
    return {**binding, "spec": spec}, conflicts


def _has_policy(binding: Object) -> bool:
    """Whether a binding is more than attached: only policies give a placement."""
    return binding["spec"].get("placement") is not None


def _tell(binding: Object, conflicts: Sequence[str]) -> list[Action]:
    if not conflicts:
        return []
    message = f"Dependency policy conflict detected: {'; '.join(conflicts)}."
    return [Tell(binding, CONFLICT_EVENT, message, warning=True)]
