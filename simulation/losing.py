"""Clusters lost for long, where a policy lets work fail over: nothing is given up for nothing.

A world comes in; the tally of what happened goes out. Members are cut off one after the other, or
tainted by a user, while the controllers are killed and started again. What an eviction takes away
must be running elsewhere by then, all of it; once all is well, everything is where it should be.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random

import orjson

from atoll.apiserver.assembly import Assembly
from atoll.client.api import ApiClient, Collection, Stale
from atoll.client.inprocess import InProcess
from atoll.dialects.karmada import names
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.fleets import Pool
from atoll.simulated.keeping import Pace
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.store.record import Event, Record
from atoll.store.store import Store
from atoll.wire import Wire
from simulation.converged import Scene
from simulation.link import LinkedMember, build
from simulation.network import Sky
from simulation.objects import (
    CLUSTERS,
    DEFAULT,
    DEPLOYMENTS,
    POLICIES,
    POLICY,
    of_name,
    placement,
    policy,
    template,
)
from simulation.pipeline import ADMIN, MEMBERS, SETTLE_WITHIN_S, Pipeline, lead, lead_lives, serve
from simulation.promises import BINDINGS, TEMPLATES, Promises, leaving
from simulation.users import Habits
from simulation.world import World

TAINT_POLICIES = Collection(POLICY, "ClusterTaintPolicy", "clustertaintpolicies", namespaced=False)
ALL_CLUSTERS = "clusters.cluster.karmada.io"
ORDER = {"key": "mine", "effect": "NoExecute"}
WORKLOADS = 5
_CALM_S = 20.0


@dataclass
class Losses:
    """What happened, and that no copy went for nothing."""

    world: World
    members: dict[str, LinkedMember]
    lost: int = 0
    begun: int = 0
    removed: int = 0

    def follow_members(self) -> None:
        for name, member in self.members.items():
            member.store.listen(partial(self._member_changed, name))

    def follow_plane(self, store: Store) -> None:
        store.listen(self._plane_changed)

    def _plane_changed(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == BINDINGS and event.before is not None:
                fresh = leaving(_read(event.after)) - leaving(_read(event.before))
                self.begun += len(fresh)
                for cluster in sorted(fresh):
                    self.world.note(f"{event.after.name} is to leave {cluster}")

    def _member_changed(self, cluster: str, events: Sequence[Event]) -> None:
        for event in events:
            if event.removed and event.after.collection == TEMPLATES["Deployment"]:
                self.removed += 1
                self._check(cluster, event.after.name)

    def _check(self, cluster: str, name: str) -> None:
        """What leaves a cluster runs elsewhere, every replica of it."""
        others = [each for each in self.members if each != cluster]
        ready = [_ready(self.members[each].store, name) for each in others]
        self.world.note(f"{name} is gone from {cluster}; elsewhere {ready} are ready")
        wanted = int(name.rpartition("-")[2])
        assert sum(ready) >= wanted, f"{name} left {cluster}, and {ready} of {wanted} are ready"


async def losing(world: World, virtual_s: float = 60.0) -> Losses:
    """Lose clusters for so long, and see whether all is well when they are back."""
    effects = world.effects("hub")
    draws = effects.chance.of("members")
    members = {
        name: build(
            name,
            world.effects(name),
            fleet=(Pool(count=2),),
            pace=Pace(start_s=draws.choice((0.0, 0.5, 5.0))),
        )
        for name in MEMBERS
    }
    losses = Losses(world, members)
    it = Pipeline(
        world,
        effects,
        members,
        Promises(world, members),
        MemoryLog(),
        Sky(world),
        Habits((), ()),
        dict.fromkeys(MEMBERS, 0.0),
    )
    async with running(*members.values()):
        it.promises.follow_members()
        losses.follow_members()
        store = Store.open(it.log)
        async with Supervisor("plane", effects.chance) as process:
            server = await serve(it, store, process)
            losses.follow_plane(store)
            api = ApiClient(InProcess(server.handle, ADMIN))
            await _write(api, draws)
            async with Supervisor("trouble", effects.chance) as others:
                others.start("hubs", partial(lead_lives, it, server))
                others.start("losses", partial(_lose, losses, effects.chance.of("losses")))
                others.start("user", partial(_taint, world, api, effects.chance.of("user")))
                await asyncio.sleep(virtual_s)
            await _calm(it, server, api, store)
        await store.close()
    return losses


async def _write(api: ApiClient, draws: Random) -> None:
    """Workloads of all sizes, each where it likes; and the word that they may fail over."""
    for number in range(WORKLOADS):
        size = draws.randint(1, 4)
        place = (DEPLOYMENTS, DEFAULT, f"d{number}-{size}")
        spec = {"resourceSelectors": of_name(place), "placement": placement(draws, list(MEMBERS))}
        await api.create(POLICIES, policy(POLICIES, (DEFAULT, place[2]), spec))
        await api.create(DEPLOYMENTS, template(place, "red", size))
    await api.create(TAINT_POLICIES, _failover())


def _failover() -> Wire:
    asked = {"conditionType": "Ready", "statusValues": ["True"]}
    return {
        "apiVersion": POLICY,
        "kind": TAINT_POLICIES.kind,
        "metadata": {"name": "failover"},
        "spec": {
            "addOnConditions": [{**asked, "operator": "NotIn"}],
            "removeOnConditions": [{**asked, "operator": "In"}],
            "taints": [{"key": "failed", "effect": "NoExecute"}],
        },
    }


async def _lose(losses: Losses, draws: Random) -> None:
    """Cut a member off for long, or all of them, and let them be reached again, for ever."""
    while True:
        await asyncio.sleep(draws.uniform(5.0, 20.0))
        names = MEMBERS if draws.random() < 0.2 else (draws.choice(MEMBERS),)
        for name in names:
            losses.members[name].kill()
        losses.lost += 1
        losses.world.note(f"{', '.join(names)} are lost")
        await asyncio.sleep(draws.uniform(5.0, 40.0))
        for name in names:
            losses.members[name].heal()
        losses.world.note(f"{', '.join(names)} are found")


async def _taint(world: World, api: ApiClient, draws: Random) -> None:
    """Order everything out of a cluster, and take that back, for ever."""
    while True:
        await asyncio.sleep(draws.uniform(5.0, 30.0))
        name = draws.choice(MEMBERS)
        world.note(f"{name} is to be left")
        await _order(api, name, ORDER)
        await asyncio.sleep(draws.uniform(1.0, 20.0))
        world.note(f"{name} may be used again")
        await _order(api, name)


async def _order(api: ApiClient, name: str, *taints: Wire) -> None:
    """Have a cluster carry no taints of a user's but these."""
    while True:
        cluster = await api.get(CLUSTERS.path("", name))
        others = [one for one in cluster["spec"].get("taints") or () if one["key"] != ORDER["key"]]
        wanted = {**cluster, "spec": {**cluster["spec"], "taints": [*others, *taints]}}
        try:
            await api.replace(CLUSTERS, wanted)
        except Stale:
            continue
        return


async def _calm(it: Pipeline, server: Assembly, api: ApiClient, store: Store) -> None:
    """All clusters are back, and nobody orders anything: it settles, and nothing is left open."""
    for member in it.members.values():
        member.heal()
    for name in MEMBERS:
        await _order(api, name)
    it.world.note("all is well")
    async with Supervisor("last", it.effects.chance) as others:
        others.start("hub", partial(lead, it, server))
        begun = asyncio.get_running_loop().time()
        scene = Scene(store, it.members, set())
        while left := [*islice(scene.differences(), 5), *_open(scene)]:
            spent = asyncio.get_running_loop().time() - begun
            assert spent < SETTLE_WITHIN_S, f"not settled: {'; '.join(left)}"
            await asyncio.sleep(1.0)
        await asyncio.sleep(_CALM_S)
        left = [*islice(scene.differences(), 5), *_open(scene)]
        assert not left, f"settled and then not: {'; '.join(left)}"


def _open(scene: Scene) -> list[str]:
    """What is being left though nothing orders it, and clusters that carry taints for nothing."""
    bindings, clusters = scene.all(BINDINGS), scene.all(ALL_CLUSTERS)
    left = [path for path, each in bindings.items() if leaving(each)]
    tainted = [name for name, each in clusters.items() if each["spec"].get("taints")]
    return [f"{each} is not settled" for each in left + tainted]


def _read(record: Record | None) -> Wire:
    wire: Wire = {} if record is None else orjson.loads(record.value)
    return wire


def _ready(store: Store, name: str) -> int:
    wire = _read(store.get(TEMPLATES["Deployment"], name))
    if (wire.get("metadata", {}).get("labels") or {}).get(names.MANAGED) != "true":
        return 0
    return int((wire.get("status") or {}).get("readyReplicas", 0))
