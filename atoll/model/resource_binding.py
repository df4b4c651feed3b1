"""The binding of a template to clusters: what was asked for, decided, and reported of it.

What wakes controllers all the time (where it goes, who holds it, what is reported) is read at
once; what the scheduler alone looks at, when it is asked for.
"""

from dataclasses import dataclass, field

from atoll.errors import Invalid
from atoll.model.action import Ref
from atoll.model.binding import Target
from atoll.model.later import Later
from atoll.model.metadata import Metadata
from atoll.model.standing import Standing
from atoll.wire import Object

AT_ONCE = ("Directly", "Immediately")
"""Purge modes that want a copy gone before another takes its place."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """A copy that is to leave a cluster once another has taken its place."""

    cluster: str
    purge_mode: str
    replicas: int
    producer: str
    suppressed: bool | None
    """Whether somebody keeps it from ending; None if nobody said anything."""
    grace_s: float | None
    created: float | None
    wire: Object

    @property
    def is_at_once(self) -> bool:
        return self.purge_mode in AT_ONCE


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A binding that needs this one, and where it was when that was noted."""

    namespace: str
    name: str
    targets: tuple[Target, ...]

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class BindingSpec:
    """What is asked of a binding, and what was decided."""

    template: Ref
    template_uid: str
    clusters: tuple[Target, ...] = ()
    """What the last decision put where."""
    required_by: tuple[Snapshot, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    replicas: int | None = None
    is_workload: bool = False
    """Whether replicas are placed, rather than the object as it is."""
    is_divided: bool = False
    is_split: bool = False
    """Whether every ordinal is to exist once among all clusters."""
    has_policy: bool = False
    """Whether it is more than attached to others: only policies give a placement."""
    groups: tuple[str, ...] = ()
    """The groups of workloads that it wants to be with, or apart from."""
    propagates_dependencies: bool = False
    overwrites: bool = False
    """Whether what stands in a cluster already is taken over."""
    preserves: bool = False
    """Whether what runs stays when the binding ends."""
    is_suspended: bool = False
    """Whether nothing more is sent anywhere."""
    suspended_in: tuple[str, ...] = ()
    purge_mode: str = ""
    priority: int = 0
    rescheduled: int | None = None
    """When somebody asked last for it to be placed anew, in nanoseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class BindingStatus:
    """What is told of a binding."""

    conditions: tuple[Object, ...] = ()
    aggregated: tuple[Object, ...] = ()
    observed_generation: int | None = None
    last_scheduled: float | None = None

    @property
    def healthy_in(self) -> frozenset[str]:
        """The clusters in which its work runs healthily, as far as they have told."""
        well = (each for each in self.aggregated if each.get("health") == "Healthy")
        return frozenset(str(each.get("clusterName")) for each in well)


@dataclass(frozen=True, slots=True, eq=False)
class ResourceBinding:
    """A ResourceBinding, or the ClusterResourceBinding of an object without a namespace.

    `problem`: what cannot be read of it; then nothing is to be concluded from its spec and status.
    """

    wire: Object
    meta: Metadata
    spec: BindingSpec
    status: BindingStatus
    standing: Later[Standing | Invalid]
    problem: Invalid | None = None
    _targets: tuple[Target, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        """Remember where it goes, which is asked for more often than anything else."""
        lists = (self.spec.clusters, *(each.targets for each in self.spec.required_by))
        found: dict[str, Target] = {}
        for each in (each for one in lists for each in one):
            found.setdefault(each.name, each)
        object.__setattr__(self, "_targets", tuple(found.values()))

    @property
    def ref(self) -> Ref:
        return self.meta.ref

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and its name."""
        return self.meta.ref.namespace, self.meta.ref.name

    @property
    def targets(self) -> tuple[Target, ...]:
        """The clusters of the decision, then those of the bindings that depend on this one."""
        return self._targets

    @property
    def is_cluster_wide(self) -> bool:
        return not self.meta.ref.namespace
