"""A plane with its members, as the propagation bench sees them: a way in, and what can be watched.

Either all of it in this process, with simulated members and pods that need no time to start; or any
API servers by their kubeconfigs, whose controllers somebody else runs. In this process the writes
of controllers are counted by where they go, without those of the members' own controllers, which
stand for other machines. Other servers count themselves what is written to them.
"""

import asyncio
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Collection, Missing
from atoll.client.https import Https
from atoll.client.inprocess import InProcess
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.mirror import Mirror
from atoll.client.transport import Transport, whole
from atoll.control.hub import Hub
from atoll.control.running import controlling
from atoll.effects import Effects, system_effects
from atoll.exchange import Peer, Request, Response
from atoll.main import Plane, run
from atoll.runtime.children import Children
from atoll.simulated.fleets import Pool
from atoll.simulated.member import running
from atoll.store.log import Log
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Object
from bench.processes import usage
from bench.requests import Written, writes, written
from simulation.enrolling import enrol
from simulation.link import build

ADMINISTRATOR = Peer("bench", (MASTERS,))
PLANE, EVENTS, MEMBERS = "plane", "events", "members"
CONTROLLERS = "controllers"
EMBEDDED = ("member-1", "member-2", "member-3")
DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
POLICIES = Collection(
    "policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", namespaced=True
)
PREFIX = "bench-"
_SETTLE_S = 0.3
_QUIET_S = 1.0
_CLEARERS = 16
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used so far, as far as it is known.

    Writes by where they went, verb and resource: `plane PUT works/status`; CPU by process.
    """

    writes: Mapping[str, int]
    cpu_s: Mapping[str, float]
    peak_mib: float | None


@dataclass(frozen=True, slots=True)
class Setting:
    """Who is measured: the way in for users, and Deployments in the plane and in each member."""

    user: ApiClient
    plane: Mirror
    members: Mapping[str, Mirror]
    spent: Callable[[], Awaitable[Spent]]
    calm: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Servers:
    """Kubeconfigs of a plane and its members, and processes, whose CPU is looked at, by name."""

    plane: Path
    members: Mapping[str, Path] = field(default_factory=dict)
    processes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class Counted:
    """A transport that counts the writes that go through it."""

    def __init__(self, inner: Transport, name: str, writes: Counter[str]) -> None:
        self._inner = inner
        self._name = name
        self._writes = writes

    async def send(self, request: Request) -> Response:
        if request.method != "GET":
            self._writes[written(request, self._name)] += 1
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def embedded(nodes: int = 10) -> AsyncIterator[Setting]:
    """A plane in memory with simulated members of so many nodes, ready for templates."""
    effects, made = system_effects(), Counter[str]()
    members = {name: build(name, effects, fleet=(Pool(count=nodes),)) for name in EMBEDDED}

    async def spent() -> Spent:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Spent(dict(made), {CONTROLLERS: time.process_time()}, peak)

    async def total() -> int:
        return made.total()

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(*members.values()))
        handler = await served(effects, stack, MemoryLog())
        plane = Counted(handler, PLANE, made)

        def reach(cluster: Object, _secret: Object | None) -> Transport:
            return Counted(members[cluster["metadata"]["name"]].transport, MEMBERS, made)

        hub = await stack.enter_async_context(controlling(plane, effects, reach=reach))
        for name, member in members.items():
            member.keeper.give_way(hub.turns)
            await enrol(hub, name)
        while not all(_is_ready(hub, name) for name in members):
            await asyncio.sleep(_SETTLE_S)
        for name in members:
            await hub.sites[name].follow("apps/v1", "Deployment")
        yield Setting(
            user=ApiClient(handler),
            plane=hub.plane.mirror(DEPLOYMENTS),
            members={name: hub.sites[name].mirror(DEPLOYMENTS) for name in members},
            spent=spent,
            calm=partial(_unchanged, total, _SETTLE_S),
        )


def _is_ready(hub: Hub, cluster: str) -> bool:
    known = hub.clusters.get(cluster)
    return known is not None and bool(known.ready) and cluster in hub.sites


async def served(effects: Effects, stack: AsyncExitStack, log: Log) -> Transport:
    """The API server of a plane over a log, for as long as the stack is open."""
    store = Store.open(log)
    server = assemble(store, effects, kinds=plane_kinds(effects))
    await run(Plane(store, server), effects, stack)
    return InProcess(server.handle, ADMINISTRATOR)


@asynccontextmanager
async def remote(servers: Servers) -> AsyncIterator[Setting]:
    """Servers that run elsewhere; what the bench made there is deleted in the end."""
    async with AsyncExitStack() as stack:
        children = await stack.enter_async_context(Children("bench"))
        transports: dict[str, Transport] = {}
        apis: dict[str, ApiClient] = {}
        mirrors: dict[str, Mirror] = {}
        for name, path in {"": servers.plane, **servers.members}.items():
            transports[name] = Https(read_kubeconfig(path))
            stack.push_async_callback(transports[name].close)
            apis[name] = ApiClient(transports[name])
            mirrors[name] = Mirror(apis[name], DEPLOYMENTS)
            children.spawn(mirrors[name].run(), f"Deployments of {name or 'the plane'}")
            await mirrors[name].ready.wait()
        members = {name: mirror for name, mirror in mirrors.items() if name}
        spent = partial(_of_servers, transports, servers.processes)

        async def total() -> int:
            return sum((await _written(transports)).values())

        calm = partial(_unchanged, total, _QUIET_S)
        try:
            yield Setting(apis[""], mirrors[""], members, spent, calm)
        finally:
            await _clear(apis[""], mirrors)
            await children.cancel()


async def _of_servers(
    transports: Mapping[str, Transport], processes: Mapping[str, Sequence[int]]
) -> Spent:
    used = {name: usage(each) for name, each in processes.items()}
    held = used[CONTROLLERS].resident_bytes / _MIB if CONTROLLERS in used else None
    cpu_s = {name: each.cpu_s for name, each in used.items()}
    return Spent(await _written(transports), cpu_s, held)


async def _written(transports: Mapping[str, Transport]) -> Counter[str]:
    """What was written to servers, by what they counted."""
    counted = Counter[str]()
    for name, transport in transports.items():
        metrics = await whole(await transport.send(Request("GET", "/metrics")))
        for each in writes(metrics.body.decode()):
            if where := _where(each, is_member=bool(name)):
                counted[f"{where} {each}"] += each.count
    return counted


def _where(made: Written, *, is_member: bool) -> str:
    """As what a write counts; not at all if it is the user's, or of a member's own controllers."""
    if is_member:
        ours = made.resource == "deployments" and not made.subresource
        return MEMBERS if ours and made.verb != "PUT" else ""
    if made.resource == "events":
        return EVENTS
    return "" if (made.verb, made.resource) == ("POST", "deployments") else PLANE


async def _unchanged(count: Callable[[], Awaitable[int]], pause_s: float) -> None:
    """Until nothing was counted for a while."""
    before = -1
    while before != (before := await count()):
        await asyncio.sleep(pause_s)


async def _clear(user: ApiClient, mirrors: Mapping[str, Mirror]) -> None:
    """Delete what the bench made, and wait until no member has any of it."""
    left = iter([wire for wire in mirrors[""] if wire["metadata"]["name"].startswith(PREFIX)])

    async def client() -> None:
        for wire in left:
            with suppress(Missing):
                await user.delete(DEPLOYMENTS, wire)

    await asyncio.gather(*(client() for _ in range(_CLEARERS)))
    policies, _ = await user.list(POLICIES)
    for policy in policies:
        if policy["metadata"]["name"].startswith(PREFIX):
            await user.delete(POLICIES, policy)
    async with asyncio.timeout(600):
        while any(_ours(mirror) for mirror in mirrors.values()):
            await asyncio.sleep(_SETTLE_S)


def _ours(mirror: Mirror) -> bool:
    return any(wire["metadata"]["name"].startswith(PREFIX) for wire in mirror)
