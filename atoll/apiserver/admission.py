"""Admission: rules between a well-formed request and the store, as in-process hooks.

A mutating hook gives the object it wants stored instead; a validating hook raises ApiError to
refuse. Hooks are plain functions, run inside the write's own step, so what they read through the
store's newest state cannot change before the write is queued.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from atoll.apiserver.authentication import Identity
from atoll.apiserver.resource import Branch, Resource

Object = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE"]


@dataclass(frozen=True, slots=True)
class Admission:
    """One write, as its hooks see it. `object` is None for DELETE, `old` is None for CREATE."""

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    identity: Identity
    object: Object | None = None
    old: Object | None = None
    subresource: str = ""
    dry_run: bool = False
    others: Callable[[], Sequence[Object]] = tuple
    """All objects of this collection, as they are stored."""


Mutating = Callable[[Admission], Object]
Validating = Callable[[Admission], None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """All hooks, in the order in which they run."""

    mutating: Sequence[Mutating] = ()
    validating: Sequence[Validating] = ()

    def mutated(self, admission: Admission) -> Object:
        """The object after every mutating hook has had its say."""
        for hook in self.mutating:
            wanted = hook(admission)
            if wanted is not admission.object:
                admission = replace(admission, object=wanted)
        assert admission.object is not None, "only creations and updates are mutated"
        return admission.object

    def check(self, admission: Admission) -> None:
        """ApiError from the first validating hook that refuses."""
        for hook in self.validating:
            hook(admission)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds that a server serves beyond Kubernetes' own, their rules, and what those need run."""

    resources: Sequence[Resource] = ()
    hooks: Hooks = Hooks()
    services: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    branches: Mapping[tuple[str, str], tuple[Branch, ...]] = field(default_factory=dict)
    """By group and plural: what else is served below the objects of a resource."""
    roles: Sequence[tuple[str, Object]] = ()
    """Roles and bindings that are there from the start, each with its collection."""
    namespaces: Sequence[str] = ()
    """Namespaces that are there from the start, beside those of every cluster."""
