"""A mirror follows a collection of a real server, in process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from atoll.apiserver.authentication import MASTERS
from atoll.client.api import ApiClient, Collection, Missing, Stale, Taken
from atoll.client.inprocess import InProcess
from atoll.client.mirror import Mirror
from atoll.effects import system_effects
from atoll.exchange import Peer, Request, Response
from atoll.main import build, run
from atoll.runtime.children import Children
from atoll.store.memory import MemoryLog

CONFIGMAPS = Collection("v1", "ConfigMap", "configmaps", namespaced=True)


@asynccontextmanager
async def way_to_plane() -> AsyncIterator[InProcess]:
    effects = system_effects()
    built = build(effects, MemoryLog())
    async with AsyncExitStack() as stack:
        await run(built, effects, stack)
        yield InProcess(built.server.handle, Peer("admin", (MASTERS,)))


@asynccontextmanager
async def plane() -> AsyncIterator[ApiClient]:
    async with way_to_plane() as through:
        yield ApiClient(through)


def configmap(name: str, **data: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": name},
        "data": data,
    }


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not holds():
            await asyncio.sleep(0.001)


def names(mirror: Mirror) -> set[str]:
    return {wire["metadata"]["name"] for wire in mirror if wire["metadata"]["name"][:4] != "kube"}


def test_it_has_what_was_there_and_what_comes_and_goes() -> None:
    async def story() -> None:
        async with plane() as api, Children("test") as children:
            await api.create(CONFIGMAPS, configmap("first"))
            mirror = Mirror(api, CONFIGMAPS)
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            assert names(mirror) == {"first"}
            second = await api.create(CONFIGMAPS, configmap("second"))
            await until(lambda: names(mirror) == {"first", "second"})
            await api.replace(CONFIGMAPS, {**second, "data": {"a": "b"}})
            await until(lambda: (mirror.get("default", "second") or {}).get("data") == {"a": "b"})
            await api.delete(CONFIGMAPS, second)
            await until(lambda: names(mirror) == {"first"})

    asyncio.run(story())


def test_listeners_are_told_what_was_before_and_what_is_now() -> None:
    async def story() -> None:
        async with plane() as api, Children("test") as children:
            mirror, told = Mirror(api, CONFIGMAPS), []
            mirror.listen(lambda before, after: told.append((before, after)))
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            told.clear()
            made = await api.create(CONFIGMAPS, configmap("x"))
            await until(lambda: len(told) == 1)
            changed = await api.replace(CONFIGMAPS, {**made, "data": {"k": "v"}})
            await api.delete(CONFIGMAPS, changed)
            await until(lambda: len(told) == 3)
            data = [tuple(each and each.get("data") for each in pair) for pair in told]
            assert data == [(None, None), (None, {"k": "v"}), ({"k": "v"}, None)]

    asyncio.run(story())


def test_a_listener_that_fails_keeps_nobody_from_being_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(before: object, after: object) -> None:
        raise ValueError("too odd for me")

    async def story() -> list[str]:
        async with plane() as api, Children("test") as children:
            mirror, told = Mirror(api, CONFIGMAPS), list[str]()
            mirror.listen(fail)
            mirror.listen(lambda before, after: told.append((after or before)["metadata"]["name"]))
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            for name in ("x", "y"):
                await api.create(CONFIGMAPS, configmap(name))
            await until(lambda: mirror.get("default", "y") is not None)
            return told

    assert {"x", "y"} <= set(asyncio.run(story()))
    assert any(
        "ConfigMap default/x failed: ValueError: too odd" in each for each in caplog.messages
    )


def test_what_was_just_written_is_known_at_once_and_nothing_older_replaces_it() -> None:
    async def story() -> None:
        async with plane() as api:
            mirror = Mirror(api, CONFIGMAPS)
            made = await api.create(CONFIGMAPS, configmap("x"))
            changed = await api.replace(CONFIGMAPS, {**made, "data": {"k": "v"}})
            mirror.learn(changed)
            mirror.learn(made)
            assert mirror.get("default", "x") == changed

    asyncio.run(story())


class Held:
    """A way to a server on which watches wait until they are let go."""

    def __init__(self, inner: InProcess) -> None:
        self.inner, self.free = inner, asyncio.Event()

    async def send(self, request: Request) -> Response:
        if "watch=" in request.query:
            await self.free.wait()
        return await self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


def test_what_is_known_to_be_gone_does_not_come_back_by_what_a_late_watch_tells() -> None:
    async def story() -> None:
        async with way_to_plane() as through, Children("test") as children:
            api, way = ApiClient(through), Held(through)
            gone = await api.create(CONFIGMAPS, configmap("x"))
            mirror, told = Mirror(ApiClient(way), CONFIGMAPS), []
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            gone = await api.replace(CONFIGMAPS, {**gone, "data": {"k": "v"}})
            await api.delete(CONFIGMAPS, gone)
            mirror.forget(gone)
            assert names(mirror) == set()
            mirror.listen(lambda _before, after: told.append((after or {}).get("data")))
            again = await api.create(CONFIGMAPS, configmap("x", a="b"))
            way.free.set()
            await until(lambda: names(mirror) == {"x"})
            assert told == [{"a": "b"}]
            mirror.forget(gone)
            assert mirror.get("default", "x") == without_owners(again)

    asyncio.run(story())


def without_owners(wire: dict) -> dict:
    kept = {key: value for key, value in wire["metadata"].items() if key != "managedFields"}
    return {**wire, "metadata": kept}


def test_refusals_are_raised_by_what_they_mean() -> None:
    async def story() -> None:
        async with plane() as api:
            made = await api.create(CONFIGMAPS, configmap("x"))
            with pytest.raises(Taken):
                await api.create(CONFIGMAPS, configmap("x"))
            await api.replace(CONFIGMAPS, {**made, "data": {"k": "v"}})
            with pytest.raises(Stale):
                await api.replace(CONFIGMAPS, {**made, "data": {"k": "other"}})
            with pytest.raises(Missing):
                await api.replace(CONFIGMAPS, {**configmap("none")})
            other = {**made, "metadata": {**made["metadata"], "uid": "another"}}
            with pytest.raises(Stale):
                await api.delete(CONFIGMAPS, other)

    asyncio.run(story())


def test_objects_are_found_by_what_they_are_filed_under() -> None:
    def letters(wire: dict) -> list[str]:
        return list((wire.get("data") or {}).get("letters", ""))

    async def story() -> None:
        async with plane() as api:
            mirror = Mirror(api, CONFIGMAPS)
            one = await api.create(CONFIGMAPS, configmap("one", letters="ab"))
            mirror.learn(one)
            assert mirror.by(letters, "a") == mirror.by(letters, "b") == [one]
            two = await api.create(CONFIGMAPS, configmap("two", letters="b"))
            mirror.learn(two)
            assert mirror.by(letters, "b") == [one, two]
            changed = await api.replace(CONFIGMAPS, {**one, "data": {"letters": "c"}})
            mirror.learn(changed)
            assert (mirror.by(letters, "a"), mirror.by(letters, "b")) == ([], [two])
            mirror.forget(one)
            assert mirror.by(letters, "c") == []

    asyncio.run(story())


class Refusing:
    """A way to a server that says no to the first few requests."""

    def __init__(self, inner: InProcess, times: int) -> None:
        self.inner, self.left = inner, times

    async def send(self, request: Request) -> Response:
        if self.left:
            self.left -= 1
            return Response(500, {}, b'{"reason": "InternalError", "message": "not now"}')
        return await self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


def test_a_server_that_says_no_for_a_while_is_asked_again() -> None:
    async def story() -> None:
        async with way_to_plane() as through, Children("test") as children:
            await ApiClient(through).create(CONFIGMAPS, configmap("first"))
            mirror = Mirror(ApiClient(Refusing(through, times=1)), CONFIGMAPS)
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            assert names(mirror) == {"first"}

    asyncio.run(story())


def test_who_owns_which_field_is_left_out_and_not_lost_by_writing_back() -> None:
    async def story() -> None:
        async with plane() as api, Children("test") as children:
            made = await api.create(CONFIGMAPS, configmap("x", a="1"))
            assert made["metadata"]["managedFields"]
            mirror = Mirror(api, CONFIGMAPS)
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            seen = mirror.get("default", "x") or {}
            assert "managedFields" not in seen["metadata"]
            await api.replace(
                CONFIGMAPS, {**seen, "metadata": {**seen["metadata"], "labels": {"a": "b"}}}
            )
            stored = await api.get(CONFIGMAPS.path("default", "x"))
            assert "f:data" in stored["metadata"]["managedFields"][0]["fieldsV1"]

    asyncio.run(story())


def test_it_lags_from_a_write_until_the_watch_has_come_to_it() -> None:
    async def story() -> None:
        async with plane() as api, Children("test") as children:
            mirror = Mirror(api, CONFIGMAPS)
            assert mirror.lag_s() == 0.0
            mirror.learn(await api.create(CONFIGMAPS, configmap("ahead")))
            await until(lambda: mirror.lag_s() >= 0.05)
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            known = mirror.lag_s()
            assert known >= 0.05
            await asyncio.sleep(0.01)
            assert mirror.lag_s() == known, "it is over, and does not grow"

    asyncio.run(story())
