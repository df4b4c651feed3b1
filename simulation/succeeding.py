"""Leaders of a whole plane follow one another, and what an old one sent arrives late: no harm.

A world comes in; the tally of what happened goes out. Contenders run all controllers while they
lead, over roads on which writes to the plane and to members are held up for longer than anybody
leads. Users change sizes all the while and delete nothing: nothing may be deleted, and once it is
calm every member has the newest sizes.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random

import orjson

from atoll.apiserver.assembly import assemble
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Stale
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.control.running import controlling
from atoll.exchange import Request, Response
from atoll.hosting.electing import SEAT, Term
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.fleets import Pool
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.store.record import Event
from atoll.store.store import Store
from atoll.wire import Object
from simulation.electing import ADMIN, Contender, Road, Tally
from simulation.link import LinkedMember, build
from simulation.objects import (
    CLUSTERS,
    DEFAULT,
    DEPLOYMENTS,
    NAMESPACES,
    POLICIES,
    policy,
    sized,
    template,
)
from simulation.pipeline import TIMES
from simulation.world import World

MEMBERS = ("m1", "m2")
WORKLOADS = ("d0", "d1", "d2")
SETTLE_WITHIN_S = 300.0
_DEPLOYMENTS = "deployments.apps"


@dataclass
class Succession(Tally):
    """What happened; `conflicts` were refused for being decided on an old state."""

    conflicts: int = 0

    def answered(self, request: Request, response: Response) -> None:
        self.conflicts += response.status == 409

    def kept(self, events: Sequence[Event]) -> None:
        """Nobody asked for a deletion."""
        for event in events:
            if event.after.collection == _DEPLOYMENTS:
                assert not event.removed, f"{event.after.name} was deleted"


@dataclass
class Leader(Contender):
    """One who runs all controllers while it leads."""

    members: dict[str, LinkedMember] = field(default_factory=dict)

    async def work(self, road: Road, draws: Random, term: Term) -> None:
        self.tally.terms += 1
        self.world.note(f"{self.name} leads: term {self.tally.terms}")

        def reach(cluster: Object, _secret: Object | None) -> Transport:
            inner = self.members[cluster["metadata"]["name"]].transport
            way = Road(inner, draws, self.on_the_way, self.tally.answered)
            way.is_bad = road.is_bad
            return way

        effects = self.world.effects(f"{self.name} {self.tally.terms}")
        ways = term.guard_reach(reach)
        async with controlling(term.guard(road), effects, reach=ways, times=TIMES):
            await asyncio.Event().wait()


async def succeeding(world: World, virtual_s: float = 120.0) -> Succession:
    """Let leaders be lost for so long while sizes change; then all must be as it was asked for."""
    effects, tally = world.effects("host"), Succession()
    members = {name: build(name, world.effects(name), fleet=(Pool(count=1),)) for name in MEMBERS}
    store = Store.open(MemoryLog())
    async with running(*members.values()), Supervisor("host", effects.chance) as host:
        host.start("store", store.run)
        server = assemble(store, effects, kinds=plane_kinds(effects))
        await server.start()
        for name, service in server.services.items():
            host.start(name, service)
        for each in (store, *(member.store for member in members.values())):
            each.listen(tally.kept)
        api = ApiClient(InProcess(server.handle, ADMIN))
        await _prepare(api)
        async with (
            Children("on the way") as on_the_way,
            Supervisor("leaders", effects.chance, stop_within_s=60.0) as leaders,
        ):
            for number in range(2):
                name = f"leader-{number}"
                one = Leader(world, name, server, tally, on_the_way, members=members)
                leaders.start(name, partial(one.live, virtual_s))
            await _change(api, effects.chance.of("user"), virtual_s)
            await _settle(store, members)
    await store.close()
    return tally


async def _prepare(api: ApiClient) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SEAT.namespace}}
    await api.create(NAMESPACES, space)
    for name in MEMBERS:
        kind = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}
        cluster = {**kind, "metadata": {"name": name}, "spec": {"syncMode": "Push"}}
        await api.create(CLUSTERS, cluster)
    selected = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    tolerant = {"clusterTolerations": [{"operator": "Exists"}]}
    spec = {"resourceSelectors": selected, "placement": tolerant}
    await api.create(POLICIES, policy(POLICIES, (DEFAULT, "all"), spec))
    for name in WORKLOADS:
        await api.create(DEPLOYMENTS, template((DEPLOYMENTS, DEFAULT, name), "red", 1))


async def _change(api: ApiClient, draws: Random, virtual_s: float) -> None:
    """Ask for other sizes for so long."""
    clock = asyncio.get_running_loop().time
    while clock() < virtual_s:
        await asyncio.sleep(draws.expovariate(1 / 4))
        wire = await api.get(DEPLOYMENTS.path(DEFAULT, draws.choice(WORKLOADS)))
        with suppress(Stale):
            await api.replace(DEPLOYMENTS, sized(wire, draws.randint(1, 5)))


async def _settle(store: Store, members: dict[str, LinkedMember]) -> None:
    clock = asyncio.get_running_loop().time
    begun = clock()
    while left := _differences(store, members):
        assert clock() < begun + SETTLE_WITHIN_S, f"not settled: {left}"
        await asyncio.sleep(5.0)


def _differences(store: Store, members: dict[str, LinkedMember]) -> list[str]:
    return [
        f"{name} in {member.name}"
        for name in WORKLOADS
        for member in members.values()
        if _size(store, name) != _size(member.store, name)
    ]


def _size(store: Store, name: str) -> int | None:
    """How large a Deployment is to be; None if there is none."""
    record = store.get(_DEPLOYMENTS, f"{DEFAULT}/{name}")
    return None if record is None else orjson.loads(record.value)["spec"]["replicas"]
