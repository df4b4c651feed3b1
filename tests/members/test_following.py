"""Nodes and pods of a real server in process are followed through whatever happens to the way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest

from atoll.apiserver.authentication import MASTERS
from atoll.client.api import ApiClient, Collection
from atoll.client.inprocess import InProcess
from atoll.effects import system_effects
from atoll.exchange import Peer, Request, Response
from atoll.main import build, run
from atoll.members.following import NODES, PODS, Observation
from atoll.runtime.children import Children
from atoll.store.memory import MemoryLog
from simulation.link import Link

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


class Way:
    """A way that counts the lists that go over it, and may have lost all history."""

    def __init__(self, inner: InProcess) -> None:
        self.inner = inner
        self.lists: dict[str, int] = {}
        self.has_no_history = False

    async def send(self, request: Request) -> Response:
        if "watch=1" not in request.query:
            self.lists[request.path] = self.lists.get(request.path, 0) + 1
        elif self.has_no_history:
            return Response(410, {}, orjson.dumps(GONE))
        return await self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Scene:
    """A client that writes, the way of the one who follows, and what it sees."""

    api: ApiClient
    way: Way
    link: Link
    seen: Observation


@asynccontextmanager
async def followed() -> AsyncIterator[Scene]:
    """A server with a node and a pod, and one who follows what becomes of them."""
    effects = system_effects()
    built = build(effects, MemoryLog())
    async with AsyncExitStack() as stack:
        await run(built, effects, stack)
        direct = InProcess(built.server.handle, Peer("admin", (MASTERS,)))
        api = ApiClient(direct)
        await api.create(NODES, node("first"))
        await api.create(PODS, pod("first", "first"))
        way = Way(direct)
        link = Link("east", way, effects.now)
        seen = Observation(ApiClient(link), "cluster east")
        children = await stack.enter_async_context(Children("following"))
        for each in seen.followings:
            children.spawn(each.run(), each.name)
        await seen.until_complete()
        yield Scene(api, way, link, seen)
        await children.cancel()


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def pod(name: str, on: str = "") -> dict[str, Any]:
    container = {"name": "main", "image": "web", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container]} | ({"nodeName": on} if on else {}),
    }


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not holds():
            await asyncio.sleep(0.001)


async def remove(api: ApiClient, collection: Collection, name: str) -> None:
    """Delete an object at once, as a kubelet ends a pod."""
    wire = await api.get(collection.path("default", name))
    lingering = await api.delete(collection, wire)
    if lingering is not None:
        await api.delete(collection, lingering)


def test_what_is_there_comes_and_goes_is_counted() -> None:
    async def story() -> None:
        async with followed() as scene:
            api, seen = scene.api, scene.seen
            assert seen.complete
            assert dict(seen.columns.summary().allocated) == {"cpu": 1000, "pods": 1}
            await api.create(NODES, node("second"))
            await api.create(PODS, pod("waiting"))
            await until(lambda: set(seen.columns.nodes) == {"first", "second"})
            await until(lambda: dict(seen.columns.summary().allocating) == {"cpu": 1000, "pods": 1})
            await remove(api, NODES, "second")
            await until(lambda: set(seen.columns.nodes) == {"first"})

    asyncio.run(story())


def test_a_watch_that_breaks_off_goes_on_where_it_was_without_listing_anew() -> None:
    async def story() -> None:
        async with followed() as scene:
            listed = dict(scene.way.lists)
            scene.link.cut()
            await scene.api.create(PODS, pod("meanwhile", "first"))
            scene.link.heal()
            await until(lambda: "default/meanwhile" in scene.seen.columns.pods)
            assert scene.way.lists == listed

    asyncio.run(story())


def test_history_that_is_gone_is_made_up_for_by_a_list() -> None:
    async def story() -> None:
        async with followed() as scene:
            way, seen = scene.way, scene.seen
            scene.link.cut()
            await scene.api.create(NODES, node("second"))
            await remove(scene.api, NODES, "first")
            way.has_no_history = True
            scene.link.heal()
            await until(lambda: way.lists[NODES.path()] > 1)
            way.has_no_history = False
            await until(lambda: set(seen.columns.nodes) == {"second"})
            await scene.api.create(NODES, node("third"))
            await until(lambda: "third" in seen.columns.nodes)
            assert set(seen.columns.nodes) == {"second", "third"}

    asyncio.run(story())


def test_one_odd_object_is_left_out_and_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Way):
        async def send(self, request: Request) -> Response:
            response = await super().send(request)
            if request.path == NODES.path() and response.stream is None:
                content = orjson.loads(response.body)
                odd = {"metadata": {"name": "odd"}, "status": {"allocatable": {"cpu": "much"}}}
                content["items"] = [odd, *content["items"]]
                return replace(response, body=orjson.dumps(content))
            return response

    async def story() -> list[str]:
        async with followed() as scene, Children("odd") as children:
            seen = Observation(ApiClient(Odd(scene.way.inner)), "cluster east")
            for each in seen.followings:
                children.spawn(each.run(), each.name)
            await seen.until_complete()
            return list(seen.columns.nodes)

    assert asyncio.run(story()) == ["first"]
    assert any("counting nodes" in each for each in caplog.messages)


def test_whoever_may_not_look_says_so_once_and_goes_on_trying(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Forbidden(Way):
        may_look = False

        async def send(self, request: Request) -> Response:
            answer = await super().send(request)
            status = {"kind": "Status", "code": 403, "message": "nodes is forbidden"}
            return answer if self.may_look else Response(403, {}, orjson.dumps(status))

    async def story() -> list[str]:
        async with followed() as scene, Children("forbidden") as children:
            way = Forbidden(scene.way.inner)
            seen = Observation(ApiClient(way), "cluster east")
            nodes, _ = seen.followings
            children.spawn(nodes.run(), nodes.name)
            await until(lambda: way.lists.get(NODES.path(), 0) >= 2)
            assert not seen.complete
            way.may_look = True
            await nodes.ready.wait()
            return list(seen.columns.nodes)

    assert asyncio.run(story()) == ["first"]
    said = [each for each in caplog.messages if "cannot be counted" in each]
    assert said == ["The nodes of cluster east cannot be counted: nodes is forbidden"]
