"""Policies as users write them: what they select, and what they want of it."""

from dataclasses import dataclass

from atoll.errors import Invalid
from atoll.model.action import Object, Ref
from atoll.model.affinity import Affinity
from atoll.model.metadata import Metadata
from atoll.model.selector import Selector


@dataclass(frozen=True, slots=True)
class ResourceSelector:
    """The objects of one kind that a policy means: by name, by labels, or all of them."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""
    labels: Selector | None = None


@dataclass(frozen=True, slots=True)
class OverrideRule:
    """What a policy changes in the clusters it means; `path` is where it says so."""

    overriders: Object
    path: str
    target: Affinity | None = None
    """The clusters meant; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class OverridePolicy:
    """An OverridePolicy, or a ClusterOverridePolicy.

    `problem`: what cannot be read of it: whatever it selects is not sent before that is corrected.
    """

    wire: Object
    meta: Metadata
    selectors: tuple[ResourceSelector, ...] = ()
    """Without any, it is for everything in reach."""
    rules: tuple[OverrideRule, ...] = ()
    problem: Invalid | None = None

    @property
    def ref(self) -> Ref:
        return self.meta.ref


@dataclass(frozen=True, slots=True, eq=False)
class PropagationPolicy:
    """A PropagationPolicy, or a ClusterPropagationPolicy."""

    wire: Object
    meta: Metadata
    selectors: tuple[ResourceSelector, ...] = ()
    priority: int = 0
    preempts: bool = False
    is_lazy: bool = False
    dependent_overrides: tuple[str, ...] = ()
    priority_class: str = ""
    problem: Invalid | None = None

    @property
    def ref(self) -> Ref:
        return self.meta.ref
