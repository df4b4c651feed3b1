"""Admission: rules between a well-formed request and the store, here and outside.

A mutating hook gives the object it wants stored instead; a validating hook raises ApiError to
refuse. Hooks are plain functions, run inside the write's own step, so what they read through the
store's newest state cannot change before the write is queued. Whoever has to be asked beside them
(webhooks, policies) is `Outside`: a write that concerns them is decided outside of that step, and
checked again by the hooks inside it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

from atoll.apiserver.authentication import Identity
from atoll.apiserver.resource import Branch, Resource
from atoll.wire import Wire

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(slots=True)
class Admission:
    """One write, as its hooks see it. `object` is None for DELETE, `old` is None for CREATE.

    To CONNECT is no write: only those outside are asked, and `object` is what is wanted there.
    Nobody changes it; it is not frozen because there are two for every write.
    """

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    identity: Identity
    object: Wire | None = None
    old: Wire | None = None
    subresource: str = ""
    dry_run: bool = False
    is_unnamed: bool = False  # by the client: of generateName, or one of a whole collection
    options: Callable[[], Wire] = dict  # as the client gave them, with their kind
    warnings: list[str] = field(default_factory=list)  # to be told to the client
    others: Callable[[], Sequence[Wire]] = tuple
    """All objects of this collection, as they are stored."""


Mutating = Callable[[Admission], Wire]
Validating = Callable[[Admission], None]
Settle = Callable[[], None]
Fit = Callable[[Wire], Wire]


class Outside(Protocol):
    """Those who must be asked, and waited for, before something is written."""

    def concerns(self, resource: Resource) -> bool:
        """Whether anybody wants to be asked about this resource; looked up on every write."""

    async def mutated(self, admission: Admission, fit: Fit) -> Wire:
        """The object as they want it; `fit` makes a proper object of what they changed."""

    async def check(self, admission: Admission) -> None:
        """ApiError if one of them refuses."""


class Nobody:
    """Nobody outside is asked."""

    def concerns(self, _: Resource) -> bool:
        return False

    async def mutated(self, admission: Admission, _: Fit) -> Wire:
        assert admission.object is not None, "only creations and updates are mutated"
        return admission.object

    async def check(self, _: Admission) -> None:
        return


@dataclass(frozen=True, slots=True)
class Only:
    """A hook that is about some collections, or some operations, only; none given means all."""

    hook: Callable[[Admission], Any]
    collections: Collection[str] = ()
    operations: Collection[str] = ()

    def __call__(self, admission: Admission) -> Any:
        return self.hook(admission)

    def concerns(self, operation: Operation, resource: Resource) -> bool:
        if self.collections and resource.collection not in self.collections:
            return False
        return not self.operations or operation in self.operations


_KNOWN_MAX = 4096


@dataclass(frozen=True, slots=True)
class Hooks:
    """All hooks, in the order in which they run; those that concern few kinds are `Only` hooks."""

    mutating: Sequence[Mutating] = ()
    validating: Sequence[Validating] = ()
    last: Sequence[Validating] = ()
    """Run once all others have agreed: what counts and limits what is really written."""
    outside: Outside = field(default_factory=Nobody)
    # Those that concern an operation on a resource, so that the others need not be asked again.
    _known: dict[tuple[Operation, Resource], "_Concerned"] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def may_change(self, admission: Admission) -> bool:
        """Whether there is anybody who may want another object stored than this."""
        concerned = self._concerned(admission).mutating
        return bool(concerned) or self.outside.concerns(admission.resource)

    async def mutated(self, admission: Admission, fit: Fit) -> Wire:
        """The object after everybody who may change it has had their say.

        `fit` gives an object from outside what the server alone decides; hooks then look at it.
        """
        wanted = self._mutated_here(admission)
        if not self.outside.concerns(admission.resource):
            return wanted
        await asyncio.sleep(0)  # the store's step ends here: from now on others may write

        return await self.outside.mutated(
            replace(admission, object=wanted),
            lambda obj: self._mutated_here(replace(admission, object=fit(obj))),
        )

    async def check(self, admission: Admission) -> Settle | None:
        """ApiError from the first who refuses; what must be checked again if it took time."""
        for hook in self._concerned(admission).validating:
            hook(admission)
        if not self.outside.concerns(admission.resource):
            for hook in self.last:
                hook(admission)
            return None
        await asyncio.sleep(0)
        await self.outside.check(admission)
        return partial(self._check_again, admission)

    def _mutated_here(self, admission: Admission) -> Wire:
        for hook in self._concerned(admission).mutating:
            wanted = hook(admission)
            if wanted is not admission.object:
                admission = replace(admission, object=wanted)
        assert admission.object is not None, "only creations and updates are mutated"
        return admission.object

    def _check_again(self, admission: Admission) -> None:
        for hook in (*self._concerned(admission).validating, *self.last):
            hook(admission)

    def _concerned(self, admission: Admission) -> "_Concerned":
        key = (admission.operation, admission.resource)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KNOWN_MAX:  # of definitions that have changed since
                self._known.clear()
            found = self._known[key] = _Concerned(
                _concerned(self.mutating, *key), _concerned(self.validating, *key)
            )
        return found


class _Concerned(NamedTuple):
    mutating: tuple[Mutating, ...]
    validating: tuple[Validating, ...]


def _concerned(
    hooks: Sequence[Callable[[Admission], Any]], operation: Operation, resource: Resource
) -> tuple[Callable[[Admission], Any], ...]:
    some = (hook if isinstance(hook, Only) else Only(hook) for hook in hooks)
    return tuple(one.hook for one in some if one.concerns(operation, resource))


@dataclass(frozen=True, slots=True)
class Kinds:
    """Kinds that a server serves beyond Kubernetes' own, their rules, and what those need run."""

    resources: Sequence[Resource] = ()
    hooks: Hooks = Hooks()
    services: Mapping[str, Callable[[], Awaitable[None]]] = field(default_factory=dict)
    branches: Mapping[tuple[str, str], tuple[Branch, ...]] = field(default_factory=dict)
    """By group and plural: what else is served below the objects of a resource."""
    roles: Sequence[tuple[str, Wire]] = ()
    """Roles and bindings that are there from the start, each with its collection."""
    namespaces: Sequence[str] = ()
    """Namespaces that are there from the start, beside those of every cluster."""
