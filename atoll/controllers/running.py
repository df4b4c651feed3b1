"""All controllers of a plane, in one list."""

from collections.abc import Awaitable, Callable

from atoll.controllers.detection import detection
from atoll.controllers.execution import Execution
from atoll.controllers.hub import Hub
from atoll.controllers.namespaces import namespaces
from atoll.controllers.placement import Placement
from atoll.controllers.propagation import propagation

WORKERS = 4


async def start(hub: Hub) -> dict[str, Callable[[], Awaitable[None]]]:
    """Wire the controllers, know the plane, and say what is to be run."""
    placement, execution = Placement(hub), Execution(hub)
    by_ref = (*detection(hub), *propagation(hub))
    by_name = namespaces(hub)
    await hub.start()
    services: dict[str, Callable[[], Awaitable[None]]] = {
        f"{placement.name}'s reports": placement.report,
        "events": hub.performer.run,
        "execution": execution.run,
    }
    for worker in range(WORKERS):
        services[f"{placement.name} {worker}"] = placement.run
    for loop in (*by_ref, by_name):
        for worker in range(WORKERS):
            services[f"{loop.name} {worker}"] = loop.run
    return services
