"""WorkloadRebalancers: workloads that a user wants placed anew, now."""

from functools import partial

from atoll.client.api import Wire
from atoll.controllers.detection import binding_of
from atoll.controllers.hub import Hub, meant_otherwise
from atoll.controllers.loop import Controller, Loop
from atoll.model.action import Ref
from atoll.planning import rebalancer


def rebalancing(hub: Hub) -> Loop[Ref]:
    """The loop of rebalancers."""
    controller = Controller(
        "rebalancers", partial(_observe, hub), lambda seen: rebalancer.plan(seen, hub.now)
    )
    loop = Loop(controller, hub.performer, hub.turns)

    def changed(before: Wire | None, after: Wire | None) -> None:
        if after is not None and meant_otherwise(before, after):
            loop.wake(Ref.of(after))

    hub.hear("WorkloadRebalancer", changed)
    return loop


def _observe(hub: Hub, ref: Ref) -> rebalancer.SeenRebalancer | None:
    wire = hub.plane.find(ref)
    if wire is None:
        return None
    listed = [rebalancer.workload_of(each) for each in rebalancer.workloads(wire)]
    bindings = {workload: hub.plane.find(binding_of(workload)) for workload in listed}
    found = {workload: each for workload, each in bindings.items() if each is not None}
    return rebalancer.SeenRebalancer(wire, found)
