"""A cluster that pulls: its agent does the work, and the plane never speaks to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from sites import PATIENCE_S, until
from test_pipeline import NGINX, deployment, policy
from whole import ADMINISTRATOR, QUICK, Whole, by_name, served

from atoll.agent.attending import attending
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.control.hub import CLUSTER, Hub
from atoll.control.running import controlling
from atoll.effects import system_effects
from atoll.exchange import Request, Response
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.tracing.tracer import Tracer
from simulation.enrolling import enrol
from simulation.link import LinkedMember, build

FAR = Ref(CLUSTER, "Cluster", "", "far")
SILENT = replace(
    QUICK, cluster_lease_duration=4.0, cluster_monitor_grace_period=3.0, cluster_monitor_period=0.5
)


class Noted:
    """A way that notes what was asked."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.asked: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        return await self._inner.send(request)

    async def close(self) -> None:
        await self._inner.close()


@dataclass
class Far:
    """A plane with a Cluster that pulls, the cluster itself, and no agent yet."""

    it: Whole
    member: LinkedMember
    plane: Transport

    def agent(
        self, way: Transport | None = None, tracer: Tracer | None = None
    ) -> AbstractAsyncContextManager[Hub]:
        """An agent of the cluster, as a process of its own would be: with ways of its own."""
        inside = InProcess(self.member.server.handle, ADMINISTRATOR)
        effects = system_effects()
        plane = way or self.plane
        return attending("far", plane, inside, effects, times=SILENT, tracer=tracer)


@asynccontextmanager
async def pulled(tracer: Tracer | None = None) -> AsyncIterator[Far]:
    effects = system_effects()
    member = build("far", effects)
    async with asyncio.timeout(4 * PATIENCE_S), AsyncExitStack() as stack:
        await stack.enter_async_context(running(member))
        plane = await stack.enter_async_context(served(MemoryLog(), effects))
        nobody = by_name({})
        hub = await stack.enter_async_context(
            controlling(plane, effects, reach=nobody, times=SILENT, tracer=tracer)
        )
        it = Whole(hub, {})
        space = {"metadata": {"name": "karmada-cluster"}, "apiVersion": "v1", "kind": "Namespace"}
        await it.create(space)
        await enrol(hub, "far", {"syncMode": "Pull"})
        yield Far(it, member, plane)


def _condition(it: Whole) -> str:
    cluster = it.hub.plane.find(FAR) or {}
    for each in (cluster.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready":
            return str(each["status"])
    return ""


def _ready(hub: Hub) -> bool:
    cluster = hub.cluster("far")
    return cluster is not None and cluster.ready is True and not cluster.taints


def test_an_agent_delivers_reports_and_is_all_that_speaks_to_its_cluster() -> None:
    async def main() -> None:
        async with pulled() as far:
            it, way = far.it, Noted(far.plane)
            async with far.agent(way) as agent:
                await until(lambda: _ready(it.hub))
                await it.create(deployment(3))
                await it.create(policy("far"))
                await until(
                    lambda: (
                        (it.hub.plane.find(NGINX) or {}).get("status", {}).get("readyReplicas") == 3
                    ),
                )
                assert "far" not in it.hub.sites
                assert agent.sites["far"].find(NGINX) is not None
            works = [each.path for each in way.asked if "/works" in each.path]
            assert works
            assert all("/namespaces/karmada-es-far/" in each for each in works)
            lists = [each for each in way.asked if each.path.endswith("/clusters")]
            assert lists
            assert all("metadata.name%3Dfar" in each.query for each in lists)

    asyncio.run(main())


def test_a_cluster_whose_agent_is_silent_is_unknown_and_comes_back_with_it() -> None:
    async def main() -> None:
        async with pulled() as far:
            it = far.it
            async with far.agent():
                await until(lambda: _ready(it.hub))
                assert _condition(it) == "True"
            await until(lambda: _condition(it) == "Unknown")
            async with far.agent():
                await until(lambda: _ready(it.hub))
                assert _condition(it) == "True"

    asyncio.run(main())


def test_an_agent_that_starts_again_deletes_nothing_that_is_still_wanted() -> None:
    async def main() -> None:
        async with pulled() as far:
            it = far.it
            async with far.agent() as agent:
                await until(lambda: _ready(it.hub))
                await it.create(deployment(1))
                await it.create(policy("far"))
                await until(lambda: agent.sites["far"].find(NGINX) is not None)
                found = agent.sites["far"].find(NGINX)
            await it.change(NGINX, replicas=2)
            async with far.agent() as agent:
                await until(lambda: "far" in agent.sites)

                def scaled() -> bool:
                    now = agent.sites["far"].find(NGINX)
                    return now is not None and now["spec"]["replicas"] == 2

                await until(scaled)
                now = agent.sites["far"].find(NGINX)
                assert found is not None
                assert now is not None
                assert now["metadata"]["uid"] == found["metadata"]["uid"]

    asyncio.run(main())
