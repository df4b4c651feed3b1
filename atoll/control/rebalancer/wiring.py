"""WorkloadRebalancers: workloads that a user wants placed anew, now."""

from functools import partial

from atoll.control.hub import Hub, spec_changed
from atoll.control.loop import Controller, Loop
from atoll.control.rebalancer import decide as rebalancer
from atoll.dialects.karmada.objects import kinds
from atoll.dialects.karmada.references import binding_of
from atoll.model.workload_rebalancer import WorkloadRebalancer


def rebalancing(hub: Hub) -> Loop[str]:
    """The loop of rebalancers, by name."""
    controller = Controller(
        "rebalancer", partial(_observe, hub), lambda seen: rebalancer.plan(seen, hub.now)
    )
    loop: Loop[str] = Loop(controller, hub.performer, hub.turns)

    def changed(before: WorkloadRebalancer | None, after: WorkloadRebalancer | None) -> None:
        if after is not None and spec_changed(before, after):
            loop.wake(after.meta.name)

    hub.hear_values("rebalancer", kinds.WORKLOAD_REBALANCER, changed)
    return loop


def _observe(hub: Hub, name: str) -> rebalancer.SeenRebalancer | None:
    found = hub.plane.value(kinds.WORKLOAD_REBALANCER, "", name)
    if found is None:
        return None
    bindings = {workload: hub.binding(binding_of(workload)) for workload in found.workloads}
    there = {workload: each for workload, each in bindings.items() if each is not None}
    return rebalancer.SeenRebalancer(found, there)
