"""Everything that is served, and where to find it: built-in resources and those of CRDs.

Looked into on every request, so each change builds a new index and swaps it in whole; whoever holds
an index goes on seeing one consistent state. `generation` counts the changes: what is derived from
the catalog (discovery, OpenAPI) is valid for one generation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import re2

from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import Facts

SCALE = ("autoscaling", "v1", "Scale")
_STATUS_VERBS = ("get", "patch", "update")
_CUSTOM_PRIORITY = 1000
_VERSION = re2.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"": 2, "beta": 1, "alpha": 0}


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with an endpoint of its own, and the kind spoken there."""

    name: str
    verbs: tuple[str, ...]
    group: str
    version: str
    kind: str


@lru_cache(maxsize=1024)
def subresources(resource: Resource) -> tuple[Subresource, ...]:
    """The subresources of a resource, in the order in which discovery lists them."""
    own = (resource.group, resource.version, resource.kind)
    found = []
    if resource.strategy.has_status:
        found.append(Subresource("status", _STATUS_VERBS, *own))
    found += [Subresource(name, _STATUS_VERBS, *own) for name in resource.strategy.parts]
    if resource.strategy.scale is not None:
        found.append(Subresource("scale", _STATUS_VERBS, *SCALE))
    found += [
        Subresource(name, ("create",), *asks) for name, asks in resource.strategy.posts.items()
    ]
    if resource.kind == "Namespace" and not resource.group:
        found.append(Subresource("finalize", ("update",), *own))
    found.extend(
        Subresource(branch.name, branch.verbs, *own[:2], branch.kind)
        for branch in resource.branches
    )
    return tuple(found if resource.custom else sorted(found, key=lambda sub: sub.name))


@lru_cache(maxsize=1024)
def version_rank(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as Kubernetes prefers them: v2, v1, v1beta2, v1alpha1, then anything else."""
    parsed = _VERSION.fullmatch(version)
    if parsed is None:
        return (1, 0, 0, version)
    major, stage, minor = parsed.groups()
    return (0, -_STAGES[stage or ""], -int(major) * 1000 - int(minor or 0), version)


@dataclass(frozen=True, eq=False)
class Index:
    """One state of the catalog; never changes."""

    generation: int
    resources: tuple[Resource, ...]  # in discovery order
    groups: Mapping[str, tuple[str, ...]]  # group -> versions, preferred first; discovery order
    places: Mapping[tuple[str, str, str], Resource]  # by group, version, plural
    _kinds: Mapping[tuple[str, str, str], Resource] = field(repr=False)

    @cached_property
    def versions(self) -> Mapping[tuple[str, str], tuple[Resource, ...]]:
        """The resources of each group version, by plural."""
        found: dict[tuple[str, str], list[Resource]] = {}
        for resource in self.resources:
            found.setdefault((resource.group, resource.version), []).append(resource)
        return {key: tuple(sorted(rs, key=lambda r: r.plural)) for key, rs in found.items()}

    @cached_property
    def collections(self) -> Mapping[str, Resource]:
        """A resource that serves each collection, in its stored version if that is served."""
        found: dict[str, Resource] = {}
        for resource in self.resources:
            as_stored = resource.version == resource.stored_version and not resource.stored_in
            if resource.collection not in found or as_stored:
                found[resource.collection] = resource
        return found


class Catalog:
    """What is served now. Changed only by whoever watches the CRDs, one definition at a time."""

    def __init__(self, builtin: Iterable[Resource], facts: Facts) -> None:
        self._builtin = tuple(builtin)
        self._priorities = {group.group: group.priority for group in facts.groups}
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self._index = self._built(1)

    @property
    def index(self) -> Index:
        """The current state, to be looked at as a whole."""
        return self._index

    @property
    def generation(self) -> int:
        return self._index.generation

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource served at this place."""
        return self._index.places.get((group, version, plural))

    def kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource whose objects are of this kind."""
        return self._index._kinds.get((group, version, kind))

    def of_collection(self, collection: str) -> Resource | None:
        """A resource that serves this collection."""
        return self._index.collections.get(collection)

    def always(self, collection: str) -> Resource:
        """The resource of a collection that is served whatever users define."""
        resource = self.of_collection(collection)
        assert resource is not None, f"{collection} are always served"
        return resource

    def namespaced_collections(self) -> list[str]:
        """The collections whose objects live in namespaces."""
        found = self._index.collections.items()
        return [name for name, resource in found if resource.namespaced]

    def priority(self, group: str) -> int:
        """How far in front a group is in discovery: the higher, the sooner."""
        return self._priorities.get(group, _CUSTOM_PRIORITY)

    def versions(self, group: str) -> tuple[str, ...]:
        """The versions of a group, the preferred one first."""
        return self._index.groups.get(group, ())

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._index.resources)

    def put(self, definition: str, resources: Sequence[Resource]) -> None:
        """Serve these resources for the CRD of this name, instead of what it had before."""
        self._custom = {**self._custom, definition: tuple(resources)}
        self._index = self._built(self.generation + 1)

    def drop(self, definition: str) -> None:
        """Serve nothing for the CRD of this name any more."""
        if definition in self._custom:
            self._custom = {k: v for k, v in self._custom.items() if k != definition}
            self._index = self._built(self.generation + 1)

    def _built(self, generation: int) -> Index:
        every = [*self._builtin, *(r for rs in self._custom.values() for r in rs)]
        every.sort(key=self._rank)
        groups: dict[str, tuple[str, ...]] = {}
        for resource in every:
            known = groups.get(resource.group, ())
            if resource.version not in known:
                groups[resource.group] = (*known, resource.version)
        return Index(
            generation,
            tuple(every),
            groups,
            {(r.group, r.version, r.plural): r for r in every},
            {(r.group, r.version, r.kind): r for r in every},
        )

    def _rank(self, resource: Resource) -> tuple[object, ...]:
        group = resource.group
        return (-self.priority(group), group, version_rank(resource.version), resource.plural)
