"""All controllers of a plane, in one list."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from atoll.client.transport import Transport
from atoll.config import NO_ESTIMATORS, USUAL_TIMES, EstimatorChoice, Times
from atoll.controllers.access import access
from atoll.controllers.cluster_status import ClusterStatus
from atoll.controllers.dependencies import dependencies
from atoll.controllers.detection import detection
from atoll.controllers.eviction import Eviction
from atoll.controllers.execution import Execution
from atoll.controllers.hub import Hub
from atoll.controllers.idle import IdlePolicies
from atoll.controllers.interpretation import Interpretation
from atoll.controllers.loop import Loop
from atoll.controllers.membership import Membership
from atoll.controllers.namespaces import namespaces
from atoll.controllers.placement import Placement
from atoll.controllers.preemption import preemption
from atoll.controllers.propagation import propagation
from atoll.controllers.rebalancer import rebalancing
from atoll.controllers.tainting import tainting
from atoll.effects import Effects
from atoll.members.connection import USUAL_LIMITS, Limits
from atoll.members.ways import Reach, over_network
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.tracing.tracer import Tracer

if TYPE_CHECKING:
    from atoll.controllers.estimation import Estimation

WORKERS = 4


@asynccontextmanager
async def controlling(
    plane: Transport,
    effects: Effects,
    *,
    features: Features = PLANE_USUAL,
    reach: Reach = over_network,
    times: Times = USUAL_TIMES,
    limits: Limits = USUAL_LIMITS,
    estimators: EstimatorChoice = NO_ESTIMATORS,
    tracer: Tracer | None = None,
) -> AsyncIterator[Hub]:
    """Run all controllers of a plane for the length of the block.

    `reach` gives the ways to members, `limits` say how much they are asked; `times`, how soon what
    is seen of them is believed; `estimators`, whether others are asked how much fits; `tracer`, if
    there is one, is told how changes get to members.
    """
    async with Children("hub") as children:
        hub = Hub(
            plane,
            effects,
            children,
            features=features,
            reach=reach,
            times=times,
            limits=limits,
            tracer=tracer,
        )
        services = await start(hub, estimators)
        async with Supervisor("controllers", effects.chance) as supervisor:
            for name, service in services.items():
                supervisor.start(name, service)
            yield hub
            # Whoever has joined goes before those who serve it.
            await children.cancel()


async def start(
    hub: Hub, estimators: EstimatorChoice = NO_ESTIMATORS
) -> dict[str, Callable[[], Awaitable[None]]]:
    """Wire the controllers, know the plane, and say what is to be run."""
    estimation = _estimation(hub, estimators)
    placement, execution = Placement(hub, estimation), Execution(hub)
    status = ClusterStatus(
        *(hub.plane, hub.performer, hub.effects, hub.times),
        observations=hub.observations,
        models=hub.features.CustomizedClusterResourceModeling,
        took=lambda name, seconds: hub.numbers.statuses.note(seconds, name),
    )
    hub.accompany("status", status.watch)
    loops: list[Loop[Any]] = [
        *detection(hub, placement.at_once),
        *propagation(hub),
        preemption(hub),
        rebalancing(hub),
        IdlePolicies(hub).loop,
        namespaces(hub),
        tainting(hub),
        Eviction(hub).loop,
        Membership(hub).loop,
        access(hub),
    ]
    if hub.features.PropagateDeps:
        loops.append(dependencies(hub))
    interpretation = Interpretation(hub)
    await hub.start()
    await interpretation.start()
    services: dict[str, Callable[[], Awaitable[None]]] = {
        f"{placement.name}'s reports": placement.announcing.run,
        f"{placement.name}'s reviews": placement.review,
        f"{placement.name}'s second looks": placement.look_again,
        "events": hub.performer.run,
        placement.explanations.name: placement.explanations.run,
        placement.prices.loop.name: placement.prices.loop.run,
        "execution": execution.run,
        "interpreters": interpretation.run,
    }
    if estimation is not None:
        services["estimators"] = estimation.run
    for worker in range(WORKERS):
        services[f"{placement.name} {worker}"] = placement.run
    for loop in loops:
        for worker in range(WORKERS):
            services[f"{loop.name} {worker}"] = loop.run
    return services


def _estimation(hub: Hub, choice: EstimatorChoice) -> "Estimation | None":
    """Whoever asks estimators; what that takes is loaded only where it is wanted."""
    if not choice.enabled:
        return None
    from atoll.controllers.estimation import Estimation

    return Estimation(hub, choice)
