"""The words of preemption: who runs where, what is missing, and the plan that makes room.

A caller hands in `Spread` or `Each` and `Holding`s; `Plan` or `Refusal` comes back. Nothing here
computes anything but sums.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from atoll.model.binding import Binding, Target

Key = tuple[str, str]
"""What names a binding among others: `Binding.key`."""


@dataclass(frozen=True, slots=True)
class Spread:
    """So many replicas are missing, to be split at will over the feasible clusters.

    A cluster takes at most as many more as it is given here; None: as many as fit.
    """

    missing: int
    clusters: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Each:
    """Each of these clusters is missing so many replicas, as duplicated work is."""

    clusters: Mapping[str, int]


Need = Spread | Each


@dataclass(frozen=True, slots=True)
class Holding:
    """Replicas of a binding that run in a cluster, and the other clusters it may run in."""

    binding: Binding
    cluster: str
    replicas: int
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Victim:
    """Replicas of a binding that leave a cluster: to another one, or, without one, for good."""

    binding: Key
    cluster: str
    replicas: int
    priority: int
    to: str | None = None
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a plan does to others. Of two plans the lesser cost is the better plan."""

    by_priority: tuple[tuple[int, int], ...] = ()
    """Victim replicas by priority, highest first; compares as counts from the top do."""
    stopped: int = 0
    bindings: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be searched before a plan is settled for that is not proven to be best."""

    cover: int = 4_000
    """Vectors looked at for one cluster and one number of replicas."""
    covers: int = 100_000
    """Vectors looked at in all."""
    steps: int = 1_500_000
    """Steps in dividing the missing replicas over the clusters."""
    ties: int = 10_000
    """Nodes visited among plans that cost the same."""


class Proof(StrEnum):
    """What is known of a plan. No victim of any plan can be dropped."""

    BEST = "best"  # no plan costs less
    FEWEST = "fewest"  # no plan takes fewer or lower priorities; another might stop fewer of them
    GREEDY = "greedy"  # the search was too large; another plan might take fewer


@dataclass(frozen=True, slots=True)
class Plan:
    """Replicas that become possible per cluster, and who gives way for them."""

    takes: tuple[Target, ...] = ()
    victims: tuple[Victim, ...] = ()
    cost: Cost = Cost()
    proof: Proof = Proof.BEST


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nobody gives way, and why."""

    reason: str
