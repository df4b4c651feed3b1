"""WorkloadRebalancers: workloads that a user wants placed anew, now."""

from functools import partial

from atoll.client.api import Wire
from atoll.control.hub import Hub, meant_otherwise
from atoll.control.loop import Controller, Loop
from atoll.control.rebalancer import decide as rebalancer
from atoll.dialects.karmada.references import binding_of
from atoll.model.action import Ref


def rebalancing(hub: Hub) -> Loop[Ref]:
    """The loop of rebalancers."""
    controller = Controller(
        "rebalancer", partial(_observe, hub), lambda seen: rebalancer.plan(seen, hub.now)
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
