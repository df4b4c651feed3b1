"""Policies as users write them: what they select or carry, and what they want of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.affinity import ANYWHERE, Affinity
from atoll.model.metadata import Metadata
from atoll.model.resource_selector import Closeness, ResourceSelector
from atoll.wire import Object

LOCATION = ""
"""Provider, region and zones, where else the key of a label is; no label has this one."""


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
    def looks_at(self) -> frozenset[str]:
        """By what a cluster may come to be meant, or not: keys of its labels, and `LOCATION`."""
        target = self.target or ANYWHERE
        keys = () if target.labels is None else (each.key for each in target.labels.requirements)
        is_where = target.provider or target.region or target.zones
        return frozenset((*keys, *((LOCATION,) if is_where else ())))


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


@dataclass(frozen=True, slots=True)
class Claim:
    """Which policy something belongs to, and the labels and annotations by which it says so."""

    policy: Ref
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """As users know it: namespace/name, or the name of a cluster-wide policy."""
        _, _, namespace, name = self.policy
        return f"policy {namespace}/{name}" if namespace else f"cluster policy {name}"


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What somebody wants of templates, in whatever dialect it was written.

    It selects templates of the plane, or carries one inside, or only decides: then there is none,
    and nothing is sent. One that carries or only decides owns its binding.
    """

    wire: Object
    meta: Metadata
    claim: Claim | None = None
    """What its templates and bindings carry; None while it cannot be told from others."""
    selectors: tuple[ResourceSelector, ...] = ()
    carries: Object | None = None
    """The template inside, whole, as members are to have it."""
    only_decides: bool = False
    asks: Object = field(default_factory=dict)
    """What it asks of its bindings, in the fields in which their spec holds it."""
    suspends: Object = field(default_factory=dict)
    groups: tuple[tuple[str, str], ...] = ()
    """The labels whose values keep workloads together, and apart."""
    priority: int = 0
    preempts: bool = False
    is_lazy: bool = False
    """Whether it takes effect with the next change of a template only."""
    awaits: Mapping[Ref, str] = field(default_factory=dict)
    """What must be there before it is applied, and the field in which it says so."""
    priority_class: str = ""
    finalizer: str = ""
    """What keeps it from being gone before all it holds is let go of."""
    ignored: tuple[str, ...] = ()
    """What is written in it and does nothing here, for its owner to read."""
    problem: Invalid | None = None
    """What cannot be read of it: it is not applied before that is corrected."""

    @property
    def ref(self) -> Ref:
        return self.meta.ref

    @property
    def own_template(self) -> Object | None:
        """What its own binding is for, if it has one: the template inside, or itself."""
        return self.wire if self.only_decides else self.carries

    def closeness(self, wire: Object) -> Closeness:
        """How closely this means an object."""
        found = (each.closeness(wire) for each in self.selectors)
        return max(found, default=Closeness.NOT_MEANT)


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
