"""Bindings that are written together with where they go: once for what is asked for anew."""

import asyncio
from dataclasses import dataclass
from typing import Any

import orjson
from sites import POLICY, until
from test_explained import WEB, reported, targets, told
from test_pipeline import NGINX, deployment, policy, ready
from test_room_whole import by_room, given, health_of, large, said
from whole import Whole, plane_over

from atoll.client.transport import Transport
from atoll.effects import system_effects
from atoll.exchange import Request, Response
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.link import build

POLICY_REF = Ref(POLICY, "PropagationPolicy", "default", "nginx")
APP = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/app-deployment"
CONFLICT = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "Conflict",
    "message": "somebody else was faster",
    "code": 409,
}


def times_written(it: Whole) -> int:
    """How often what a binding asks for, or where it goes, was written."""
    generation: int = (it.hub.plane.find(WEB) or {})["metadata"]["generation"]
    return generation


def test_what_a_policy_or_a_template_asks_anew_is_written_together_with_where_it_goes() -> None:
    async def story() -> None:
        async with reported(["m1", "m2"]) as it:
            await it.create(policy("m1"))
            await it.create(deployment(4))
            await until(lambda: ready(it) == 4)
            assert (targets(it), times_written(it)) == (["m1"], 1)
            await it.change(POLICY_REF, placement=policy("m2")["spec"]["placement"])
            await until(lambda: targets(it) == ["m2"])
            assert times_written(it) == 2
            await it.change(NGINX, replicas=6)
            await until(lambda: ready(it) == 6)
            assert times_written(it) == 3
            triggers = [each["trigger"] for each in await told(it, 3)]
            assert triggers == ["duplicated", "placementChanged", "placementChanged"]

    asyncio.run(story())


@dataclass
class RefusingOnce:
    """A way to a plane that refuses the first write of a binding with so many replicas."""

    transport: Transport
    replicas: int
    refused: Any = None

    async def send(self, request: Request) -> Response:
        if (request.method, request.path) == ("PUT", APP) and self.refused is None:
            spec = orjson.loads(request.body)["spec"]
            if spec["replicas"] == self.replicas:
                self.refused = spec
                return Response(409, {"content-type": "application/json"}, orjson.dumps(CONFLICT))
        return await self.transport.send(request)

    async def close(self) -> None:
        await self.transport.close()


def test_room_for_a_binding_that_could_not_be_written_is_there_for_the_next_try() -> None:
    async def story() -> None:
        effects = system_effects()
        members = {"m1": build("m1", effects)}
        ways: list[RefusingOnce] = []

        def way(transport: Transport) -> Transport:
            ways.append(RefusingOnce(transport, 9))
            return ways[-1]

        async with (
            running(*members.values()),
            plane_over(members, MemoryLog(), effects, way=way) as it,
        ):
            await until(lambda: all(each.free for each in it.hub.fleet.clusters))
            await it.create(by_room("m1"))
            await it.create(large("app", 1))
            await until(lambda: health_of(it, "app-deployment") == ["Healthy"])
            await it.change(Ref("apps/v1", "Deployment", "default", "app"), replicas=9)
            await until(lambda: given(it) == {"m1": 9} or said(it, "app") == "Unschedulable")
            assert given(it) == {"m1": 9}
            assert ways[0].refused["clusters"] == [{"name": "m1", "replicas": 9}]

    asyncio.run(story())
