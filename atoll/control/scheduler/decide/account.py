"""What is assumed in one cluster: the work itself, what it needs in all, and since when by whom.

Changes come in as they are made, and each costs what it changes; the work so far, and who holds
some of it since some moment or longer, goes out. What is told stays as it is, whatever comes later.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Generic, TypeVar

from atoll.control.scheduler.decide.deadlines import Deadlines
from atoll.model.assumed import Assumed, Parts, Sums, count
from atoll.model.demand import Component, Demand

K = TypeVar("K", bound=Hashable)
_REWRITTEN_FROM = 64
"""A list of so many parts may be longer than twice the demands in it before it is made anew."""


@dataclass(slots=True)
class Account(Generic[K]):
    """What one cluster gave away and does not report yet."""

    reported_at: float = -inf
    """When the cluster reported last."""
    _amounts: dict[Demand | None, int] = field(default_factory=dict)
    _pods: int = 0
    _units: dict[str, int] = field(default_factory=dict)
    _written: dict[str, int] = field(default_factory=dict)
    _list: list[Component] | None = None
    """The work, to which more is added; None if some was taken away since it was told."""
    _memo: dict[object, object] = field(default_factory=dict)
    _told: Assumed | None = None
    _given: Deadlines[K] = field(default_factory=Deadlines)
    _healthy: Deadlines[K] = field(default_factory=Deadlines)

    @property
    def is_empty(self) -> bool:
        """Whether nobody holds anything."""
        return not self._given

    def add(self, amounts: Mapping[Demand | None, int]) -> None:
        """So many more pods of each demand; below zero, so many fewer."""
        self._told = None
        for demand, pods in amounts.items():
            if not pods:
                continue
            if pods < 0:
                self._list = None
            else:
                # The order of the work follows from what was added, not from who asked when.
                self._parts().append(Component("", pods, demand))
            self._pods += pods
            count(self._units, self._written, demand, pods)
            left = self._amounts.get(demand, 0) + pods
            if left:
                self._amounts[demand] = left
            else:
                del self._amounts[demand]
        if self._list and len(self._list) > 2 * len(self._amounts) + _REWRITTEN_FROM:
            self._list = None

    def note(self, key: K, at: float, healthy_at: float) -> None:
        """A key holds something since a moment and runs well since another; never is `inf`."""
        self._given.set(key, at)
        self._healthy.set(key, healthy_at)

    def since(self) -> float:
        """Since when the one who holds something longest does so."""
        return self._given.first()

    def until(self, at: float, healthy_at: float) -> list[K]:
        """Who holds something since then or longer, or runs well since then or longer."""
        return list(dict.fromkeys((*self._given.until(at), *self._healthy.until(healthy_at))))

    def assumed(self, cluster: str) -> Assumed:
        """The work so far."""
        if self._told is None:
            sums = Sums(self._pods, dict(self._units), dict(self._written))
            listed = self._parts()
            parts = Parts(listed, len(listed), self._memo)
            self._told = Assumed.counted(cluster, parts, sums)
        return self._told

    def _parts(self) -> list[Component]:
        if self._list is None:
            self._list = [Component("", n, demand) for demand, n in self._amounts.items()]
            self._memo = {}
        return self._list
