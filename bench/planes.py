"""A whole plane with simulated members in this process, and a count of what is written where.

All controllers run, as in the product; pods need no time to start. Writes of the members' own
controllers are not counted: they stand for other machines.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.controllers.admitting import admit, report
from atoll.controllers.hub import Hub
from atoll.controllers.running import start
from atoll.effects import Effects, system_effects
from atoll.exchange import Peer, Request, Response
from atoll.main import Plane, run
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.simulated.member import build, running
from atoll.simulated.summary import summary
from atoll.store.memory import MemoryLog
from atoll.store.store import Store

ADMINISTRATOR = Peer("bench", (MASTERS,))
PLANE, EVENTS, MEMBERS = "plane", "events", "members"


class Counted:
    """A transport that counts the writes that go through it."""

    def __init__(self, inner: Transport, name: str, writes: Counter[str]) -> None:
        self._inner = inner
        self._name = name
        self._writes = writes

    async def send(self, request: Request) -> Response:
        if request.method != "GET":
            is_event = request.method == "POST" and request.path.endswith("/events")
            self._writes[EVENTS if is_event else self._name] += 1
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


@dataclass(frozen=True, slots=True)
class Embedded:
    """A plane with its members, what its controllers wrote, and the way in for users."""

    hub: Hub
    writes: Counter[str]
    user: ApiClient

    async def create(self, wire: dict[str, Any]) -> dict[str, Any]:
        collection = self.hub.plane.collection(wire["apiVersion"], wire["kind"])
        return await self.user.create(collection, wire)

    async def replace(self, wire: dict[str, Any]) -> dict[str, Any]:
        collection = self.hub.plane.collection(wire["apiVersion"], wire["kind"])
        return await self.user.replace(collection, wire)


@asynccontextmanager
async def embedded(names: Sequence[str]) -> AsyncIterator[Embedded]:
    """A plane in memory with members of these names, ready for templates."""
    effects, writes = system_effects(), Counter[str]()
    members = {name: build(name, effects) for name in names}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(*members.values()))
        handler = await _served(effects, stack)
        children = await stack.enter_async_context(Children("hub"))
        hub = Hub(Counted(handler, PLANE, writes), effects, children)
        services = await start(hub)
        supervisor = await stack.enter_async_context(Supervisor("controllers", effects.chance))
        for service, work in services.items():
            supervisor.start(service, work)
        for name, member in members.items():
            await admit(hub, name, Counted(member.transport, MEMBERS, writes))
            children.spawn(report(hub, name, partial(summary, member)), name)
            await hub.sites[name].follow("apps/v1", "Deployment")
        yield Embedded(hub, writes, ApiClient(handler))
        await children.cancel()


async def _served(effects: Effects, stack: AsyncExitStack) -> Transport:
    store = Store.open(MemoryLog())
    server = assemble(store, effects, kinds=plane_kinds(effects))
    await run(Plane(store, server), effects, stack)
    return InProcess(server.handle, ADMINISTRATOR)
