"""Room that was given away a moment ago and that no cluster reports as taken yet.

Decisions come in as they are made, and so do the signs that a cluster counts the work itself: it
reported after the work ran healthily, or late enough. What is still only assumed goes out, for
the next decision to reckon with. Nothing is assumed longer than 5 minutes. Time is an argument.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Generic, TypeVar

from atoll.model.assumed import Assumed
from atoll.model.binding import Binding
from atoll.model.demand import Component, Demand
from atoll.scheduling.decision import Decision
from atoll.scheduling.units import running

ASSUMED_MOST = 300.0
SETTLE = 30.0
"""Until work is counted in a cluster's report: it is sent, created, and reported every 10 s."""
COUNTED = 15.0
"""Until work that runs well is counted in a report, even one that is not told as it says the same
as the last: clusters look every 10 s."""

K = TypeVar("K", bound=Hashable)
_Amounts = Mapping[Demand | None, int]


@dataclass(frozen=True, slots=True)
class Held:
    """What one binding holds of one cluster, since when.

    `was_healthy`: it ran there healthily when more was given to it, which then says nothing.
    `healthy_at`: since when it runs healthily; the cluster's last report may be older.
    """

    amounts: _Amounts
    at: float
    was_healthy: bool = False
    healthy_at: float = inf


Holding = Mapping[str, Held]
"""What one binding holds, by cluster."""


@dataclass(slots=True)
class Ledger(Generic[K]):
    """What every binding holds, and the sums by cluster."""

    _held: dict[K, Holding] = field(default_factory=dict)
    _sums: dict[str, dict[Demand | None, int]] = field(default_factory=dict)
    _reports: dict[str, float] = field(default_factory=dict)
    """When each cluster reported last, of those in which something is assumed."""

    def assumed(self) -> tuple[Assumed, ...]:
        """What is assumed in each cluster; equal demands are told together."""
        return tuple(
            Assumed(cluster, tuple(Component("", each, demand) for demand, each in sums.items()))
            for cluster, sums in self._sums.items()
        )

    def held(self, key: K) -> Holding:
        """What a binding holds, to be restored if its decision is not carried out."""
        return self._held.get(key, {})

    def assume(self, key: K, decision: Decision, healthy: frozenset[str], now: float) -> None:
        """Hold what a decision adds to what ran; what it takes away is held no longer.

        `healthy` are the clusters where the work runs healthily at this moment.
        """
        if not decision.ok:
            return
        binding, before, holding = decision.binding, self.held(key), dict[str, Held]()
        ran = {target.name: target.replicas for target in binding.targets}
        for name, replicas in decision.targets:
            held = before.get(name)
            ahead = dict(held.amounts) if held else {}
            less = _amounts(binding, ran.get(name, 0))
            added = _difference(_amounts(binding, replicas), less)
            total = _sum(ahead, added)
            if total:
                same = held is not None and total == held.amounts
                fresh = Held(total, now, name in healthy)
                holding[name] = held if same and held is not None else fresh
        self.restore(key, holding)

    def recover(self, key: K, binding: Binding, healthy: frozenset[str], at: float) -> None:
        """After a restart: hold what was decided at that time and does not run healthily yet."""
        targets = (each for each in binding.targets if each.name not in healthy)
        found = {name: Held(_amounts(binding, replicas), at) for name, replicas in targets}
        self.restore(key, {name: held for name, held in found.items() if held.amounts})
        for name in self.held(key):
            self._reports[name] = max(at, self._reports.get(name, at))

    def restore(self, key: K, holding: Holding) -> None:
        """Let a binding hold exactly this."""
        for name, held in self._held.pop(key, {}).items():
            self._count(name, held.amounts, -1)
        for name, held in holding.items():
            self._count(name, held.amounts, 1)
        if holding:
            self._held[key] = holding

    def release(self, key: K) -> None:
        """A binding that is no more holds nothing."""
        self.restore(key, {})

    def seen_healthy(self, key: K, healthy: frozenset[str], now: float) -> None:
        """Where the work has become healthy, the next report of its cluster counts it."""
        for name, held in self.held(key).items():
            if name not in healthy:
                held = replace(held, was_healthy=False, healthy_at=inf)
            elif not held.was_healthy and held.healthy_at == inf:
                held = replace(held, healthy_at=now)
            self._held[key] = {**self._held[key], name: held}

    def reported(self, cluster: str, at: float) -> bool:
        """A cluster's report of that time counts what runs well, and what was sent well before.

        Whether some of that was assumed until now.
        """
        if cluster not in self._sums:
            return False
        self._reports[cluster] = at
        return self._drop(at - SETTLE, at, cluster)

    def doubtful(self) -> frozenset[str]:
        """The clusters whose last report may count already what is still assumed there."""
        return frozenset(
            name
            for holding in self._held.values()
            for name, held in holding.items()
            if held.at <= self._reports.get(name, -inf)
        )

    def expire(self, now: float) -> bool:
        """Nothing is assumed for ever; whether something was until now."""
        return self._drop(now - ASSUMED_MOST, now - COUNTED)

    def _drop(self, until: float, healthy_until: float, cluster: str | None = None) -> bool:
        """Let go of what is held, or runs well, since then or longer, in this cluster or in all."""
        dropped = False
        for key, holding in list(self._held.items()):
            kept = {
                name: held
                for name, held in holding.items()
                if (held.at > until and held.healthy_at > healthy_until)
                or (cluster is not None and name != cluster)
            }
            if len(kept) < len(holding):
                self.restore(key, kept)
                dropped = True
        return dropped

    def __bool__(self) -> bool:
        """Whether anything is assumed."""
        return bool(self._held)

    def _count(self, cluster: str, amounts: _Amounts, sign: int) -> None:
        sums = _sum(self._sums.pop(cluster, {}), {key: sign * n for key, n in amounts.items()})
        if sums:
            self._sums[cluster] = sums
        else:
            self._reports.pop(cluster, None)


def _amounts(binding: Binding, replicas: int) -> dict[Demand | None, int]:
    """How many pods of each demand run where so many replicas do."""
    amounts = dict[Demand | None, int]()
    for demand, each in running(binding, replicas) if replicas else ():
        amounts[demand] = amounts.get(demand, 0) + each
    return amounts


def _difference(one: _Amounts, other: _Amounts) -> dict[Demand | None, int]:
    keys = dict.fromkeys((*one, *other))
    return {key: one.get(key, 0) - other.get(key, 0) for key in keys}


def _sum(one: _Amounts, other: _Amounts) -> dict[Demand | None, int]:
    """The sum of both, without what is none or less."""
    keys = dict.fromkeys((*one, *other))
    total = {key: one.get(key, 0) + other.get(key, 0) for key in keys}
    return {key: each for key, each in total.items() if each > 0}
