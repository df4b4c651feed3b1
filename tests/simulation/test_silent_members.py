"""Members that hang or flap do not delay the others: counted in virtual seconds.

Two worlds from one seed, equal but for two bad members; in both the same is applied at the same
moments, and every answer takes its time. What counts is when the good members have it.
"""

import asyncio
import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.control.running import controlling
from atoll.exchange import Peer
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Object
from simulation.link import LinkedMember, build
from simulation.objects import CLUSTERS, DEFAULT, DEPLOYMENTS, POLICIES, template
from simulation.world import World, simulate

ADMIN = Peer("admin", (MASTERS,))
GOOD = ("good-1", "good-2", "good-3")
BAD = ("hanging", "flapping")
APPLIED = 10
EVERY_S = 2.0


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def policy() -> dict[str, Any]:
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"namespace": DEFAULT, "name": "everywhere"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {"clusterTolerations": [{"operator": "Exists"}]},
        },
    }


def cluster(name: str) -> dict[str, Any]:
    kind = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}
    return {**kind, "metadata": {"name": name}, "spec": {"syncMode": "Push"}}


async def flap(member: LinkedMember) -> None:
    while True:
        member.kill()
        await asyncio.sleep(1.7)
        member.heal()
        await asyncio.sleep(1.3)


async def lived(world: World, *, trouble: bool) -> dict[str, float]:
    """How long each Deployment took until all good members had it."""
    effects = world.effects("hub")
    members = {name: build(name, world.effects(name)) for name in (*GOOD, *BAD)}
    store = Store.open(MemoryLog())

    def reach(wire: Object, _secret: Object | None) -> Transport:
        return members[wire["metadata"]["name"]].transport

    async with Supervisor("plane", effects.chance) as process, Children("trouble") as children:
        process.start("store", store.run)
        server = assemble(store, effects, kinds=plane_kinds(effects))
        await server.start()
        for name, service in server.services.items():
            process.start(name, service)
        way = InProcess(server.handle, ADMIN)
        async with running(*members.values()), controlling(way, effects, reach=reach) as hub:
            user = ApiClient(way)
            for name in members:
                await user.create(CLUSTERS, cluster(name))
            await user.create(POLICIES, policy())
            known = [*GOOD] if trouble else [*members]
            async with asyncio.timeout(600):
                while not all((one := hub.cluster(name)) and one.ready for name in known):
                    await asyncio.sleep(0.1)
            if trouble:
                members["hanging"].slow(86400.0)
                children.spawn(flap(members["flapping"]), "flap")
            found = await applied(user, [members[name] for name in GOOD])
            await children.cancel()
        await store.close()
    return found


async def applied(user: ApiClient, good: list[LinkedMember]) -> dict[str, float]:
    clock = asyncio.get_running_loop().time
    found: dict[str, float] = {}
    for number in range(APPLIED):
        name = f"d{number}"
        begun = clock()
        await user.create(DEPLOYMENTS, template((DEPLOYMENTS, DEFAULT, name), "red", 1))
        async with asyncio.timeout(600):
            while not all(one.store.get("deployments.apps", f"{DEFAULT}/{name}") for one in good):
                await asyncio.sleep(0.001)
        found[name] = clock() - begun
        await asyncio.sleep(EVERY_S)
    return found


def test_bad_members_delay_no_good_one() -> None:
    well = simulate(partial(lived, trouble=False), seed=3).value
    ill = simulate(partial(lived, trouble=True), seed=3).value
    assert max(ill.values()) <= 1.2 * max(well.values()) + 0.005
    assert sum(ill.values()) <= 1.2 * sum(well.values()) + 0.005
