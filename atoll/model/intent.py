"""What a user wants of placement, whoever's dialect it was written in.

Everything in which dialects differ (tie-breaks, rounding, what to do at a shortage) is a value
here, so that the engine never asks where an intent came from. Values beyond Karmada's only apply
when given: `Pick`, `Fill`, `Bounds`, `Preference`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from atoll.model.affinity import Affinity, Term
from atoll.model.taint import Toleration


class Field(StrEnum):
    """Fields of a cluster that a spread constraint can name."""

    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class Constraint:
    """Karmada's spread constraint. An upper bound of 0 was not given, and admits nothing."""

    field: Field | None
    label: str = ""
    least: int = 1
    most: int = 0


@dataclass(frozen=True, slots=True)
class Everyone:
    """Every feasible cluster is selected."""


@dataclass(frozen=True, slots=True)
class Constrained:
    """Selected under the intent's spread constraints, with Karmada's answers."""


class Order(StrEnum):
    """Which clusters come first when not all are taken. All orders end with the name."""

    BEST = "best"  # tier, score, free capacity
    FREE = "free"  # most free capacity
    PRICE = "price"  # cheapest for this workload; unknown prices last
    CHANCE = "chance"  # drawn with the given seed, the same for the same seed


class Shortage(StrEnum):
    """What to do when not all that was asked for can be had."""

    REFUSE = "refuse"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Group:
    """Spread over the values of a field, a label (`label:KEY`) or a property (`property:KEY`).

    A cluster without a value is in no group and is not taken. `each` bounds the clusters taken
    per group; `skew` is the largest difference in clusters between two groups taken.
    """

    key: str
    least: int = 1
    most: int | None = None
    each_least: int = 1
    each_most: int | None = None
    skew: int | None = None


@dataclass(frozen=True, slots=True)
class Quota:
    """So many clusters of those that match (`3 in AWS and 2 in GCP`)."""

    affinity: Affinity
    count: int
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Pick:
    """Atoll's own selection: at least and at most so many clusters, in an order, spread as said."""

    order: Order = Order.BEST
    least: int = 1
    most: int | None = None
    seed: int = 0
    sticky: bool = True
    """Clusters that hold the workload already come first."""
    groups: tuple[Group, ...] = ()
    quotas: tuple[Quota, ...] = ()
    shortage: Shortage = Shortage.REFUSE


Selection = Everyone | Constrained | Pick


@dataclass(frozen=True, slots=True)
class Duplicated:
    """Every selected cluster runs all replicas; `stated` if the user said so."""

    stated: bool = True


class Combine(StrEnum):
    """The weight of a cluster that several entries match."""

    MAX = "max"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Weighted:
    """Divided by given weights; where no cluster has one, all count the same."""

    weights: tuple[tuple[Affinity, int], ...] = ()
    combine: Combine = Combine.MAX


@dataclass(frozen=True, slots=True)
class Available:
    """Divided by free capacity; `aggregated` into as few clusters as hold it."""

    aggregated: bool = False


@dataclass(frozen=True, slots=True)
class Bounds:
    """At least and at most so many replicas in each matching cluster; the first match counts."""

    affinity: Affinity
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Fill:
    """Atoll's own division: fill clusters in an order, each up to its capacity and its bounds.

    With `Order.BEST` tiers are filled in turn, local first and then the burst, and scale-in takes
    from the last tier first. `even` divides by free capacity inside a tier instead of filling up.
    """

    order: Order = Order.BEST
    even: bool = False
    seed: int = 0
    shortage: Shortage = Shortage.REFUSE
    keep: bool = True
    """Replicas that run are not moved to follow the order; only what is new is placed by it."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A division that no strategy knows; the decision fails and says so."""

    kind: str
    preference: str


Division = Duplicated | Weighted | Available | Fill | Unsupported


@dataclass(frozen=True, slots=True)
class Preference:
    """A soft affinity: matching clusters score so much more (or less, if negative)."""

    affinity: Affinity
    weight: int


class TieBreak(StrEnum):
    """Who gets a replica that two clusters claim equally."""

    UID_PARITY = "uid"  # by name, upwards or downwards by the workload's uid, as Karmada does
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Ordinals:
    """Every ordinal runs in one cluster only: in ranges without gaps, or with a stride reserved
    for each cluster, so that scaling one never touches another."""

    stride: int | None = None


@dataclass(frozen=True, slots=True)
class Preemption:
    """Does this work push lower priorities out, and may it be pushed out by higher ones?"""

    may_preempt: bool = False
    may_be_preempted: bool = True


class Failback(StrEnum):
    """Whether work returns to an earlier term once that can hold it again."""

    NEVER = "never"
    WHEN_POSSIBLE = "when possible"


class Reschedule(StrEnum):
    """Whether divided work is decided anew when clusters change, or only when asked for."""

    ON_REQUEST = "on request"
    ON_CLUSTER_CHANGE = "on cluster change"


@dataclass(frozen=True, slots=True)
class Intent:
    """One policy's will. Terms are tried in order; the first that can hold the work is taken."""

    terms: tuple[Term, ...] = (Term(),)
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Constraint, ...] = ()
    """Karmada's constraints: clusters must have the fields named, whatever the selection."""
    selection: Selection = Everyone()
    division: Division = Duplicated(stated=False)
    unused_weights: tuple[tuple[Affinity, int], ...] = ()
    """Weights listed beside a division that does not look at them; a change of them is a change."""
    bounds: tuple[Bounds, ...] = ()
    preferences: tuple[Preference, ...] = ()
    soft_taints: int = 0
    """What an untolerated PreferNoSchedule taint costs in score; 0: ignored, as in Karmada."""
    scores: tuple[tuple[str, int], ...] = ()
    """Scores given from outside that count, by name, with their weights."""
    tie_break: TieBreak = TieBreak.UID_PARITY
    ordinals: Ordinals | None = None
    """How a StatefulSet is split by ordinals; None: every cluster counts from zero."""
    preemption: Preemption = Preemption()
    failback: Failback = Failback.NEVER
    reschedule: Reschedule = Reschedule.ON_REQUEST
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        """Remember the hash: an intent is looked up with every decision and never changes."""
        object.__setattr__(
            self,
            "_hash",
            hash(
                (
                    self.terms,
                    self.tolerations,
                    self.spread,
                    self.selection,
                    self.division,
                    self.bounds,
                    self.preferences,
                )
            ),
        )

    def __hash__(self) -> int:
        return self._hash

    @property
    def by_price(self) -> bool:
        """Whether clusters are selected or filled by their price."""
        return any(
            isinstance(each, Pick | Fill) and each.order is Order.PRICE
            for each in (self.selection, self.division)
        )

    @property
    def follows_price(self) -> bool:
        """Whether what runs is moved when prices change: by price, and nothing was to stay."""
        match self.selection:
            case Pick(order=Order.PRICE, sticky=False):
                return True
        match self.division:
            case Fill(order=Order.PRICE, keep=False):
                return True
        return False
