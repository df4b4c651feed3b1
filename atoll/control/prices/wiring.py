"""Prices: what ClusterPrices and annotations come to, and who is told that it counts, or why not.

Whoever decides asks before each decision, so that a price counts from its first moment to its last.
"""

from collections.abc import Callable

from atoll.control.hub import Hub, spec_changed
from atoll.control.levels import Level
from atoll.control.loop import Controller, Loop
from atoll.control.prices import decide as pricing
from atoll.dialects.karmada.objects import kinds
from atoll.model.price import ClusterPrice, Price


class Prices:
    """What clusters cost at this moment; `changed` is called when that should be asked anew."""

    def __init__(self, hub: Hub, changed: Callable[[], None]) -> None:
        self._hub = hub
        self._changed = changed
        self._own: dict[str, Price] = {}
        self._now = pricing.Pricing()
        self._stale = False
        self.loop: Loop[str] = Loop(
            Controller("prices", self._observe, lambda seen: pricing.plan(seen, hub.now)),
            hub.performer,
            hub.turns,
        )
        hub.hear_values("prices", kinds.CLUSTER_PRICE, self._price_changed)

    @property
    def until(self) -> float | None:
        """When a price begins or ends next."""
        return self._now.until

    def of(self, cluster: str) -> Price | None:
        """What a cluster costs; None if that is not known."""
        return self._now.by_cluster.get(cluster)

    def learn(self, cluster: str, annotated: Price | None) -> None:
        """Take in what a cluster's annotation says; None: nothing, or the cluster is gone."""
        if self._own.get(cluster) == annotated:
            return
        if annotated is None:
            del self._own[cluster]
        else:
            self._own[cluster] = annotated
        self._ask_anew()

    def settle(self) -> list[str]:
        """Find out what counts now; the clusters whose price is another than before."""
        due = self._now.until
        if not self._stale and (due is None or self._hub.now < due):
            return []
        self._stale = False
        known = self._hub.plane.informer(kinds.CLUSTER_PRICE)
        said = {each.meta.name: each.said for each in known}
        before, self._now = self._now, pricing.pricing(said, self._own, self._hub.now)
        for name, finding in self._now.findings.items():
            if before.findings.get(name) != finding:
                self.loop.wake(name, Level.TELL)
        names = {*before.by_cluster, *self._now.by_cluster}
        return sorted(each for each in names if before.by_cluster.get(each) != self.of(each))

    def _ask_anew(self) -> None:
        self._stale = True
        self._changed()

    def _price_changed(self, before: ClusterPrice | None, after: ClusterPrice | None) -> None:
        if not spec_changed(before, after):
            return
        if after is not None:
            self.loop.wake(after.meta.name, Level.TELL)
        self._ask_anew()

    def _observe(self, name: str) -> pricing.SeenPrice | None:
        price = self._hub.plane.value(kinds.CLUSTER_PRICE, "", name)
        finding = self._now.findings.get(name)
        return None if price is None or finding is None else pricing.SeenPrice(price, finding)
