"""Whoever observes only looks: nothing is followed, connected or begun on account of it."""

import asyncio
from collections.abc import Iterator
from typing import Any

from sites import until
from test_dependencies import PASSWORD, SETTINGS, binding, carrying, thing, workload
from whole import served, whole

from atoll.client.transport import Transport
from atoll.control.access.wiring import access
from atoll.control.clusters.wiring import Membership
from atoll.control.dependencies.wiring import dependencies
from atoll.control.eviction.wiring import Eviction
from atoll.control.hub import Hub
from atoll.control.loop import Loop
from atoll.control.namespaces.wiring import namespaces
from atoll.control.preemption.wiring import preemption
from atoll.control.prices.wiring import Prices
from atoll.control.rebalancer.wiring import rebalancing
from atoll.control.status.wiring import status
from atoll.control.taints.wiring import tainting
from atoll.control.works.wiring import works
from atoll.dialects.karmada.objects import kinds
from atoll.effects import system_effects
from atoll.model.price import Price
from atoll.runtime.children import Children
from atoll.store.memory import MemoryLog
from atoll.wire import Object

AGAIN = {
    "apiVersion": kinds.WORKLOAD_REBALANCER.api_version,
    "kind": kinds.WORKLOAD_REBALANCER.kind,
    "metadata": {"name": "again"},
    "spec": {"workloads": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}]},
}
PRICE = {
    "apiVersion": kinds.CLUSTER_PRICE.api_version,
    "kind": kinds.CLUSTER_PRICE.kind,
    "metadata": {"name": "m1"},
    "spec": {"currency": "EUR", "perCPUHour": "0.5"},
}


def no_way(_cluster: Object, _secret: Object | None) -> Transport:
    raise AssertionError("connected")


def loops(hub: Hub) -> Iterator[tuple[Loop[Any], list[Any]]]:
    """Each controller, with the keys of all that it may be asked about."""
    bindings = [each.ref for kind in kinds.BINDINGS for each in hub.plane.values(kind)]
    clusters = [each.name for each in hub.members]
    spaces = [each["metadata"]["name"] for each in hub.plane.all("v1", "Namespace")]
    for loop in (works(hub), status(hub), preemption(hub), Eviction(hub).loop, dependencies(hub)):
        yield loop, bindings
    for of_clusters in (tainting(hub), Membership(hub).loop, access(hub)):
        yield of_clusters, clusters
    yield namespaces(hub), [(space, cluster) for space in spaces for cluster in clusters]
    yield rebalancing(hub), [each.meta.name for each in hub.plane.values(kinds.WORKLOAD_REBALANCER)]
    prices = Prices(hub, lambda: None)
    prices.learn("m2", Price(cpu=1))
    prices.settle()
    yield prices.loop, [each.meta.name for each in hub.plane.values(kinds.CLUSTER_PRICE)]


def test_to_observe_begins_nothing() -> None:
    """Controllers that were told nothing yet look at a plane that is known: all is new to them."""

    async def story() -> None:
        log, effects = MemoryLog(), system_effects()
        async with whole(["m1", "m2"], log) as it:
            await it.create(thing(SETTINGS))
            await it.create(carrying("m1", "m2"))
            await it.create(workload(needs=(SETTINGS, PASSWORD)))
            await it.create(AGAIN)
            await it.create(PRICE)
            await until(lambda: binding(it, SETTINGS))
        async with served(log, effects) as plane, Children("hub") as children:
            hub = Hub(plane, effects, children, reach=no_way)
            await hub.start()
            seen = set[str]()
            for loop, keys in loops(hub):
                tasks, followed = asyncio.all_tasks(), [*hub.plane._mirrors]
                assert keys, loop.name
                if [each for each in map(loop._controller.observe, keys) if each is not None]:
                    seen.add(loop.name)
                assert asyncio.all_tasks() == tasks, loop.name
                assert [*hub.plane._mirrors] == followed, loop.name
            assert {"works", "status", "dependencies", "taints", "rebalancer", "prices"} <= seen
            assert hub.plane.mirrored("v1", "Secret") is None, "needed, and not there"
            await children.cancel()

    asyncio.run(story())
