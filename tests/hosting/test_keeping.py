"""Replicas that share certificates: whoever is first makes them, and nobody is left behind."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.client.api import ApiClient
from atoll.client.collection import Collection
from atoll.client.inprocess import InProcess
from atoll.effects import system_effects
from atoll.exchange import Peer
from atoll.hosting.installation import SERVING_SECRET
from atoll.hosting.keeping import Keeping
from atoll.hosting.place import Place
from atoll.main import Plane, run
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Wire

SECRETS = Collection("v1", "Secret", "secrets", namespaced=True)
PATH = SECRETS.path("default", SERVING_SECRET)
HERE = Place("default")


def on_a_host(story: Callable[[ApiClient], Awaitable[None]]) -> None:
    """Tell a story on an API server of its own."""
    effects = system_effects()

    async def told() -> None:
        async with AsyncExitStack() as stack, asyncio.timeout(120):
            store = Store.open(MemoryLog())
            server = assemble(store, effects)
            await run(Plane(store, server), effects, stack)
            await story(ApiClient(InProcess(server.handle, Peer("admin", (MASTERS,)))))

    asyncio.run(told())


def replica(api: ApiClient, place: Place = HERE) -> Keeping:
    return Keeping(api, place, system_effects())


async def secret(api: ApiClient) -> Wire:
    return await api.get(PATH)


def test_those_who_come_later_take_what_is_there():
    async def story(api: ApiClient) -> None:
        one, two = replica(api), replica(api)
        assert await one.ensure()
        stored = await secret(api)
        assert await two.ensure()
        assert two.bundle == one.bundle
        assert await secret(api) == stored
        assert not await one.ensure()

    on_a_host(story)


def test_those_who_come_at_once_agree():
    async def story(api: ApiClient) -> None:
        all_of_them = [replica(api) for _ in range(5)]
        await asyncio.gather(*(each.ensure() for each in all_of_them))
        assert len({each.bundle for each in all_of_them}) == 1

    on_a_host(story)


def test_what_was_removed_is_put_back_as_others_trust_it():
    async def story(api: ApiClient) -> None:
        one = replica(api)
        await one.ensure()
        before = await secret(api)
        await api.delete(SECRETS, before)
        assert not await one.ensure()
        assert (await secret(api))["data"] == before["data"]

    on_a_host(story)


def test_what_cannot_be_read_is_replaced():
    async def story(api: ApiClient) -> None:
        one = replica(api)
        await one.ensure()
        before = await secret(api)
        await api.replace(SECRETS, {**before, "data": {"ca.crt": "bm8="}})
        await replica(api, Place("default", "https://10.0.0.1:443")).ensure()
        assert set((await secret(api))["data"]) == set(before["data"])

    on_a_host(story)
