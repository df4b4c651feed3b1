"""The estimators of clusters, asked for the scheduler: where they are, and what they said lately.

What is to be asked comes in; answers go out, of all clusters at once. Where an estimator is, a
Service of the plane says, by Karmada's rule. One that is not there, or does not answer in time, has
no say.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from atoll.client.api import Refused
from atoll.client.collection import Collection
from atoll.client.transport import Unreachable
from atoll.config import EstimatorChoice
from atoll.control.hub import CLUSTER, Hub
from atoll.control.numbers import ERROR, SUCCESS
from atoll.control.scheduler.decide.inquiring import Answer, Inquiry, taken_in
from atoll.dialects.karmada.cluster_access import is_pulled
from atoll.dialects.karmada.demand import encode, encode_components
from atoll.estimator.asking import UNKNOWN, Address, Estimators
from atoll.estimator.grpc import Trust
from atoll.estimator.messages import REPLICAS, SETS
from atoll.model.action import Ref
from atoll.model.assumed import Assumed, merged
from atoll.scheduling.nodes.view import Asked
from atoll.wire import Wire

log = logging.getLogger("atoll.scheduler")

_LOOK_EVERY_S = 5.0
_Key = tuple[str, Asked]


class Estimation:
    """Asks estimators."""

    def __init__(self, hub: Hub, choice: EstimatorChoice) -> None:
        self._hub = hub
        self._choice = choice
        trust = Trust(choice.ca, choice.certificate, choice.key, choice.skip_verification)
        self._places: dict[str, Address] = {}
        self._looked = -_LOOK_EVERY_S
        self._looking = asyncio.Lock()
        self._estimators = Estimators(self._places.get, trust, choice.timeout)
        self._asking: dict[_Key, asyncio.Task[Answer]] = {}

    async def find_out(self, inquiry: Inquiry, assumed: Sequence[Assumed]) -> dict[str, Answer]:
        """What the estimators of these clusters say, of those that have one."""
        await self._look()
        asked: dict[str, asyncio.Task[Answer]] = {}
        for cluster in inquiry.clusters:
            if cluster in self._places and not self._is_left_out(cluster):
                key = cluster, inquiry.asked
                if key not in self._asking:
                    learning = self._learn(key, inquiry, taken_in(cluster, assumed))
                    self._asking[key] = self._hub.children.spawn(learning, f"ask {cluster}")
                # Who asks the same of the same at once is answered with it.
                asked[cluster] = self._asking[key]
        return {name: await each for name, each in asked.items()}

    async def _learn(self, key: _Key, inquiry: Inquiry, taken: Assumed) -> Answer:
        cluster, _ = key
        try:
            count = await self._ask(inquiry, cluster, taken)
        finally:
            del self._asking[key]
        self._hub.numbers.estimates.add(ERROR if count == UNKNOWN else SUCCESS, cluster)
        return Answer(count, taken.sums, self._hub.now)

    async def _ask(self, inquiry: Inquiry, cluster: str, taken: Assumed) -> int:
        asked = inquiry.asked
        request: dict[str, Any] = {}
        if taken.components:
            components = encode_components(merged(taken.components))
            request["assumedWorkloads"] = [{"components": components}]
        if isinstance(asked, tuple):
            request |= {"components": encode_components(asked), "namespace": inquiry.namespace}
            return await self._estimators.ask(SETS, cluster, request)
        if asked is not None:
            request["replicaRequirements"] = encode(asked)
        return await self._estimators.ask(REPLICAS, cluster, request)

    def _is_left_out(self, cluster: str) -> bool:
        if not self._choice.disabled_in_pull_mode:
            return False
        wire = self._hub.plane.find(Ref(CLUSTER, "Cluster", "", cluster))
        return wire is not None and is_pulled(wire)

    async def _look(self) -> None:
        """See where the estimators are, if that was not seen a moment ago."""
        async with self._looking:
            if abs(self._hub.now - self._looked) < _LOOK_EVERY_S:
                return
            services = Collection(
                "v1", "Service", "services", namespaced=True, within=self._choice.namespace
            )
            try:
                found, _ = await self._hub.plane.api.list(services)
            except (Refused, Unreachable) as problem:
                log.info("Where estimators are is looked up later: %(err)s", {"err": problem})
                return
            self._looked = self._hub.now
            places = {each["metadata"]["name"]: place(each, self._choice.port) for each in found}
            prefix = f"{self._choice.service_prefix}-"
            self._places.clear()
            for name, where in places.items():
                if name.startswith(prefix) and where is not None:
                    self._places[name.removeprefix(prefix)] = where

    async def run(self) -> None:
        """Hold the connections, for ever; at the end let go of them."""
        try:
            await asyncio.Event().wait()
        finally:
            self._estimators.close()


def place(service: Wire, port: int) -> Address | None:
    """Where the estimator is that a Service names; None if it is not of the kind that does."""
    spec = service.get("spec") or {}
    if spec.get("type") != "ExternalName" or not spec.get("externalName"):
        return None
    for each in spec.get("ports") or ():
        target = each.get("targetPort", port)
        if each.get("port") == port and isinstance(target, int):
            return str(spec["externalName"]), target or port
    return None
