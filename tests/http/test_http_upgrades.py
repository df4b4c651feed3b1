"""Connections that leave HTTP behind: both sides are heard, however and whenever they end."""

import asyncio

import pytest

from atoll.apiserver.credentials import Credentials
from atoll.exchange import Duplex, Request, Response
from tests.http.talking import run, serving, until

pytestmark = pytest.mark.usefixtures("way")

ASK = b"POST /shout HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shouting\r\n\r\n"


class Shouting:
    """Answers in capitals until the other side ends, or says bye."""

    def __init__(self) -> None:
        self.begun = self.over = 0

    async def __call__(self, request: Request) -> Response:
        if request.headers.get("upgrade") != "shouting":
            return Response(200, {}, b"plain")
        return Response(101, {"Upgrade": "shouting"}, upgrade=self._shout)

    async def _shout(self, other: Duplex) -> None:
        self.begun += 1
        try:
            while heard := await other.read():
                await other.write(heard.upper())
                if heard == b"bye":
                    return
        finally:
            self.over += 1


def test_after_a_101_both_sides_speak_freely(loop_kind: str, credentials: Credentials) -> None:
    async def main() -> None:
        handler = Shouting()
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(ASK)
            status, headers = await client.head()
            assert (status, headers["connection"], headers["upgrade"]) == (
                101,
                "Upgrade",
                "shouting",
            )
            assert "content-length" not in headers
            assert "transfer-encoding" not in headers
            for word in (b"hello", b"GET / HTTP/1.1\r\n\r\n", b"bye"):
                await client.send(word)
                assert await client.reader.readexactly(len(word)) == word.upper()
            assert await client.is_closed_by_server()
            assert handler.over == 1

    run(loop_kind, main())


def test_more_than_anyone_reads_at_once_arrives_whole(
    loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        async with serving(credentials, Shouting()) as it:
            client = await it.connect()
            await client.send(ASK)
            await client.head()
            much = bytes(range(97, 123)) * 100_000

            async def send() -> None:
                await client.send(much)

            sending = asyncio.create_task(send())
            assert await client.reader.readexactly(len(much)) == much.upper()
            await sending

    run(loop_kind, main())


@pytest.mark.parametrize("how", ["client vanishes", "server stops"])
def test_whoever_speaks_is_told_of_the_end(
    how: str, loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        handler = Shouting()
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(ASK)
            await client.head()
            await until(lambda: handler.begun == 1)
            if how == "client vanishes":
                client.vanish()
            else:
                await it.server.stop()
            await until(lambda: handler.over == 1)
            await until(lambda: it.server.connection_count == 0)
            assert handler.begun == 1

    run(loop_kind, main())


def test_a_request_that_offers_another_protocol_may_be_answered_in_this_one(
    credentials: Credentials,
) -> None:
    async def main() -> None:
        async with serving(credentials, Shouting()) as it:
            client = await it.connect()
            headers = "Connection: Upgrade\r\nUpgrade: whispering\r\n"
            assert (await client.get("/", headers)).body == b"plain"
            assert (await client.get("/")).body == b"plain"

    run("uvloop", main())
