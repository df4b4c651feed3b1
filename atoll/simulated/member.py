"""A member cluster without machines: an API server over a store of its own, nodes, and a keeper.

`build` puts it together and starts nothing. `running` runs members for the length of a block; or a
supervisor of someone else runs `store.run`, then awaits `start`, then runs `services`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.assembly import Assembly, Service, assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.housekeeping.acting import call_on
from atoll.apiserver.options import WriteOptions
from atoll.apiserver.verbs.creating import create_object
from atoll.apiserver.verbs.forming import Form, formed_update
from atoll.apiserver.verbs.writing import Verdict, write
from atoll.client.inprocess import InProcess
from atoll.effects import Effects
from atoll.exchange import Peer
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.fleets import Pool
from atoll.simulated.keeping import NODES, Keeper, Pace
from atoll.simulated.link import Link
from atoll.simulated.nodes import FLEET, fleet_nodes
from atoll.store.log import Log
from atoll.store.memory import MemoryLog
from atoll.store.store import Store

Object = dict[str, Any]

ADMINISTRATOR = Peer("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True)
class Member:
    """One simulated cluster, and the way to it as an administrator of it."""

    name: str
    effects: Effects
    store: Store
    server: Assembly
    keeper: Keeper
    transport: Link
    fleet: tuple[Pool, ...]

    @property
    def services(self) -> dict[str, Service]:
        """What must run for it once it has started, next to its store."""
        return self.server.services | self.keeper.services

    async def start(self) -> None:
        """Make what every cluster has, and the nodes of this one. The store must be running."""
        await self.server.start()
        for node in fleet_nodes(self.fleet, self.server.api.timestamp()):
            await self._register(node)
        self.keeper.load()

    def kill(self) -> None:
        """From now on nobody reaches it: requests and watches fail. It goes on by itself."""
        self.transport.cut()

    def heal(self) -> None:
        """It is reached again, at full speed."""
        self.transport.heal()

    def slow(self, seconds: float) -> None:
        """Every answer takes this much longer."""
        self.transport.slow(seconds)

    async def _register(self, node: Object) -> None:
        """Create a node that is not there, and say what it offers."""
        api, name = self.server.api, node["metadata"]["name"]
        resource = api.catalog.of_collection(NODES)
        assert resource is not None, "nodes are always served"
        if api.store.get(NODES, name) is not None:
            return
        call, options = call_on(resource, "", name), WriteOptions(field_manager="kubelet")
        await create_object(Form(api, call, options), node)
        form = Form(api, call.on("status"), options)

        def decide(old: Object | None) -> Verdict:
            assert old is not None, "nobody else is there yet to delete it"
            return formed_update(form, {**old, "status": node["status"]}, old)

        await write(api, resource, name, decide)


def build(
    name: str,
    effects: Effects,
    *,
    log: Log | None = None,
    fleet: Sequence[Pool] = FLEET,
    pace: Pace | None = None,
    signing: Signing | None = None,
) -> Member:
    """Put a member together over a log, in memory where none is given. Nothing runs yet."""
    store = Store.open(log or MemoryLog())
    server = assemble(store, effects, signing=signing, runs_pods=True)
    keeper = Keeper(server.api, pace or Pace())
    store.listen(keeper.follow)
    transport = Link(name, InProcess(server.handle, ADMINISTRATOR), effects.now)
    return Member(name, effects, store, server, keeper, transport, tuple(fleet))


@asynccontextmanager
async def running(*members: Member) -> AsyncIterator[None]:
    """Run these members for the length of the block; at its end their stores stop last."""
    async with AsyncExitStack() as stack:
        for member in members:
            stores = Supervisor(f"store of {member.name}", member.effects.chance)
            await stack.enter_async_context(stores)
            stores.start("commits", member.store.run)
            stack.push_async_callback(member.store.close)
            services = Supervisor(member.name, member.effects.chance)
            await stack.enter_async_context(services)
            await member.start()
            for name, service in member.services.items():
                services.start(name, service)
        yield
