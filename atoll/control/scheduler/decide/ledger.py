"""Room that was given away a moment ago and that no cluster reports as taken yet.

Decisions come in as they are made, and so do the signs that a cluster counts the work itself: it
reported after the work ran healthily, or late enough. What is still only assumed goes out, for
the next decision to reckon with. Nothing is assumed longer than 5 minutes. Time is an argument.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Generic, TypeVar

from atoll.control.scheduler.decide.account import Account
from atoll.model.assumed import Assumed
from atoll.model.binding import Binding
from atoll.model.demand import Demand
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
    """What every binding holds, and what that makes by cluster.

    What is asked or told about one binding costs what that holds, however much others do.
    """

    _held: dict[K, Holding] = field(default_factory=dict)
    _accounts: dict[str, Account[K]] = field(default_factory=dict)
    """By cluster, of those in which something is assumed."""
    _told: tuple[Assumed, ...] | None = ()
    """What is assumed, put together once for as long as it stays so."""

    def copy(self) -> "Ledger[K]":
        """Another in which everybody holds the same."""
        other = Ledger[K]()
        for key, holding in self._held.items():
            other.restore(key, holding)
        return other

    def assumed(self) -> tuple[Assumed, ...]:
        """What is assumed in each cluster."""
        if self._told is None:
            self._told = tuple(each.assumed(name) for name, each in self._accounts.items())
        return self._told

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
            ahead = held.amounts if held else {}
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
            account = self._accounts[name]
            account.reported_at = max(at, account.reported_at)

    def restore(self, key: K, holding: Holding) -> None:
        """Let a binding hold exactly this."""
        before = self._held.pop(key, {})
        for name, held in before.items():
            if name not in holding:
                self._change(key, name, held, None)
        for name, held in holding.items():
            self._change(key, name, before.get(name), held)
        if holding:
            self._held[key] = holding

    def release(self, key: K) -> None:
        """A binding that is no more holds nothing."""
        self.restore(key, {})

    def seen_healthy(self, key: K, healthy: frozenset[str], now: float) -> None:
        """Where the work has become healthy, the next report of its cluster counts it."""
        before = self.held(key)
        after = {name: _seen(held, now, healthy=name in healthy) for name, held in before.items()}
        if any(after[name] is not held for name, held in before.items()):
            self.restore(key, after)

    def reported(self, cluster: str, at: float) -> bool:
        """A cluster's report of that time counts what runs well, and what was sent well before.

        Whether some of that was assumed until now.
        """
        account = self._accounts.get(cluster)
        if account is None:
            return False
        account.reported_at = at
        return self._drop(cluster, at - SETTLE, at)

    def doubtful(self) -> frozenset[str]:
        """The clusters whose last report may count already what is still assumed there."""
        accounts = self._accounts.items()
        return frozenset(name for name, each in accounts if each.since() <= each.reported_at)

    def expire(self, now: float) -> bool:
        """Nothing is assumed for ever; whether something was until now."""
        dropped = [
            self._drop(name, now - ASSUMED_MOST, now - COUNTED) for name in [*self._accounts]
        ]
        return any(dropped)

    def _drop(self, cluster: str, until: float, healthy_until: float) -> bool:
        """Let go of what is held there, or runs well, since then or longer."""
        keys = self._accounts[cluster].until(until, healthy_until)
        for key in keys:
            self.restore(key, {n: held for n, held in self._held[key].items() if n != cluster})
        return bool(keys)

    def __bool__(self) -> bool:
        """Whether anything is assumed."""
        return bool(self._held)

    def _change(self, key: K, cluster: str, before: Held | None, after: Held | None) -> None:
        """A binding holds something else of one cluster."""
        if before is after:
            return
        account = self._accounts.get(cluster)
        if account is None:
            account = self._accounts[cluster] = Account()
        held, holds = before.amounts if before else {}, after.amounts if after else {}
        if held != holds:
            account.add(_difference(holds, held))
            self._told = None
        account.note(key, after.at if after else inf, after.healthy_at if after else inf)
        if account.is_empty:
            del self._accounts[cluster]


def _seen(held: Held, now: float, *, healthy: bool) -> Held:
    """What is held where the work is seen to run healthily now, or not to."""
    if not healthy:
        plain = not held.was_healthy and held.healthy_at == inf
        return held if plain else replace(held, was_healthy=False, healthy_at=inf)
    is_known = held.was_healthy or held.healthy_at != inf
    return held if is_known else replace(held, healthy_at=now)


def _amounts(binding: Binding, replicas: int) -> dict[Demand | None, int]:
    """How many pods of each demand run where so many replicas do.

    Whose they are takes no room: the same work in many namespaces is told together.
    """
    amounts = dict[Demand | None, int]()
    for demand, each in running(binding, replicas) if replicas else ():
        needs = demand and replace(demand, namespace="", priority_class="")
        amounts[needs] = amounts.get(needs, 0) + each
    return amounts


def _difference(one: _Amounts, other: _Amounts) -> dict[Demand | None, int]:
    keys = dict.fromkeys((*one, *other))
    return {key: one.get(key, 0) - other.get(key, 0) for key in keys}


def _sum(one: _Amounts, other: _Amounts) -> dict[Demand | None, int]:
    """The sum of both, without what is none or less."""
    keys = dict.fromkeys((*one, *other))
    total = {key: one.get(key, 0) + other.get(key, 0) for key in keys}
    return {key: each for key, each in total.items() if each > 0}
