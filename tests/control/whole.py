"""A whole plane with simulated members, in one process, with all controllers running."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sites import until

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Stale
from atoll.client.inprocess import InProcess
from atoll.client.mirror import Listener
from atoll.client.transport import Transport
from atoll.config import NO_ESTIMATORS, EstimatorChoice, Times
from atoll.control.hub import Hub
from atoll.control.recording import Recording
from atoll.control.running import USUAL_SOURCES, controlling
from atoll.dialects.policy_source import PolicySource
from atoll.effects import Effects, system_effects
from atoll.exchange import Peer
from atoll.main import Plane, run
from atoll.members.ways import Reach
from atoll.model.action import PLANE, Ref
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.scheduling.setting import Setting
from atoll.simulated.member import running
from atoll.store.log import Log
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.tracing.tracer import Tracer
from atoll.wire import Object
from simulation.enrolling import enrol
from simulation.link import LinkedMember, build

ADMINISTRATOR = Peer("admin", (MASTERS,))
QUICK = Times(
    cluster_status_update_frequency=1.0,
    cluster_failure_threshold=2.0,
    cluster_success_threshold=1.0,
)
"""For tests, so that what becomes of clusters is believed while one looks."""


def by_name(members: Mapping[str, LinkedMember]) -> Reach:
    """The ways to members in this process, whatever their Clusters say of addresses."""

    def reach(cluster: Object, _secret: Object | None) -> Transport:
        return members[cluster["metadata"]["name"]].transport

    return reach


@dataclass
class Whole:
    hub: Hub
    members: dict[str, LinkedMember]

    @property
    def api(self) -> ApiClient:
        return self.hub.plane.api

    async def create(self, wire: dict[str, Any]) -> dict[str, Any]:
        plane = self.hub.plane
        return await plane.api.create(plane.collection(wire["apiVersion"], wire["kind"]), wire)

    async def replace(self, wire: dict[str, Any]) -> dict[str, Any]:
        plane = self.hub.plane
        return await plane.api.replace(plane.collection(wire["apiVersion"], wire["kind"]), wire)

    async def change(self, ref: Ref, at: str = PLANE, **spec: Any) -> None:
        """Write into the spec of an object here or in a member, on whatever it says by then."""
        site = self.hub.sites[at]
        collection = site.collection(ref.api_version, ref.kind)
        while True:
            wire = await site.api.get(collection.path(ref.namespace, ref.name))
            with suppress(Stale):
                await site.api.replace(collection, {**wire, "spec": {**wire["spec"], **spec}})
                return

    def hear(self, api_version: str, kind: str, listener: Listener) -> None:
        """Be told of every change of a kind, after the controllers."""
        mirror = self.hub.plane.mirrored(api_version, kind)
        assert mirror is not None
        mirror.listen(listener)

    async def delete(self, wire: dict[str, Any]) -> None:
        plane = self.hub.plane
        await plane.api.delete(plane.collection(wire["apiVersion"], wire["kind"]), wire)


@asynccontextmanager
async def whole(
    names: Sequence[str],
    log: Log | None = None,
    effects: Effects | None = None,
    gates: str = "",
    estimators: EstimatorChoice = NO_ESTIMATORS,
    *,
    sources: Sequence[PolicySource] = USUAL_SOURCES,
    tracer: Tracer | None = None,
    recording: Recording | None = None,
) -> AsyncIterator[Whole]:
    effects = effects or system_effects()
    members = {name: build(name, effects) for name in names}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(*members.values()))
        yield await stack.enter_async_context(
            plane_over(
                *(members, log or MemoryLog(), effects, gates),
                estimators=estimators,
                sources=sources,
                tracer=tracer,
                recording=recording,
            )
        )


@asynccontextmanager
async def served(log: Log, effects: Effects) -> AsyncIterator[InProcess]:
    """The API server of a plane over a log, and no controllers."""
    async with AsyncExitStack() as stack:
        store = Store.open(log)
        server = assemble(store, effects, kinds=plane_kinds(effects))
        await run(Plane(store, server), effects, stack)
        yield InProcess(server.handle, ADMINISTRATOR)


@asynccontextmanager
async def plane_over(
    members: dict[str, LinkedMember],
    log: Log,
    effects: Effects,
    gates: str = "",
    way: Callable[[Transport], Transport] = lambda transport: transport,
    *,
    estimators: EstimatorChoice = NO_ESTIMATORS,
    sources: Sequence[PolicySource] = USUAL_SOURCES,
    tracer: Tracer | None = None,
    recording: Recording | None = None,
) -> AsyncIterator[Whole]:
    """A plane over a log, with members that go on by themselves when it ends.

    `way` may put something between the controllers and the API server.
    """
    async with AsyncExitStack() as stack:
        transport = await stack.enter_async_context(served(log, effects))
        setting = Setting(Features.of(gates, PLANE_USUAL))
        hub = await stack.enter_async_context(
            controlling(
                way(transport),
                effects,
                setting=setting,
                reach=by_name(members),
                times=QUICK,
                estimators=estimators,
                sources=sources,
                tracer=tracer,
                recording=recording,
            )
        )
        for name in members:
            await enrol(hub, name, {"region": "here", "provider": "sim"})
        await until(lambda: {*members} <= {*hub.sites})
        it = Whole(hub, members)
        reached = [each.name for each in members.values() if not each.transport.is_cut]
        await until(lambda: all(_is_open(it, each) for each in reached))
        yield it


def _is_open(it: Whole, name: str) -> bool:
    """Whether a cluster is known to be ready, and takes what is new."""
    cluster = it.hub.cluster(name)
    return cluster is not None and cluster.ready is True and not cluster.taints
