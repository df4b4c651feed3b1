"""Policies as users write them: what they select, and what they want of it."""

from dataclasses import dataclass
from typing import NamedTuple

from atoll.errors import Invalid
from atoll.model.action import Object, Ref
from atoll.model.affinity import Affinity
from atoll.model.metadata import Metadata
from atoll.model.resource_selector import Closeness, ResourceSelector


@dataclass(frozen=True, slots=True)
class OverrideRule:
    """What a policy changes in the clusters it means; `path` is where it says so."""

    overriders: Object
    path: str
    target: Affinity | None = None
    """The clusters meant; None for all."""
    relabels: bool = False
    """Whether it may change labels, by which other policies select."""
    renames: bool = False
    """Whether it may change who the object is."""

    @property
    def looks_at_clusters(self) -> bool:
        """Whether a cluster may come to be meant, or not, by what is written of it."""
        target = self.target
        return target is not None and bool(
            target.labels or target.provider or target.region or target.zones
        )


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

    def closeness(self, wire: Object) -> Closeness:
        """How closely this means an object; without selectors, as it means others of its kind."""
        if not self.selectors:
            return Closeness.KIND
        return max(each.closeness(wire) for each in self.selectors)


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


class ConditionIs(NamedTuple):
    """What is asked of a condition of a cluster: a status among these, or one that is not."""

    type: str
    among: tuple[str, ...]
    is_among: bool


@dataclass(frozen=True, slots=True, eq=False)
class ClusterTaintPolicy:
    """A ClusterTaintPolicy. `problem`: what cannot be of it; then it means no cluster."""

    wire: Object
    meta: Metadata
    target: Affinity | None = None
    """The clusters meant; None for all."""
    taints: tuple[Object, ...] = ()
    adds_on: tuple[ConditionIs, ...] = ()
    removes_on: tuple[ConditionIs, ...] = ()
    problem: Invalid | None = None
