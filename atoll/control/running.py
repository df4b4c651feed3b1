"""All controllers of a plane, in one list."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from atoll.client.transport import Transport
from atoll.config import NO_ESTIMATORS, USUAL_TIMES, EstimatorChoice, Times
from atoll.control.access.wiring import access
from atoll.control.cluster_status.wiring import ClusterStatus
from atoll.control.clusters.wiring import Membership
from atoll.control.delivery.wiring import Delivery
from atoll.control.dependencies.wiring import dependencies
from atoll.control.detector.wiring import detection
from atoll.control.eviction.wiring import Eviction
from atoll.control.hub import Hub
from atoll.control.idle_policies.wiring import IdlePolicies
from atoll.control.interpretation.wiring import Interpretation
from atoll.control.loop import Loop
from atoll.control.namespaces.wiring import namespaces
from atoll.control.preemption.wiring import preemption
from atoll.control.rebalancer.wiring import rebalancing
from atoll.control.scheduler.wiring import Scheduling
from atoll.control.status.wiring import status
from atoll.control.taints.wiring import tainting
from atoll.control.works.wiring import works
from atoll.dialects.karmada.policy_source import KARMADA
from atoll.dialects.policy_source import PolicySource
from atoll.effects import Effects
from atoll.members.connection import USUAL_LIMITS, Limits
from atoll.members.ways import Reach, over_network
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.scheduling.setting import USUAL_SETTING, Setting
from atoll.tracing.tracer import Tracer

if TYPE_CHECKING:
    from atoll.control.recording import Recording
    from atoll.control.scheduler.estimation import Estimation

WORKERS = 4
USUAL_SOURCES = (KARMADA,)


@asynccontextmanager
async def controlling(
    plane: Transport,
    effects: Effects,
    *,
    setting: Setting = USUAL_SETTING,
    reach: Reach = over_network,
    times: Times = USUAL_TIMES,
    limits: Limits = USUAL_LIMITS,
    estimators: EstimatorChoice = NO_ESTIMATORS,
    sources: Iterable[PolicySource] = USUAL_SOURCES,
    tracer: Tracer | None = None,
    recording: "Recording | None" = None,
) -> AsyncIterator[Hub]:
    """Run all controllers of a plane for the length of the block.

    `setting` is how the scheduler is set up, whoever asks it; `reach` gives the ways to members,
    `limits` say how much they are asked; `times`, how soon what is seen of them is believed;
    `estimators`, whether others are asked how much fits; `sources` are the dialects in which
    policies are written; `tracer`, if there is one, is told how
    changes get to members; `recording`, what is decided.
    """
    async with Children("hub") as children:
        hub = Hub(
            plane,
            effects,
            children,
            setting=setting,
            reach=reach,
            times=times,
            limits=limits,
            sources=sources,
            tracer=tracer,
        )
        services = await start(hub, estimators, recording)
        async with Supervisor("controllers", effects.chance) as supervisor:
            for name, service in services.items():
                supervisor.start(name, service)
            yield hub
            # Whoever has joined goes before those who serve it.
            await children.cancel()


async def start(
    hub: Hub,
    estimators: EstimatorChoice = NO_ESTIMATORS,
    recording: "Recording | None" = None,
) -> dict[str, Callable[[], Awaitable[None]]]:
    """Wire the controllers, know the plane, and say what is to be run."""
    estimation = _estimation(hub, estimators)
    scheduling, delivery = Scheduling(hub, estimation), Delivery(hub).driver
    driver = scheduling.driver
    if recording is not None:
        made_with = {"setting": hub.setting, "asks_estimators": estimation is not None}
        driver.handle = recording.tap("scheduler", driver.handle, **made_with)
        delivery.handle = recording.tap("delivery", delivery.handle)
    cluster_status = ClusterStatus(
        *(hub.plane, hub.performer, hub.effects, hub.times),
        observations=hub.observations,
        models=hub.features.CustomizedClusterResourceModeling,
        took=lambda name, seconds: hub.numbers.statuses.note(seconds, name),
    )
    hub.accompany("cluster_status", cluster_status.watch)
    loops: list[Loop[Any]] = [
        *detection(hub, scheduling.schedule_on_write),
        works(hub),
        status(hub),
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
        "events": hub.performer.run,
        driver.explanations.name: driver.explanations.run,
        scheduling.prices.loop.name: scheduling.prices.loop.run,
        "delivery": delivery.run,
        "interpreters": interpretation.run,
    }
    if estimation is not None:
        services["estimators"] = estimation.run
    for worker in range(WORKERS):
        services[f"{driver.name} {worker}"] = scheduling.run
        services[f"{driver.name} later {worker}"] = driver.run_later
    for loop in loops:
        for worker in range(WORKERS):
            services[f"{loop.name} {worker}"] = loop.run
    return services


def _estimation(hub: Hub, choice: EstimatorChoice) -> "Estimation | None":
    """Whoever asks estimators; what that takes is loaded only where it is wanted."""
    if not choice.enabled:
        return None
    from atoll.control.scheduler.estimation import Estimation

    return Estimation(hub, choice)
