"""A member cluster as the scheduler sees it: what it is, what it offers, what is free, its price.

Unknown is None, never zero: a cluster without `free` reported no resource summary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.model.amount import Resources
from atoll.model.price import Price
from atoll.model.taint import Taint

Api = tuple[str, str]
"""A group and version with a kind: `("apps/v1", "Deployment")`."""


@dataclass(frozen=True, slots=True)
class Free:
    """What a cluster has left by its own summary: allocatable less allocated less allocating."""

    resources: Resources
    pods: int


@dataclass(frozen=True, slots=True)
class Grade:
    """A class of nodes of a resource model: each has at least these resources."""

    grade: int
    least: tuple[tuple[str, int], ...]
    """By resource name, sorted: thousandths of a CPU, whole units of all else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One member cluster at one moment."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    apis: frozenset[Api] = frozenset()
    deleting: bool = False
    ready: bool | None = None
    free: Free | None = None
    grades: tuple[Grade, ...] = ()
    """The resource model, by ascending grade; empty without one."""
    nodes_by_grade: tuple[int, ...] = ()
    """How many nodes are of each grade, in the order of `grades`; empty where not reported."""
    price: Price | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    """Claims and measured properties of other dialects, as text; numbers compare as numbers."""
    scores: Mapping[str, int] = field(default_factory=dict)
    """Scores given from outside, by name."""
    sets: frozenset[str] = frozenset()
    """Names of the cluster sets it belongs to."""
    holds: frozenset[str] = frozenset()
    """Expressions (CEL) that were found true of it, by their text; evaluated outside the core."""
