"""What the API server does by the hour, in virtual time: bookmarks, the end of watches, expiry."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from atoll.client.inprocess import InProcess
from atoll.client.transport import closing
from atoll.exchange import Peer, Request, Response
from atoll.main import Plane, build, run
from atoll.store.memory import MemoryLog
from simulation.world import World, simulate

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
EVENTS = "/api/v1/namespaces/default/events"
ADMIN = Peer("admin", ("system:masters",))


class Client:
    """An administrator of a plane in this process."""

    def __init__(self, plane: Plane) -> None:
        self._transport = InProcess(plane.server.handle, ADMIN)

    async def ask(
        self, method: str, path: str, query: str = "", body: object = None, accept: str = ""
    ) -> Response:
        encoded = b"" if body is None else json.dumps(body).encode()
        headers = {"accept": accept} if accept else {}
        return await self._transport.send(Request(method, path, query, headers, encoded))


def served(scenario: Callable[[Client], Awaitable[Any]], log: MemoryLog | None = None) -> Any:
    """Run a scenario against a new plane, in virtual time."""

    async def main(world: World) -> Any:
        effects = world.effects("hub")
        async with AsyncExitStack() as stack:
            plane = build(effects, log or MemoryLog())
            await run(plane, effects, stack)
            return await scenario(Client(plane))

    return simulate(main, seed=3).value


async def events_of(response: Response) -> list[dict[str, Any]]:
    assert response.stream is not None, response.body
    async with closing(response.stream):
        lines = b"".join([chunk async for chunk in response.stream])
    return [json.loads(line) for line in lines.splitlines()]


def test_a_quiet_watch_is_told_every_minute_how_far_it_is() -> None:
    async def main(client: Client) -> tuple[int, list[dict[str, Any]]]:
        await asyncio.sleep(1)  # until what every cluster has is there
        listed = json.loads((await client.ask("GET", CONFIGMAPS)).body)
        start = int(listed["metadata"]["resourceVersion"])
        query = f"watch=1&resourceVersion={start}&allowWatchBookmarks=true&timeoutSeconds=330"
        watch = await client.ask("GET", CONFIGMAPS, query)

        async def elsewhere() -> None:
            for number in range(10):  # what happens in other collections moves bookmarks on
                await asyncio.sleep(31)
                made = {"metadata": {"name": f"n{number}"}}
                assert (await client.ask("POST", SECRETS, "", made)).status == 201

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(elsewhere())
            events = tasks.create_task(events_of(watch))
        return start, events.result()

    start, bookmarks = served(main)
    assert [event["type"] for event in bookmarks] == ["BOOKMARK"] * 6
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in bookmarks]
    assert [revision - start for revision in revisions] == [1, 3, 5, 7, 9, 10]


def test_a_watch_without_bookmarks_is_told_nothing_and_ends_within_the_hour() -> None:
    async def main(client: Client) -> tuple[list[dict[str, Any]], float]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        events = await events_of(await client.ask("GET", CONFIGMAPS, "watch=1&resourceVersion=5"))
        return events, loop.time() - started

    events, lasted_s = served(main)
    assert events == []
    assert 1800 <= lasted_s <= 3600


def test_events_go_an_hour_after_they_were_last_written() -> None:
    async def main(client: Client) -> list[list[str]]:
        for name in ("once", "again"):
            involved = {"kind": "Pod", "namespace": "default", "name": "p"}
            made = {"metadata": {"name": name}, "involvedObject": involved}
            assert (await client.ask("POST", EVENTS, "", made)).status == 201
        await asyncio.sleep(1800)
        again = json.loads((await client.ask("GET", f"{EVENTS}/again")).body)
        again["count"] = 2
        assert (await client.ask("PUT", f"{EVENTS}/again", "", again)).status == 200
        left = []
        for _ in range(4):
            await asyncio.sleep(1750)
            listed = json.loads((await client.ask("GET", EVENTS)).body)
            left.append([one["metadata"]["name"] for one in listed["items"]])
        return left

    assert served(main) == [["again", "once"], ["again"], [], []]


def test_a_watch_is_framed_in_json_only() -> None:
    async def main(client: Client) -> Response:
        return await client.ask("GET", CONFIGMAPS, "watch=1", accept="application/yaml")

    assert served(main).status == 406
