"""A plane whose clusters pull and have no agents: nobody delivers, nothing ever becomes well.

So all that is paid for is the plane's own: its API server over a log in memory, its mirrors and its
controllers. What is given away stays given away, as with a thousand Deployments of a broken image.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from atoll.apiserver.objects.times import rfc3339
from atoll.client.api import Stale
from atoll.config import USUAL_TIMES
from atoll.control.hub import CLUSTER, Hub
from atoll.control.running import controlling
from atoll.effects import Effects, system_effects
from atoll.model.action import Ref
from atoll.scheduling.features import PLANE_USUAL
from atoll.scheduling.setting import Setting
from atoll.store.log import Log
from atoll.store.memory import MemoryLog
from bench.growth import objects
from bench.growth.objects import Object
from bench.planes import PLANE, Counted, served

_CLIENTS = 16
_POLL_S = 0.1
_QUIET_S = 0.3
_NEVER_S = 1e9
SETTING = Setting(features=replace(PLANE_USUAL, PriorityBasedScheduling=True))
"""Only then does anybody look at PriorityClasses."""
TIMES = replace(
    USUAL_TIMES,
    cluster_monitor_period=_NEVER_S,
    cluster_monitor_grace_period=_NEVER_S,
    cluster_startup_grace_period=_NEVER_S,
)
"""Nobody tells of the clusters, and that is as it should be."""


@dataclass
class Bench:
    """A plane, as whoever fills and changes it sees it."""

    hub: Hub
    effects: Effects
    writes: Counter[str] = field(default_factory=Counter)

    async def make(self, wires: Iterable[Object]) -> None:
        """Create objects, by several clients at once."""
        left = iter(wires)

        async def client() -> None:
            for wire in left:
                collection = self.hub.plane.collection(wire["apiVersion"], wire["kind"])
                await self.hub.plane.api.create(collection, wire)

        await asyncio.gather(*(client() for _ in range(_CLIENTS)))

    async def change(
        self, refs: Sequence[Ref], to: Callable[[Object], Object], subresource: str = ""
    ) -> None:
        """Replace objects by what they are to become."""
        await asyncio.gather(*(self._change(each, to, subresource) for each in refs))

    async def _change(self, ref: Ref, to: Callable[[Object], Object], subresource: str) -> None:
        site = self.hub.plane
        collection = site.collection(ref.api_version, ref.kind)
        while True:
            wire = await site.api.get(collection.path(ref.namespace, ref.name))
            try:
                await site.api.replace(collection, to(wire), subresource)
                return
            except Stale:
                continue

    async def join(self, names: Sequence[str]) -> None:
        """Clusters join, and are told to be ready; until they have their place in the plane."""
        await self.make(map(objects.cluster, names))
        await self.report(names, 0)
        while not all(self._is_joined(name) for name in names):
            await asyncio.sleep(_POLL_S)

    def _is_joined(self, name: str) -> bool:
        cluster = self.hub.cluster(name)
        return cluster is not None and bool(cluster.ready)

    async def report(self, names: Sequence[str], used: int, *, ready: bool = True) -> None:
        """The agents of clusters tell how these are."""
        status = objects.cluster_status(used, rfc3339(self.effects.now()), ready=ready)
        refs = [Ref(CLUSTER, "Cluster", "", name) for name in names]
        await self.change(refs, lambda wire: {**wire, "status": status}, "status")

    async def settle(self) -> None:
        """Until nothing waits and nothing has been written for a moment."""
        quiet_since, before = time.monotonic(), self.writes.total()
        while time.monotonic() < quiet_since + _QUIET_S:
            await asyncio.sleep(_POLL_S)
            if self.writes.total() != before or any(self.hub.turns.depths().values()):
                quiet_since, before = time.monotonic(), self.writes.total()

    async def cost(self, work: Awaitable[object]) -> float:
        """CPU seconds of something, and of all that the plane does about it."""
        await self.settle()
        begun = time.process_time()
        await work
        await self.settle()
        return time.process_time() - begun


@asynccontextmanager
async def plane(log: Log | None = None) -> AsyncIterator[Bench]:
    """A plane over a log, without clusters where the log has none."""
    effects, writes = system_effects(), Counter[str]()
    async with AsyncExitStack() as stack:
        transport = Counted(await served(effects, stack, log or MemoryLog()), PLANE, writes)
        controllers = controlling(transport, effects, setting=SETTING, times=TIMES)
        hub = await stack.enter_async_context(controllers)
        yield Bench(hub, effects, writes)
