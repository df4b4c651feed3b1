"""Bindings and clusters: where each binding goes, and again when the fleet changes.

One worker decides, so that room that was just given away is known to the next decision.
"""

from atoll.client.api import Wire
from atoll.client.transport import Unreachable
from atoll.controllers.hub import BINDING, Hub, meant_otherwise
from atoll.controllers.performing import LookAgain
from atoll.dialects.karmada import cluster as clusters
from atoll.errors import Invalid
from atoll.model.action import Object, Ref
from atoll.planning.placing import affected
from atoll.planning.placing import plan as placing
from atoll.planning.placing.assuming import Ledger
from atoll.runtime.worklist import Worklist
from atoll.scheduling.question import Surroundings

_AGAIN_S = 0.02
_RETRY_S = 5.0
KINDS = ("ResourceBinding", "ClusterResourceBinding")


class Placement:
    """Decides where bindings go."""

    name = "scheduler"

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._ledger: Ledger[Ref] = Ledger()
        self._keys: Worklist[Ref] = Worklist(self.name)
        hub.hear("Cluster", self._cluster_changed)
        for kind in KINDS:
            hub.hear(kind, self._binding_changed)

    async def run(self) -> None:
        await self._keys.run(self._place)

    async def _place(self, key: Ref) -> None:
        hub, now = self._hub, self._hub.now
        surroundings = Surroundings(assumed=self._ledger.assumed())
        seen = placing.SeenBinding(
            binding=hub.plane.find(key), fleet=hub.fleet, surroundings=surroundings
        )
        placed = placing.plan(seen, now)
        held = self._ledger.held(key)
        if placed.decision is not None:
            self._ledger.assume(key, placed.decision, _healthy(seen.binding), now)
        try:
            for action in placed.plan.actions:
                await hub.performer.perform(action)
        except (LookAgain, Unreachable):
            self._ledger.restore(key, held)
            self._keys.add_later(key, _AGAIN_S)
            return
        if placed.retry:
            self._keys.add_later(key, _RETRY_S)

    def _binding_changed(self, before: Wire | None, after: Wire | None) -> None:
        if after is None:
            if before is not None:
                self._ledger.restore(Ref.of(before), {})
        elif meant_otherwise(before, after):
            self._keys.add(Ref.of(after))

    def _cluster_changed(self, before: Wire | None, after: Wire | None) -> None:
        hub = self._hub
        name = (after or before or {})["metadata"]["name"]
        was = hub.cluster(name)
        try:
            is_now = clusters.decode(after) if after is not None else None
        except Invalid:
            is_now = was  # what cannot be read changes nothing; admission refuses it
        if is_now is None:
            hub.fleet = hub.fleet.without(name)
        elif is_now is not was:
            hub.fleet = hub.fleet.with_cluster(is_now)
        change = affected.change(was, is_now)
        for kind in KINDS:
            for binding in hub.plane.all(BINDING, kind):
                if change is affected.Change.FACTS or (
                    change is affected.Change.ROOM and not (binding["spec"].get("clusters") or ())
                ):
                    self._keys.add(Ref.of(binding))


def _healthy(binding: Object | None) -> frozenset[str]:
    status = (binding or {}).get("status") or {}
    return frozenset(
        item["clusterName"]
        for item in status.get("aggregatedStatus") or ()
        if item.get("health") == "Healthy"
    )
