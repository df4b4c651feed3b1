"""The agent of one cluster: it does from inside what the plane does from outside for others.

Works of the cluster come from the plane, what they say is done here, and how it is goes back; so do
the cluster's status, its nodes, which the plane cannot look at itself, and the Lease that shows
that it lives. Of the plane it sees the Works and the Cluster that are its own, and how users
explain their kinds.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from atoll.client.api import ApiClient, Refused
from atoll.client.collection import Collection
from atoll.client.transport import Transport, Unreachable
from atoll.config import USUAL_TIMES, Times
from atoll.control.cluster_status.wiring import ClusterStatus
from atoll.control.delivery.wiring import Delivery
from atoll.control.directory import Scope
from atoll.control.hub import CLUSTER, WORK, Follows, Hub
from atoll.control.interpretation.wiring import Interpretation
from atoll.dialects import cluster_nodes
from atoll.dialects.karmada import names
from atoll.dialects.prices import API_VERSION
from atoll.dialects.wire import written_time
from atoll.effects import Effects
from atoll.model.action import Ref
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.scheduling.nodes.table import NodeTable
from atoll.tracing.tracer import Tracer
from atoll.wire import Wire

log = logging.getLogger("atoll.agent")

LEASES = Collection("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
RENEWED_WITHIN = 0.25  # of its duration
_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Renews the Lease of one cluster."""

    cluster: str
    plane: ApiClient
    effects: Effects
    times: Times

    async def run(self) -> None:
        """Renew it, for ever."""
        pause_s = self.times.cluster_lease_duration * RENEWED_WITHIN
        while True:
            try:
                await self.renew()
            except (Refused, Unreachable) as problem:
                said = {"cluster": self.cluster, "err": problem}
                log.warning("The Lease of %(cluster)s is renewed later: %(err)s", said)
                await asyncio.sleep(min(_AGAIN_S, pause_s))
            else:
                await asyncio.sleep(pause_s)

    async def renew(self) -> None:
        """Say once that the cluster lives."""
        known = await self.plane.find(LEASES.path(names.CLUSTER_NAMESPACE, self.cluster))
        metadata = {"name": self.cluster, "namespace": names.CLUSTER_NAMESPACE}
        write = self.plane.create if known is None else self.plane.replace
        await write(LEASES, self._renewed(known or {"metadata": metadata}))

    def _renewed(self, lease: Wire) -> Wire:
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": self.cluster,
            "leaseDurationSeconds": max(1, round(self.times.cluster_lease_duration)),
            "renewTime": self.effects.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, **lease, "spec": spec}


PUBLISHED = Collection(API_VERSION, cluster_nodes.KIND, "clusternodes", namespaced=False)
_SOON_S = 1.0
CHARACTERS_MOST = 900_000
"""More than that is not published: an object must fit into a store's megabyte."""
RENEW_S = 300.0
"""So often it is published though nothing changed, for the plane to know that it still holds."""


class Publishing:
    """Publishes the nodes of one cluster."""

    def __init__(self, cluster: str, hub: Hub) -> None:
        self._cluster = cluster
        self._hub = hub
        self._last: tuple[NodeTable, cluster_nodes.Columns] | None = None
        self._at = 0.0
        self._trouble = ""

    async def run(self) -> None:
        """Publish them, for ever."""
        while True:
            trouble = ""
            try:
                trouble = await self.publish()
            except (Refused, Unreachable) as problem:
                trouble = f"they are published later: {problem}"
            if trouble and trouble != self._trouble:
                said = {"cluster": self._cluster, "err": trouble}
                log.warning("The nodes of %(cluster)s: %(err)s", said)
            self._trouble = trouble
            every_s = self._hub.times.cluster_status_update_frequency
            await asyncio.sleep(every_s if self._last or trouble else min(_SOON_S, every_s))

    async def publish(self) -> str:
        """Publish the nodes if there is news; what is in the way, or nothing."""
        seen = self._hub.observations.get(self._cluster)
        owner = self._hub.plane.find(Ref(CLUSTER, "Cluster", "", self._cluster))
        if seen is None or not seen.complete or owner is None:
            return ""
        table, now = seen.columns.table(), self._hub.now
        is_due = now - self._at >= RENEW_S
        known, said = self._last or (None, None)
        if table is known and not is_due:
            return ""
        columns = cluster_nodes.encode(table, self._last)
        if columns == said and not is_due:
            return ""
        if sum(map(len, columns)) > CHARACTERS_MOST:
            return f"{len(table)} are too many to be published; the plane goes by the summary"
        await self._write(cluster_nodes.wire(owner, columns, len(table), written_time(now)))
        self._last, self._at = (table, columns), now
        return ""

    async def _write(self, wire: Wire) -> None:
        api = self._hub.plane.api
        known = await api.find(PUBLISHED.path("", self._cluster))
        if known is None:
            await api.create(PUBLISHED, wire)
            return
        metadata = {**wire["metadata"], "resourceVersion": known["metadata"]["resourceVersion"]}
        await api.replace(PUBLISHED, {**wire, "metadata": metadata})


KINDS = ((CLUSTER, "Cluster"), (WORK, "Work"))


@asynccontextmanager
async def attending(
    cluster: str,
    plane: Transport,
    member: Transport,
    effects: Effects,
    *,
    features: Features = PLANE_USUAL,
    times: Times = USUAL_TIMES,
    tracer: Tracer | None = None,
) -> AsyncIterator[Hub]:
    """Look after a cluster for the length of the block; its Cluster must be in the plane."""
    follows = Follows(KINDS, templates=(), scope=own_part(cluster))
    async with Children("agent") as children:
        hub = Hub(*(plane, effects, children), times=times, follows=follows, tracer=tracer)
        services = await _start(hub, cluster, features)
        async with Supervisor("agent", effects.chance) as supervisor:
            for name, service in services.items():
                supervisor.start(name, service)
            hub.connect(cluster, member)
            yield hub
            await children.cancel()


def own_part(cluster: str) -> Scope:
    """What an agent sees of the plane's collections."""

    def scope(collection: Collection) -> Collection:
        match collection.api_version, collection.kind:
            case (api, "Work") if api == WORK:
                return replace(collection, within=names.execution_namespace(cluster))
            case (api, "Cluster") if api == CLUSTER:
                return replace(collection, named=cluster)
        return collection

    return scope


async def _start(
    hub: Hub, cluster: str, features: Features
) -> dict[str, Callable[[], Awaitable[None]]]:
    delivery = Delivery(hub, agent_of=cluster).driver
    interpretation = Interpretation(hub)
    status = ClusterStatus(
        *(hub.plane, hub.performer, hub.effects, hub.times),
        observations=hub.observations,
        models=features.CustomizedClusterResourceModeling,
        took=lambda name, seconds: hub.numbers.statuses.note(seconds, name),
    )
    hub.accompany("status", status.watch)
    await hub.start()
    await interpretation.start()
    return {
        "events": hub.performer.run,
        "delivery": delivery.run,
        "interpreters": interpretation.run,
        "nodes": Publishing(cluster, hub).run,
        "heartbeat": Heartbeat(cluster, hub.plane.api, hub.effects, hub.times).run,
    }
