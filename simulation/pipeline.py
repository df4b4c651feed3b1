"""The whole pipeline on a bad network: a plane, its controllers, three members and their users.

A world comes in; the tally of what happened goes out. Requests and answers are lost, watches lag,
members are cut off and healed, the controllers and the plane are killed and started again. All the
while the promises must hold; once it is calm, everything must be where it should be and stay so.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice

from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Refused
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable
from atoll.controllers.admitting import admit, report
from atoll.controllers.hub import Hub
from atoll.controllers.running import start
from atoll.effects import Effects
from atoll.exchange import Peer
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.keeping import Pace
from atoll.simulated.member import Member, build, running
from atoll.simulated.summary import summary
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from simulation.converged import differences
from simulation.network import Network, Sky
from simulation.promises import Promises
from simulation.users import CONFIGMAPS, DEPLOYMENTS, User, template
from simulation.world import World

ADMIN = Peer("admin", (MASTERS,))
MEMBERS = ("m1", "m2", "m3")
USERS = 3
FOREIGN = "theirs"
SETTLE_WITHIN_S = 180.0
QUIET_S = 60.0
LAST_S = 20.0
PAUSE_S = 0.5


@dataclass
class Pipeline:
    """What the scenario shares between the lives of plane and controllers."""

    world: World
    effects: Effects
    members: dict[str, Member]
    promises: Promises
    log: MemoryLog
    sky: Sky
    hubs: int = 0
    planes: int = 0
    cuts: int = 0
    settled_after_s: float = 0.0
    hub: Hub | None = None


async def pipeline(world: World, virtual_s: float = 40.0) -> Pipeline:
    """Disturb everything for so long, then let it settle and see whether it is right."""
    effects = world.effects("hub")
    chance, disk = effects.chance.of("members"), effects.chance.of("disk")
    members = {
        name: build(name, world.effects(name), pace=Pace(start_s=chance.choice((0.0, 0.5, 5.0))))
        for name in MEMBERS
    }
    log = MemoryLog(delay_s=lambda: disk.expovariate(1000.0))
    it = Pipeline(world, effects, members, Promises(world, members), log, Sky(world))
    async with running(*members.values()):
        await _settle_foreigners(members, it)
        it.promises.follow_members()
        end = _now() + virtual_s
        while _now() < end:
            await _live_once(it, end)
        await _live_last(it)
        it.promises.check_foreign()
    return it


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _settle_foreigners(members: dict[str, Member], it: Pipeline) -> None:
    """Give members things that are not ours; one has the name of a template."""
    for name, member in members.items():
        api = ApiClient(member.transport)
        await api.create(DEPLOYMENTS, template(DEPLOYMENTS, FOREIGN, "red", 2))
        await api.create(CONFIGMAPS, template(CONFIGMAPS, f"{FOREIGN}-{name}", "red", 2))


async def _live_once(it: Pipeline, end: float) -> None:
    """One life of the plane in bad weather, with controllers that live shorter lives."""
    draws = it.effects.chance.of("lives")
    it.planes += 1
    store = Store.open(it.log)
    async with Supervisor("plane", it.effects.chance) as process:
        server = await _serve(it, store, process)
        async with Supervisor("users", it.effects.chance) as others:
            for number in range(USERS):
                draw = it.effects.chance.of(f"user-{number}")
                api = ApiClient(InProcess(server.handle, ADMIN))
                user = User(it.world, api, draw, list(MEMBERS))
                others.start(f"user-{number}", user.run)
            others.start("trouble", partial(_trouble, it))
            others.start("hubs", partial(_lead_lives, it, server))
            await asyncio.sleep(min(draws.expovariate(1 / 25.0), max(0.0, end - _now())))
            crashes = draws.random() < 0.7
            if crashes:
                it.world.note(f"the plane crashes at revision {store.revision}")
                it.log.crash(kept=draws.random() < 0.5)
        if not crashes:
            await store.close()


async def _live_last(it: Pipeline) -> None:
    """A life in calm weather: it settles, and then nothing more is written."""
    store = Store.open(it.log)
    async with Supervisor("plane", it.effects.chance) as process:
        server = await _serve(it, store, process)
        async with Supervisor("others", it.effects.chance) as others:
            others.start("hubs", partial(_lead, it, server))
            await _disturb(it, server)
            begun = _now()
            while left := list(islice(differences(store, it.members), 5)):
                assert _now() < begun + SETTLE_WITHIN_S, f"not settled: {'; '.join(left)}"
                await asyncio.sleep(1.0)
            it.settled_after_s = _now() - begun
            it.world.note(f"settled after {it.settled_after_s:g} s")
            await _stay_quiet(it, store)
            left = list(islice(differences(store, it.members), 5))
            assert not left, f"settled and then not: {'; '.join(left)}"
        await store.close()


async def _disturb(it: Pipeline, server: Assembly) -> None:
    """Trouble for a while, and then calm, without anyone being started anew."""
    async with Supervisor("users", it.effects.chance) as others:
        for number in range(USERS):
            draw = it.effects.chance.of(f"user-{number}")
            api = ApiClient(InProcess(server.handle, ADMIN))
            others.start(f"user-{number}", User(it.world, api, draw, list(MEMBERS)).run)
        others.start("trouble", partial(_trouble, it))
        await asyncio.sleep(LAST_S)
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


async def _serve(it: Pipeline, store: Store, process: Supervisor) -> Assembly:
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
        await asyncio.sleep(draws.expovariate(1 / 5.0))
        member = it.members[draws.choice(MEMBERS)]
        if member.transport.is_cut:
            member.heal()
        elif draws.random() < 0.4:
            it.cuts += 1
            member.kill()
        it.world.note(f"{member.name} is {'cut off' if member.transport.is_cut else 'reached'}")


async def _lead_lives(it: Pipeline, server: Assembly) -> None:
    """Run the controllers, kill them at any moment, and start them again."""
    draws = it.effects.chance.of("hubs")
    while True:
        try:
            async with asyncio.timeout(draws.expovariate(1 / 12.0)):
                await _lead(it, server)
        except TimeoutError:
            it.world.note("the controllers are killed")


async def _lead(it: Pipeline, server: Assembly) -> None:
    """Run the controllers until cancelled; a start that fails is tried again."""
    while True:
        try:
            await _lead_once(it, server)
        except (Unreachable, Refused) as failed:
            it.world.note(f"the controllers could not start: {failed}")
            await asyncio.sleep(PAUSE_S)


async def _lead_once(it: Pipeline, server: Assembly) -> None:
    it.hubs += 1
    it.world.note(f"the controllers start for the {it.hubs}. time")
    async with AsyncExitStack() as stack:
        children = await stack.enter_async_context(Children("hub"))
        plane = _through(it, "plane", InProcess(server.handle, ADMIN))
        it.hub = hub = Hub(plane, it.effects, children)
        services = await start(hub)
        supervisor = await stack.enter_async_context(Supervisor("controllers", it.effects.chance))
        for name, service in services.items():
            supervisor.start(name, service)
        for name, member in it.members.items():
            children.spawn(_join(it, hub, member), f"join {name}")
        await supervisor.until_stopped()


def _through(it: Pipeline, name: str, inner: Transport) -> Network:
    return Network(name, inner, it.sky, it.effects.chance.of(f"network {name}"))


async def _join(it: Pipeline, hub: Hub, member: Member) -> None:
    """Let a member in as soon as it can be reached, then report how it is."""
    way = _through(it, member.name, member.transport)
    while True:
        try:
            await admit(hub, member.name, way, {"region": "here", "provider": "sim"})
            break
        except (Unreachable, Refused):
            await asyncio.sleep(PAUSE_S)
    await report(hub, member.name, lambda: summary(member))
