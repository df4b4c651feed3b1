"""Room for everybody where connections are all taken: who asks for nothing makes place."""

import asyncio
import json

from atoll.apiserver.credentials import Credentials
from atoll.apiserver.http.limits import Limits
from atoll.exchange import Request, Response
from tests.http.talking import echo, run, serving, until


def test_who_has_asked_for_nothing_for_longest_makes_room(
    loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        async with serving(credentials, echo, Limits(connections_max=3)) as it:
            idle = await it.connect()
            halfway = await it.connect()
            halfway.writer.write(b"GET / HT")
            busy = await it.connect()
            assert (await idle.get("/")).status == 200, "since then the other waits for longer"
            late = await it.connect()
            assert (await late.get("/")).status == 200
            assert await halfway.is_closed_by_server()
            assert (await idle.get("/")).status == 200
            assert (await busy.get("/")).status == 200
            await until(lambda: it.server.connection_count == 3)

    run(loop_kind, main())


def test_where_all_are_being_answered_one_more_is_told_so(
    loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        go_on = asyncio.Event()
        begun = 0

        async def slow(request: Request) -> Response:
            nonlocal begun
            begun += 1
            await go_on.wait()
            return await echo(request)

        async with serving(credentials, slow, Limits(connections_max=3)) as it:
            clients = [await it.connect() for _ in range(3)]
            answers = [asyncio.ensure_future(client.get("/")) for client in clients]
            await until(lambda: begun == 3)
            late = await it.connect()
            answer = await late.answer()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert json.loads(answer.body)["reason"] == "ServiceUnavailable"
            assert await late.is_closed_by_server()
            go_on.set()
            assert [(await one).status for one in answers] == [200] * 3

    run(loop_kind, main())
