"""What a decision costs per hour, in billionths of the currency.

Work and its targets come in; what they cost goes out, cluster by cluster. A price that is not known
is said to be unknown: it is neither zero nor left out of sight.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from atoll.model.binding import Binding, Target
from atoll.scheduling.fleet import Fleet
from atoll.scheduling.prices import replica_cost
from atoll.scheduling.units import running


@dataclass(frozen=True, slots=True)
class Cost:
    """By cluster, in the order of the targets; None where a price is not known."""

    by_cluster: tuple[tuple[str, int | None], ...] = ()

    @property
    def known(self) -> int:
        """What is known of the cost, in all."""
        return sum(cost for _, cost in self.by_cluster if cost is not None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The clusters whose cost is not known."""
        return tuple(name for name, cost in self.by_cluster if cost is None)


def cost(binding: Binding, targets: Iterable[Target], fleet: Fleet) -> Cost:
    """The cost of a workload that runs in these targets."""
    found = list[tuple[str, int | None]]()
    for name, replicas in targets:
        price = fleet.clusters[fleet.rows[name]].price
        total: int | None = 0
        for demand, count in running(binding, replicas):
            each = replica_cost(price, demand)
            total = None if each is None or total is None else total + each * count
        found.append((name, total))
    return Cost(tuple(found))
