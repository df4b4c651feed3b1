"""Keeps what PodDisruptionBudgets of a member tell: follows them and their pods.

What they tell is planned in `plans.budgets`; here is which pods a budget is about, and what their
controllers want of them.
"""

from collections.abc import Sequence
from functools import partial

from atoll.apiserver.kinds.labels import selector_of
from atoll.apiserver.verbs.call import Api
from atoll.model.named import Named
from atoll.runtime.worklist import Worklist
from atoll.simulated.hand import Hand, stored
from atoll.simulated.plans.budgets import COLLECTION, plan
from atoll.simulated.plans.census import Census, Pod
from atoll.store.record import Event
from atoll.wire import Wire

PODS = "pods"
_CONTROLLERS = {
    "Deployment": "deployments.apps",
    "ReplicaSet": "replicasets.apps",
    "ReplicationController": "replicationcontrollers",
    "StatefulSet": "statefulsets.apps",
}


class Budgets:
    """All budgets of one member. The census must have taken in an event before they do."""

    def __init__(self, api: Api, census: Census) -> None:
        self._api = api
        self._census = census
        self._hand = Hand(api)
        self._within: Named[str, str] = Named()  # by namespace
        self._work: Worklist[str] = Worklist("disruption budgets")

    def load(self) -> None:
        for record in self._api.store.page(COLLECTION).records:
            self._note(record.name, removed=False)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            record = event.after
            if record.collection == COLLECTION:
                self._note(record.name, removed=event.removed)
            elif record.collection == PODS:
                for key in self._within.naming(record.name.partition("/")[0]):
                    self._work.add(key)

    def _note(self, key: str, *, removed: bool) -> None:
        self._within.put(key, () if removed else (key.partition("/")[0],))
        if not removed:
            self._work.add(key)

    async def run(self) -> None:
        await self._work.run(self._tell)

    async def _tell(self, key: str) -> None:
        budget = self._stored(COLLECTION, key)
        if budget is None:
            return
        namespace = key.partition("/")[0]
        written = budget["spec"].get("selector")
        wanted = None if written is None else selector_of(written)
        pods = [
            pod
            for pod in self._census.within(namespace)
            if wanted is not None and wanted.matches(pod.labels)
        ]
        planned = plan(budget, pods, partial(self._scale, namespace), self._api.timestamp())
        await self._hand.carry_out(planned.steps)
        if planned.again_s is not None:
            self._work.add_later(key, planned.again_s)

    def _scale(self, namespace: str, pod: Pod) -> tuple[str, int] | None:
        """Who controls a pod in the end, and how many it wants."""
        found = self._stored(PODS, pod.key)
        scale = None
        while found is not None:
            owners = found["metadata"].get("ownerReferences") or ()
            owner = next((one for one in owners if one.get("controller")), None)
            collection = _CONTROLLERS.get(owner["kind"]) if owner is not None else None
            if owner is None or collection is None:
                return scale
            found = self._stored(collection, f"{namespace}/{owner['name']}")
            if found is not None:
                scale = (found["metadata"]["uid"], found["spec"].get("replicas", 1))
        return scale

    def _stored(self, collection: str, name: str) -> Wire | None:
        return stored(self._api.store, collection, name)
