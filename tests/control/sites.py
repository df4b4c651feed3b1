"""Planes and members of ours, in process, for controllers to work on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from atoll.apiserver.authentication import MASTERS
from atoll.client.inprocess import InProcess
from atoll.control.performing import Performer
from atoll.control.site import Site
from atoll.effects import Effects, system_effects
from atoll.exchange import Peer
from atoll.main import build, run
from atoll.runtime.children import Children
from atoll.store.memory import MemoryLog

POLICY, APPS = "policy.karmada.io/v1alpha1", "apps.karmada.io/v1alpha1"
PATIENCE_S = 120.0  # what comes to be does so at once, except on a machine that others use too


@dataclass
class Scene:
    """Servers by name; the plane has none."""

    sites: dict[str, Site]
    performer: Performer
    children: Children
    effects: Effects


@asynccontextmanager
async def scene(*members: str, effects: Effects | None = None) -> AsyncIterator[Scene]:
    effects = effects or system_effects()
    async with AsyncExitStack() as stack:
        children = await stack.enter_async_context(Children("scene"))
        sites: dict[str, Site] = {}
        for name in ("", *members):
            built = build(effects, MemoryLog())
            await run(built, effects, stack)
            transport = InProcess(built.server.handle, Peer("admin", (MASTERS,)))
            sites[name] = Site(name, transport, children)
            await sites[name].directory.read()
        yield Scene(sites, Performer(sites, effects.now, effects.chance), children, effects)
        await children.cancel()


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.001)
