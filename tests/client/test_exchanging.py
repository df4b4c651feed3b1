"""Exchanges over kept connections: which are used again, and what comes of those that end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from atoll.client.exchanging import Answered, Exchanges, HungUp, Reach

ASKED = b"PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nx-a: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
LAST = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\nok"


class Server:
    """Says on each connection what it is told to say, and hangs up when it has no more to say."""

    def __init__(self, *connections: list[bytes]) -> None:
        self._script = list(connections)
        self.opened = 0
        self.heard = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        says = self._script[self.opened]
        self.opened += 1
        with suppress(asyncio.IncompleteReadError):
            for each in says:
                await reader.readuntil(b"\r\n\r\n")
                self.heard += 1
                writer.write(each)
        writer.close()


def use(server: Server, ask: Callable[[Exchanges], Awaitable[None]], *, at_most: int = 4) -> None:
    async def main() -> None:
        listening = await asyncio.start_server(server.accept, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        exchanges = Exchanges(Reach("127.0.0.1", port), at_most=at_most)
        try:
            async with asyncio.timeout(120):
                await ask(exchanges)
        finally:
            exchanges.close()
            listening.close()
            await listening.wait_closed()

    asyncio.run(main())


async def put(exchanges: Exchanges, *, again: bool = True) -> Answered:
    return await exchanges.exchange(ASKED, None, 60.0, again=again)


def test_a_connection_is_used_again() -> None:
    server = Server([FINE, CHUNKED, FINE])

    async def ask(exchanges: Exchanges) -> None:
        first, second, _ = [await put(exchanges) for _ in range(3)]
        assert (first.status, first.body, first.headers["x-a"]) == (200, b"ok", "1\n2")
        assert (second.status, second.body) == (201, b"ok")

    use(server, ask)
    assert server.opened == 1


@pytest.mark.parametrize("says", [LAST, UNTIL_THE_END], ids=["said", "without a length"])
def test_one_that_the_server_ends_is_not(says: bytes) -> None:
    server = Server([says], [says])

    async def ask(exchanges: Exchanges) -> None:
        assert [(await put(exchanges)).body for _ in range(2)] == [b"ok", b"ok"]

    use(server, ask)
    assert server.opened == 2


def test_only_so_many_are_open_at_once() -> None:
    server = Server([FINE] * 9)

    async def ask(exchanges: Exchanges) -> None:
        answers = await asyncio.gather(*(put(exchanges) for _ in range(9)))
        assert [each.status for each in answers] == [200] * 9

    use(server, ask, at_most=1)
    assert server.opened == 1


@pytest.mark.parametrize(
    "says",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(FINE[:20], id="half a head"),
        pytest.param(FINE[:-1], id="half a body"),
    ],
)
def test_less_than_an_answer_is_none(says: bytes) -> None:
    async def ask(exchanges: Exchanges) -> None:
        with pytest.raises(HungUp) as failed:
            await put(exchanges)
        assert failed.value.unheard is (says == b"")

    use(Server([says]), ask)


def test_what_nobody_heard_on_an_old_connection_is_sent_again_if_it_may_be() -> None:
    server = Server([FINE, b""], [FINE])

    async def ask(exchanges: Exchanges) -> None:
        await put(exchanges)
        assert (await put(exchanges)).status == 200

    use(server, ask)
    assert (server.opened, server.heard) == (2, 3)


def test_what_may_not_be_sent_again_is_not() -> None:
    server = Server([FINE, b""], [FINE])

    async def ask(exchanges: Exchanges) -> None:
        await put(exchanges)
        with pytest.raises(HungUp):
            await put(exchanges, again=False)

    use(server, ask)
    assert (server.opened, server.heard) == (1, 2)


def test_what_is_no_http_is_said() -> None:
    async def ask(exchanges: Exchanges) -> None:
        with pytest.raises(ConnectionError, match="no HTTP"):
            await put(exchanges)

    use(Server([b"220 mail.example.org ESMTP\r\n"]), ask)


def test_one_that_is_given_up_is_not_used_again() -> None:
    server = Server([FINE[:-1], FINE], [FINE])

    async def ask(exchanges: Exchanges) -> None:
        given_up = asyncio.create_task(put(exchanges))
        while server.heard == 0:
            await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        assert (await put(exchanges)).body == b"ok"

    use(server, ask)
    assert server.opened == 2
