"""Values of a collection: read once in each version, filed, and told in pairs."""

import asyncio
from typing import Any, NamedTuple

from test_mirror import CONFIGMAPS, configmap, plane, until

from atoll.client.informer import Informer
from atoll.client.mirror import Mirror
from atoll.runtime.children import Children
from atoll.wire import Wire


class Value(NamedTuple):
    name: str
    color: str
    before: str | None


class Reading:
    """A decoder that counts."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, wire: Wire, before: Value | None) -> Value:
        name, color = wire["metadata"]["name"], wire.get("data", {}).get("color", "")
        self.read.append(f"{name} {color}")
        return Value(name, color, None if before is None else before.color)


def _by_color(value: Value) -> list[str]:
    return [value.color]


def test_each_version_is_read_once_however_often_it_is_asked_for_and_told_as_a_pair() -> None:
    async def story() -> None:
        async with plane() as api, Children("test") as children:
            mirror, reading = Mirror(api, CONFIGMAPS), Reading()
            informer = Informer(mirror, reading)
            told: list[tuple[Any, Any]] = []

            def listen(before: Wire | None, after: Wire | None) -> None:
                pair = [None if each is None else informer.value(each) for each in (before, after)]
                told.append((pair[0], pair[1]))

            mirror.listen(listen)
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            stored = await api.create(CONFIGMAPS, configmap("sky", color="grey"))
            mirror.learn(stored)
            assert informer.by(_by_color, "grey") == [Value("sky", "grey", None)]
            mirror.learn(await api.replace(CONFIGMAPS, {**stored, "data": {"color": "blue"}}))
            assert informer.get("default", "sky") == Value("sky", "blue", "grey")
            assert not informer.by(_by_color, "grey")
            assert [each.name for each in informer.by(_by_color, "blue")] == ["sky"]
            await api.delete(CONFIGMAPS, stored)
            await until(lambda: informer.get("default", "sky") is None)
            assert not informer.by(_by_color, "blue")
            of_sky = [each for each in told if "sky" in {one.name for one in each if one}]
            grey, blue = Value("sky", "grey", None), Value("sky", "blue", "grey")
            assert of_sky == [(None, grey), (grey, blue), (blue, None)]
            assert [each for each in reading.read if each[:3] == "sky"] == ["sky grey", "sky blue"]
            await children.cancel()

    asyncio.run(story())


def test_what_was_there_before_is_read_too() -> None:
    async def story() -> None:
        async with plane() as api, Children("test") as children:
            await api.create(CONFIGMAPS, configmap("first", color="red"))
            mirror = Mirror(api, CONFIGMAPS)
            children.spawn(mirror.run(), "mirror")
            await mirror.ready.wait()
            informer = Informer(mirror, Reading())
            assert Value("first", "red", None) in list(informer)
            await children.cancel()

    asyncio.run(story())
