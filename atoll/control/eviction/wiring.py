"""Bindings and clusters that they may not stay in: tasks are begun, watched, and ended.

Of those that must leave a cluster so many a second do, so that many at once neither flood the
scheduler nor find their new clusters all in the same moment.
"""

from collections.abc import Collection, Mapping

from atoll.control.eviction.decide import plan as evicting
from atoll.control.eviction.decide.replacing import replacement
from atoll.control.eviction.decide.tasks import Replacement
from atoll.control.hub import Hub
from atoll.control.loop import Controller, Loop
from atoll.control.refusals import tell_owner
from atoll.control.works.wiring import observe_binding
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.references import template_of
from atoll.model.action import Ref
from atoll.model.member import Member
from atoll.model.resource_binding import ResourceBinding
from atoll.model.taint import Effect
from atoll.model.work import Work
from atoll.scheduling.question import NOWHERE
from atoll.wire import Object

_HALTED_S = 1800.0


class Spacing:
    """Gives each of those who must leave a cluster a moment of its own.

    `rate`: how many leave it in a second. None is as good as a halt, as in Karmada: the next one
    waits for half an hour.
    """

    def __init__(self, rate: float) -> None:
        self._apart_s = 1 / rate if rate > 0 else _HALTED_S
        self._next: dict[str, float] = {}
        self._given: dict[Ref, dict[str, float]] = {}

    def turns(self, key: Ref, due: Collection[str], now: float) -> Mapping[str, float]:
        """When a binding may leave these clusters; once told, that stays so until it is over."""
        before = self._given.pop(key, {})
        given = {cluster: before.get(cluster) or self._take(cluster, now) for cluster in due}
        if given:
            self._given[key] = given
        return given

    def forget(self, cluster: str) -> None:
        """A cluster is gone."""
        self._next.pop(cluster, None)

    def _take(self, cluster: str, now: float) -> float:
        at = max(now, self._next.get(cluster, now))
        self._next[cluster] = at + self._apart_s
        return at


class Eviction:
    """Has work leave clusters whose taints order it, once something else has taken its place."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._spacing = Spacing(hub.times.resource_eviction_rate)
        controller = Controller(
            "eviction",
            self._observe,
            lambda seen: evicting.plan(seen, hub.now),
            tell_owner(hub, evicting.FAILED, template_of),
            took=hub.numbers.eviction_took,
        )
        self.loop: Loop[Ref] = Loop(controller, hub.performer, hub.turns)
        hub.hear_bindings("eviction", self._binding_changed)
        hub.hear_values("eviction", kinds.CLUSTER, self._cluster_changed)
        hub.hear_values("eviction", kinds.WORK, self._work_changed)

    def _observe(self, ref: Ref) -> evicting.SeenEviction | None:
        hub, now = self._hub, self._hub.now
        binding = hub.binding(ref)
        orders = evicting.orders(binding, hub.fleet) if binding is not None else {}
        due = [cluster for cluster, order in orders.items() if order.at <= now]
        turns = self._spacing.turns(ref, due, now)
        if binding is None or binding.problem is not None:
            return None
        works = observe_binding(hub, ref) if binding.spec.evictions else None
        return evicting.SeenEviction(
            binding=binding,
            fleet=hub.fleet,
            replacement=Replacement.NONE if works is None else replacement(works),
            turns=turns,
            timeout_s=hub.times.graceful_eviction_timeout,
            setting=hub.setting,
            surroundings=hub.around.of(binding) if evicting.is_nowhere(binding) else NOWHERE,
        )

    def _binding_changed(
        self, _before: ResourceBinding | None, after: ResourceBinding | None
    ) -> None:
        if after is not None and self._is_concerned(after):
            self.loop.wake(after.ref)

    def _is_concerned(self, binding: ResourceBinding) -> bool:
        """Whether a binding has tasks, or is in a cluster that it may have to leave."""
        clusters = (self._hub.cluster(each.name) for each in binding.spec.clusters)
        taints = (taint for one in clusters if one is not None for taint in one.taints)
        return bool(binding.spec.evictions) or any(
            each.effect is Effect.NO_EXECUTE for each in taints
        )

    def _cluster_changed(self, before: Member | None, after: Member | None) -> None:
        if after is None:
            if before is not None:
                self._spacing.forget(before.name)
            return
        is_ordered = before is None or _evicting_taints(before) != _evicting_taints(after)
        is_other = is_ordered or before is None or before.ready != after.ready
        for binding in self._hub.bindings(_clusters, after.name) if is_other else ():
            # Whether a cluster is ready matters to what leaves it, and to what takes its place.
            if is_ordered or binding.spec.evictions:
                self.loop.wake(binding.ref)

    def _work_changed(self, before: Work | None, after: Work | None) -> None:
        work = after or before
        for ref in work.bindings if work is not None else ():
            binding = self._hub.binding(ref)
            if binding is not None and binding.spec.evictions:
                self.loop.wake(ref)


def _clusters(binding: ResourceBinding) -> list[str]:
    """The clusters that a binding is in, and those it is leaving."""
    spec = binding.spec
    return [*(each.name for each in spec.clusters), *(each.cluster for each in spec.evictions)]


def _evicting_taints(member: Member) -> list[Object]:
    return [each for each in member.spec.taints if each.get("effect") == Effect.NO_EXECUTE]
