"""The whole pipeline on a bad network: a plane, its controllers, three members and their users.

A world comes in; the tally of what happened goes out. Requests and answers are lost, watches lag,
members are cut off and healed, the controllers and the plane are killed and started again. All the
while the promises must hold; once it is calm, everything must be where it should be and stay so.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
from itertools import islice

from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.config import Times
from atoll.control.hub import CLUSTER, Hub
from atoll.control.recording import Recording
from atoll.control.running import controlling
from atoll.effects import Effects
from atoll.exchange import Peer
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.fleets import Pool
from atoll.simulated.keeping import Pace
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.tracing.span import Span
from atoll.tracing.tracer import Tracer
from atoll.wire import Object
from simulation import ordinals
from simulation.converged import Scene
from simulation.enrolling import enrol
from simulation.link import LinkedMember, build
from simulation.network import Network, Sky
from simulation.objects import (
    CONFIGMAPS,
    DEFAULT,
    DEPLOYMENTS,
    FOREIGN,
    TIERS,
    template,
)
from simulation.promises import Promises
from simulation.thrift import Noticed
from simulation.users import Habits, User, habits
from simulation.world import World

ADMIN = Peer("admin", (MASTERS,))
MEMBERS = ("m1", "m2", "m3")
USERS = 2
TIMES = Times(
    cluster_status_update_frequency=1.0,
    cluster_failure_threshold=0.5,
    cluster_success_threshold=0.5,
)
"""So that clusters are told to fail and to recover within the few seconds of trouble there are."""
SETTLE_WITHIN_S = 180.0
QUIET_S = 60.0


@dataclass
class Pipeline:
    """What the scenario shares between the lives of plane and controllers."""

    world: World
    effects: Effects
    members: dict[str, LinkedMember]
    promises: Promises
    log: MemoryLog
    sky: Sky
    habits: Habits
    joins: dict[str, float]
    hubs: int = 0
    planes: int = 0
    cuts: int = 0
    settled_after_s: float = 0.0
    hub: Hub | None = None
    spans: list[Span] | None = None
    """What is traced, if anything."""
    recording: Recording | None = None


async def pipeline(
    world: World,
    virtual_s: float = 3.0,
    *,
    traced: bool = False,
    recording: Recording | None = None,
) -> Pipeline:
    """Disturb many lives for so long, one more as long, and see whether that one gets it right."""
    effects = world.effects("hub")
    chance, disk = effects.chance.of("members"), effects.chance.of("disk")
    members = {
        name: build(
            name,
            world.effects(name),
            fleet=(Pool(count=1),),
            pace=Pace(start_s=chance.choice((0.0, 0.5, 5.0)), end_s=chance.choice((0.0, 0.5, 5.0))),
        )
        for name in MEMBERS
    }
    joins = {name: chance.choice((0.0, 0.0, 0.0, 1.5 * virtual_s)) for name in MEMBERS}
    log = MemoryLog(delay_s=lambda: disk.expovariate(1000.0))
    it = Pipeline(
        world,
        effects,
        members,
        Promises(world, members),
        log,
        Sky(world),
        habits(effects.chance.of("habits"), ordinals.ACTS),
        joins,
        spans=[] if traced else None,
        recording=recording,
    )
    async with running(*members.values()):
        await _settle_foreigners(members)
        it.promises.follow_members()
        end = _now() + virtual_s
        while _now() < end:
            await _live_once(it, end)
        await _live_last(it, virtual_s)
        it.promises.check_foreign()
    return it


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _settle_foreigners(members: dict[str, LinkedMember]) -> None:
    """Give members things that are not ours; one has the name of a template."""
    for name, member in members.items():
        api = ApiClient(member.transport)
        await api.create(DEPLOYMENTS, template((DEPLOYMENTS, DEFAULT, FOREIGN), "red", 2))
        theirs = (CONFIGMAPS, DEFAULT, f"{FOREIGN}-{name}")
        await api.create(CONFIGMAPS, template(theirs, "red", 2))


async def _live_once(it: Pipeline, end: float) -> None:
    """One life of the plane in bad weather, with controllers that live shorter lives."""
    draws = it.effects.chance.of("lives")
    it.planes += 1
    store = Store.open(it.log)
    async with Supervisor("plane", it.effects.chance) as process:
        server = await serve(it, store, process)
        if it.planes == 1:
            await _user(it, server, "first").settle_in()
        async with Supervisor("users", it.effects.chance) as others:
            _let_in_users(it, server, others)
            others.start("trouble", partial(_trouble, it))
            others.start("hubs", partial(lead_lives, it, server))
            await asyncio.sleep(min(draws.expovariate(1 / 10.0), max(0.0, end - _now())))
            crashes = draws.random() < 0.7
            if crashes:
                it.world.note(f"the plane crashes at revision {store.revision}")
                it.log.crash(kept=draws.random() < 0.5)
        if not crashes:
            await store.close()


def _let_in_users(it: Pipeline, server: Assembly, others: Supervisor) -> None:
    for number in range(USERS):
        name = f"user-{number}"
        others.start(name, _user(it, server, name).run)


def _user(it: Pipeline, server: Assembly, name: str) -> User:
    api = ApiClient(InProcess(server.handle, ADMIN))
    return User(it.world, api, it.effects.chance.of(name), it.members, it.promises, it.habits)


async def _live_last(it: Pipeline, virtual_s: float) -> None:
    """A life in calm weather: it settles, and then nothing more is written."""
    store = Store.open(it.log)
    async with Supervisor("plane", it.effects.chance) as process:
        server = await serve(it, store, process)
        async with Supervisor("others", it.effects.chance) as others:
            others.start("hubs", partial(lead, it, server))
            await _disturb(it, server, virtual_s)
            begun, pause_s = _now(), 1.0
            scene = Scene(store, it.members, it.promises.left)
            while left := list(islice(scene.differences(), 5)):
                assert _now() < begun + SETTLE_WITHIN_S, f"not settled: {'; '.join(left)}"
                await asyncio.sleep(pause_s)
                pause_s *= 1.5
            it.settled_after_s = _now() - begun
            it.world.note(f"settled after {it.settled_after_s:g} s")
            await _stay_quiet(it, store)
            left = list(islice(scene.differences(), 5))
            assert not left, f"settled and then not: {'; '.join(left)}"
        await store.close()


async def _disturb(it: Pipeline, server: Assembly, virtual_s: float) -> None:
    """Trouble for a while, and then calm, without anyone being started anew."""
    async with Supervisor("users", it.effects.chance) as others:
        _let_in_users(it, server, others)
        others.start("trouble", partial(_trouble, it))
        await asyncio.sleep(virtual_s)
    it.sky.clear()
    for member in it.members.values():
        member.heal()
    it.world.note("all is calm")


async def _stay_quiet(it: Pipeline, store: Store) -> None:
    """What has settled is not written again: not to the plane and not to a member."""
    await asyncio.sleep(QUIET_S)  # what was decided is told: reports, conditions, events
    before = _written(it, store)
    await asyncio.sleep(QUIET_S)
    after = _written(it, store)
    assert after == before, f"writes in a quiet minute: {before} became {after}"


def _written(it: Pipeline, store: Store) -> dict[str, int]:
    counts = {name: member.store.revision for name, member in it.members.items()}
    return {**counts, "plane": store.revision, "tried": it.hub.performer.writes if it.hub else 0}


async def serve(it: Pipeline, store: Store, process: Supervisor) -> Assembly:
    """Run the plane's API server over a store."""
    process.start("store", store.run)
    it.promises.follow_plane(store)
    server = assemble(store, it.effects, kinds=plane_kinds(it.effects))
    await server.start()
    for name, service in server.services.items():
        process.start(name, service)
    it.world.note(f"the plane starts: {store.found}")
    return server


async def _trouble(it: Pipeline) -> None:
    """Change the weather, cut members off and heal them, for ever."""
    draws = it.effects.chance.of("trouble")
    while True:
        it.sky.worsen(draws)
        it.world.note(f"{it.sky.weather}")
        await asyncio.sleep(draws.expovariate(1 / 3.0))
        member = it.members[draws.choice(MEMBERS)]
        if member.transport.is_cut:
            member.heal()
        elif draws.random() < 0.4:
            it.cuts += 1
            member.kill()
        it.world.note(f"{member.name} is {'cut off' if member.transport.is_cut else 'reached'}")


async def lead_lives(it: Pipeline, server: Assembly) -> None:
    """Run the controllers, kill them at any moment, and start them again."""
    draws = it.effects.chance.of("hubs")
    while True:
        try:
            async with asyncio.timeout(draws.expovariate(1 / 6.0)):
                await lead(it, server)
        except TimeoutError:
            it.world.note("the controllers are killed")


async def lead(it: Pipeline, server: Assembly) -> None:
    """Run the controllers until cancelled."""
    it.hubs += 1
    it.world.note(f"the controllers start for the {it.hubs}. time")
    way = _through(it, "plane", InProcess(server.handle, ADMIN))
    plane = Noticed(way, it.promises.thrift.sent)
    it.promises.thrift.fleet_changed()  # what they know of it, they learn anew
    ways = partial(_reach, it)
    tracer = None if it.spans is None else Tracer(it.effects, it.spans.append)
    async with controlling(
        plane, it.effects, reach=ways, times=TIMES, tracer=tracer, recording=it.recording
    ) as hub:
        it.hub = hub
        clusters = hub.plane.mirrored(CLUSTER, "Cluster")
        assert clusters is not None
        clusters.listen(lambda _before, _after: it.promises.thrift.fleet_changed())
        for name, member in it.members.items():
            hub.children.spawn(_join(it, hub, member), f"join {name}")
        await asyncio.Event().wait()


def _through(it: Pipeline, name: str, inner: Transport) -> Network:
    return Network(name, inner, it.sky, it.effects.chance.of(f"network {name}"))


def _reach(it: Pipeline, cluster: Object, _secret: Object | None) -> Transport:
    name = cluster["metadata"]["name"]
    return _through(it, name, it.members[name].transport)


async def _join(it: Pipeline, hub: Hub, member: LinkedMember) -> None:
    """Let a member in when it is its time."""
    await asyncio.sleep(it.joins[member.name] - _now())
    labels = {"tier": it.effects.chance.of("tiers").choice(TIERS)}
    await enrol(hub, member.name, {"region": "here", "provider": "sim"}, labels=labels)
