"""Controllers begin and members join however many requests are lost or refused on the way."""

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import orjson
import pytest
from sites import POLICY
from whole import ADMINISTRATOR

from atoll.client.api import ApiClient, Collection, Refused
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable
from atoll.control.directory import Directory
from atoll.control.hub import Hub
from atoll.control.insisting import insist
from atoll.control.running import controlling
from atoll.exchange import Request, Response
from atoll.main import build, run
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.enrolling import enrol
from simulation.link import LinkedMember
from simulation.link import build as build_member
from simulation.world import World, simulate

CRDS = Collection(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)


class Unsteady:
    """A way on which requests and answers are lost, refused, or come from something else."""

    def __init__(self, inner: Transport, seed: int, share: float = 0.3) -> None:
        self._inner = inner
        self._draw = random.Random(seed)
        self._share = share
        self.failures = 0
        self.refused = ""

    async def send(self, request: Request) -> Response:
        trouble = self._draw.choice("abcd") if self._draw.random() < self._share else ""
        self.failures += bool(trouble)
        if trouble == "a":
            raise Unreachable("the request was lost")
        if trouble == "b" or request.path == self.refused:
            return Response(503, {}, b'{"kind": "Status", "message": "try again"}')
        response = await self._inner.send(request)
        if trouble == "c" and response.stream is None:
            raise Unreachable("the answer was lost")
        if trouble == "d" and response.stream is None:
            return Response(200, {}, self._draw.choice([b"<html>", b"null", b"[1]", b'"\xff']))
        return response

    async def close(self) -> None:
        await self._inner.close()


def definition() -> dict[str, object]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "islands.example.io"},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": "islands", "kind": "Island"},
            "versions": [version],
        },
    }


def test_asking_goes_on_until_there_is_an_answer_and_pauses_longer_each_time() -> None:
    async def main(_world: World) -> list[float]:
        clock = asyncio.get_running_loop().time
        asked: list[float] = []

        async def ask() -> None:
            asked.append(round(clock(), 3))
            if len(asked) < 4:
                raise Unreachable("not yet")

        await insist("an answer", ask)
        return asked

    assert simulate(main, seed=0).value == [0.0, 0.1, 0.3, 0.7]


def test_what_is_not_to_be_outlived_is_raised() -> None:
    async def ask() -> None:
        raise Refused(403, {"message": "no"})

    with pytest.raises(Refused):
        asyncio.run(insist("an answer", ask, despite=(Unreachable,)))


def everything(api_version: str, kind: str) -> dict[str, Any]:
    """A policy for the whole cluster that sends all of a kind to m1."""
    return {
        "apiVersion": POLICY,
        "kind": "ClusterPropagationPolicy",
        "metadata": {"name": kind.lower()},
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind}],
            "placement": {"clusterAffinity": {"clusterNames": ["m1"]}},
        },
    }


async def eventually(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(600):
        while not holds():
            await asyncio.sleep(0.5)


async def life_of_a_kind(hub: Hub, user: ApiClient, member: LinkedMember) -> None:
    """A kind is defined and sent to a member, and then an object of it."""
    plane = hub.plane
    await eventually(lambda: hub.cluster("m1"))
    policies = plane.collection(POLICY, "ClusterPropagationPolicy")
    await user.create(policies, everything(CRDS.api_version, CRDS.kind))
    await user.create(policies, everything("example.io/v1", "Island"))
    await user.create(CRDS, definition())
    await eventually(lambda: plane.directory.find("example.io/v1", "Island"))
    islands = plane.collection("example.io/v1", "Island")
    motu = {"apiVersion": "example.io/v1", "kind": "Island", "metadata": {"name": "motu"}}
    motu["metadata"]["namespace"] = "default"
    await user.create(islands, motu)
    await eventually(lambda: member.store.get("islands.example.io", "default/motu"))


@pytest.mark.parametrize("seed", range(3))
def test_all_begins_and_goes_on_behind_unsteady_ways(seed: int) -> None:
    async def main(world: World) -> int:
        effects = world.effects("hub")
        plane, member = build(effects, MemoryLog()), build_member("m1", world.effects("m1"))
        async with AsyncExitStack() as stack:
            await run(plane, effects, stack)
            await stack.enter_async_context(running(member))
            inside = InProcess(plane.server.handle, ADMINISTRATOR)
            way, there = Unsteady(inside, seed), Unsteady(member.transport, seed + 100)
            hub = await stack.enter_async_context(
                controlling(way, effects, reach=lambda _cluster, _secret: there)
            )
            hub.children.spawn(enrol(hub, "m1"), "enrol")
            await life_of_a_kind(hub, ApiClient(inside), member)
        return way.failures + there.failures

    assert simulate(main, seed=seed).value > 0


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"<html>please log in</html>", id="a-page"),
        pytest.param(b"null", id="nothing"),
        pytest.param(b"[" * 5000, id="deep"),
        pytest.param(b'{"groups": [{"name": "apps"}]}', id="without-versions"),
        pytest.param(b'{"groups": [null]}', id="no-group"),
        pytest.param(b'{"groups": 7}', id="no-groups"),
        pytest.param(b'{"resources": [{"name": 3}]}', id="odd-resources"),
    ],
)
def test_kinds_are_read_as_soon_as_what_is_said_of_them_makes_sense(
    said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="atoll.control")

    async def main(_world: World) -> set[tuple[str, str]]:
        asked: set[str] = set()

        async def handle(request: Request) -> Response:
            if request.path not in asked and (request.path == "/apis" or b"groups" not in said):
                asked.add(request.path)
                return Response(200, {}, said)
            resource = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["get"]}
            return Response(200, {}, orjson.dumps({"resources": [resource]}))

        directory = Directory(ApiClient(InProcess(handle, ADMINISTRATOR)), "m1")
        assert await directory.read()
        return {(each.api_version, each.kind) for each in directory.served}

    assert simulate(main, seed=0).value == {("v1", "Pod")}
    assert all(" of m1: the answer to GET " in each for each in caplog.messages)


def test_a_group_that_is_refused_keeps_what_was_known_of_it() -> None:
    async def main(world: World) -> None:
        effects = world.effects("hub")
        plane = build(effects, MemoryLog())
        async with AsyncExitStack() as stack:
            await run(plane, effects, stack)
            way = Unsteady(InProcess(plane.server.handle, ADMINISTRATOR), 0, share=0.0)
            directory = Directory(ApiClient(way), "the plane")
            assert await directory.read()
            known = set(directory.served)
            way.refused = "/apis/apps/v1"
            assert not await directory.read()
            assert set(directory.served) == known
            assert directory.find("apps/v1", "Deployment") in directory.deletable

    simulate(main, seed=0)
