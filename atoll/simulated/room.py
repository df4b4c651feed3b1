"""Who has how much of a cluster's room: summed resources, given to those who came first.

Claims come in (what one replica needs, how many are wanted); how many may run goes out. Whoever has
room keeps it for as long as it is wanted and the nodes are there. Single nodes are not known here.
"""

from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

Needs = tuple[tuple[str, int], ...]
"""By resource name: thousandths of a CPU, whole units of all else."""


class Claim(NamedTuple):
    """What one workload wants, and how many replicas of it have room."""

    needs: Needs
    wanted: int
    given: int


class Room(Generic[K]):
    """The capacity of all nodes together, and the claims on it in the order in which they came."""

    def __init__(self) -> None:
        self._capacity: dict[str, int] = {}
        self._used: dict[str, int] = {}
        self._claims: dict[K, Claim] = {}
        self._waiting: dict[K, None] = {}

    def give(self, key: K, needs: Needs, wanted: int) -> int:
        """How many replicas may run, now that so many of this size are wanted."""
        old = self._claims.get(key)
        if old is not None:
            self._use(old.needs, -old.given)
        given = min(wanted, self._most(needs))
        self._use(needs, given)
        self._claims[key] = Claim(needs, wanted, given)
        if given < wanted:
            self._waiting[key] = None
        else:
            self._waiting.pop(key, None)
        return given

    def give_back(self, key: K) -> None:
        """This one wants nothing any more."""
        claim = self._claims.pop(key, None)
        self._waiting.pop(key, None)
        if claim is not None:
            self._use(claim.needs, -claim.given)

    def given(self, key: K) -> int:
        """How many replicas of this one have room."""
        claim = self._claims.get(key)
        return 0 if claim is None else claim.given

    def waiting(self) -> list[K]:
        """Those who want more than they have."""
        return list(self._waiting)

    def resize(self, capacity: Mapping[str, int]) -> list[K]:
        """Share out this much instead; gives those who have another share now."""
        self._capacity = dict(capacity)
        before, self._claims = self._claims, {}
        self._used, self._waiting = {}, {}
        return [
            key
            for key, claim in before.items()
            if self.give(key, claim.needs, claim.wanted) != claim.given
        ]

    @property
    def capacity(self) -> Mapping[str, int]:
        return self._capacity

    def taken(self) -> dict[str, int]:
        """What is used by replicas that have room, without zeros."""
        return {name: amount for name, amount in self._used.items() if amount}

    def missing(self) -> dict[str, int]:
        """What those without room would use."""
        total: dict[str, int] = {}
        for claim in map(self._claims.__getitem__, self._waiting):
            for name, amount in claim.needs:
                total[name] = total.get(name, 0) + amount * (claim.wanted - claim.given)
        return total

    def _most(self, needs: Needs) -> int:
        fits = [
            (self._capacity.get(name, 0) - self._used.get(name, 0)) // amount
            for name, amount in needs
            if amount
        ]
        assert fits, "every pod needs at least a slot on a node"
        return max(0, min(fits))

    def _use(self, needs: Needs, count: int) -> None:
        for name, amount in needs:
            self._used[name] = self._used.get(name, 0) + amount * count
