"""A member cluster without machines: an API server over a store of its own, nodes, and a keeper.

`build` puts it together and starts nothing. `running` runs members for the length of a block; or a
supervisor of someone else runs `store.run`, then awaits `start`, then runs `services`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.admission import Kinds
from atoll.apiserver.assembly import Assembly, Service, assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.resource import Branch
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.effects import Effects
from atoll.exchange import Peer
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.budgets import Budgets
from atoll.simulated.commands import PodCommands
from atoll.simulated.fleets import Pool
from atoll.simulated.keeping import Keeper, Pace
from atoll.simulated.logs import PodLogs
from atoll.simulated.nodes import FLEET, fleet_nodes
from atoll.store.log import Log
from atoll.store.memory import MemoryLog
from atoll.store.store import Store

ADMINISTRATOR = Peer("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True)
class Member:
    """One simulated cluster, and the way to it as an administrator of it."""

    name: str
    effects: Effects
    store: Store
    server: Assembly
    keeper: Keeper
    budgets: Budgets
    transport: Transport
    fleet: tuple[Pool, ...]

    @property
    def services(self) -> dict[str, Service]:
        """What must run for it once it has started, next to its store."""
        own = {"disruption budgets": self.budgets.run}
        return self.server.services | self.keeper.services | own

    async def start(self) -> None:
        """Make what every cluster has, and the nodes of this one. The store must be running."""
        await self.server.start()
        await self.keeper.load(fleet_nodes(self.fleet, self.server.api.timestamp()))
        self.budgets.load()


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
    logs = Branch("log", "Pod", PodLogs(store, effects).serve)
    branches = (logs, *PodCommands(store, effects).branches())
    kinds = Kinds(branches={("", "pods"): branches})
    server = assemble(store, effects, kinds=kinds, signing=signing, runs_pods=True)
    keeper = Keeper(server.api, pace or Pace())
    budgets = Budgets(server.api, keeper.hosts.census)
    store.listen(keeper.follow)
    store.listen(budgets.follow)
    transport = InProcess(server.handle, ADMINISTRATOR)
    return Member(name, effects, store, server, keeper, budgets, transport, tuple(fleet))


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
