"""The agent of one cluster: it does from inside what the plane does from outside for others.

Works of the cluster come from the plane, what they say is done here, and how it is goes back; so do
the cluster's status, its nodes and its Lease. Of the plane it sees the Works and the Cluster that
are its own, and how users explain their kinds.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from atoll.agent.heartbeat import Heartbeat
from atoll.agent.publishing import Publishing
from atoll.client.collection import Collection
from atoll.client.transport import Transport
from atoll.config import USUAL_TIMES, Times
from atoll.control.cluster_status.wiring import ClusterStatus
from atoll.control.delivery.wiring import Delivery
from atoll.control.directory import Scope
from atoll.control.hub import CLUSTER, WORK, Follows, Hub
from atoll.control.interpretation.wiring import Interpretation
from atoll.dialects.karmada import names
from atoll.effects import Effects
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.scheduling.setting import Setting
from atoll.tracing.tracer import Tracer

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
        hub = Hub(
            *(plane, effects, children),
            setting=Setting(features),
            times=times,
            follows=follows,
            tracer=tracer,
        )
        services = await _start(hub, cluster)
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


async def _start(hub: Hub, cluster: str) -> dict[str, Callable[[], Awaitable[None]]]:
    delivery = Delivery(hub, agent_of=cluster)
    interpretation = Interpretation(hub)
    status = ClusterStatus(
        *(hub.plane, hub.performer, hub.effects, hub.times),
        observations=hub.observations,
        models=hub.features.CustomizedClusterResourceModeling,
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
