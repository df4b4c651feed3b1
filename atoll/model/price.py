"""What a cluster charges, in billionths of the currency per hour, so that sums are exact.

A price that is not known is None or absent, never zero: nothing is cheap because nobody asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.errors import Invalid
from atoll.model.metadata import Metadata
from atoll.wire import Object

NANO = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Per CPU-hour, per GiB-hour of memory, and per unit-hour of every other priced resource.

    Without a `currency` it is in the one that the others are in.
    """

    cpu: int | None = None
    gib: int | None = None
    others: Mapping[str, int] = field(default_factory=dict)
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """What someone says a cluster charges, and when that holds, in seconds since the epoch."""

    cluster: str
    price: Price
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ClusterPrice:
    """A ClusterPrice: what it says, or why nobody can tell."""

    wire: Object
    meta: Metadata
    said: Quote | Invalid
    conditions: tuple[Object, ...] = ()

    @property
    def problem(self) -> Invalid | None:
        """What cannot be read of it."""
        return self.said if isinstance(self.said, Invalid) else None
