"""What one cluster answers to those who ask how much fits: from its nodes and pods, as columns.

Requests of Karmada's protocol come in, numbers go out. Before all nodes and pods were counted
nothing is answered. Work that does not show on the nodes yet is told with a request, and put on
them first. Which replicas are stuck is asked of the cluster itself: that is asked rarely.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from atoll.client.api import ApiClient, Missing
from atoll.client.transport import Transport
from atoll.dialects.karmada import demand as demands
from atoll.dialects.wire import part, parts, text
from atoll.effects import Effects
from atoll.errors import AtollError, Invalid
from atoll.estimator.grpc import PORT, Trust
from atoll.estimator.messages import REPLICAS, SETS
from atoll.estimator.serving import NotHere, serving
from atoll.estimator.stuck import WORKLOADS, stuck
from atoll.members.connection import Connection
from atoll.members.following import Observation
from atoll.model.demand import Component
from atoll.runtime.supervisor import Restart, Supervisor
from atoll.scheduling.nodes.fitting import fits
from atoll.scheduling.nodes.sets import fits_sets
from atoll.scheduling.nodes.table import NodeTable
from atoll.scheduling.nodes.view import filled
from atoll.wire import Wire

_NANO = 1_000_000_000


class NotCounted(AtollError):
    """Not all nodes and pods of the cluster have been counted yet."""


class Estimating:
    """Answers for one cluster."""

    def __init__(
        self, cluster: str, api: ApiClient, observation: Observation, now: Callable[[], float]
    ) -> None:
        self._cluster = cluster
        self._api = api
        self._observation = observation
        self._now = now

    async def answer(self, method: str, request: Wire) -> int:
        """How much fits, or is stuck, in this cluster."""
        asked = request.get("cluster", "")
        if asked != self._cluster:
            raise NotHere(f'this is the estimator of "{self._cluster}", not of "{asked}"')
        if method not in (REPLICAS, SETS):
            return await self._stuck(request)
        if not self._observation.complete:
            raise NotCounted(f"the nodes and pods of {self._cluster} are still being counted")
        return estimate(self._observation.columns.table(), method, request)

    async def _stuck(self, request: Wire) -> int:
        of = part(request, "resource", "") or {}
        kind = text(of, "apiVersion", "resource"), text(of, "kind", "resource")
        if kind not in WORKLOADS:
            raise Invalid("resource.kind", kind[1], "is no workload whose pods are looked for")
        threshold_s = request.get("unschedulableThreshold", 0) / _NANO
        before = self._now() - max(0.0, threshold_s)
        place = text(of, "namespace", "resource"), text(of, "name", "resource")
        try:
            return await stuck(self._api, WORKLOADS[kind], place, before)
        except Missing as problem:
            raise NotHere(f"{kind[1]} {'/'.join(place)} is not in {self._cluster}") from problem


def estimate(table: NodeTable, method: str, request: Mapping[str, Any]) -> int:
    """How many replicas, or sets of components, fit on these nodes, by Karmada's request."""
    for here, assumed in parts(request, "assumedWorkloads", ""):
        for component in _components(assumed, here):
            table = filled(table, component)
    if method == SETS:
        return fits_sets(table, _components(request, "")) if len(table) else 0
    needs = part(request, "replicaRequirements", "")
    return fits(table, None if needs is None else demands.decode(needs, "replicaRequirements"))


def _components(wire: Mapping[str, Any], path: str) -> tuple[Component, ...]:
    return demands.components(wire, path, text(wire, "namespace", path))


@asynccontextmanager
async def estimating(
    cluster: str,
    member: Transport,
    effects: Effects,
    address: tuple[str, int] = ("", PORT),
    trust: Trust | None = None,
) -> AsyncIterator[int]:
    """Follow a cluster and answer for it; gives the port."""
    api = ApiClient(Connection(cluster, member, effects))
    observation = Observation(api, f"cluster {cluster}")
    answers = Estimating(cluster, api, observation, lambda: effects.now().timestamp())
    async with (
        Supervisor("estimator", effects.chance) as supervisor,
        serving(answers, *address, trust) as port,
    ):
        for each in observation.followings:
            supervisor.start(each.name, each.run, restart=Restart())
        yield port
