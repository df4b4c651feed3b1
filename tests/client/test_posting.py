"""Asking servers that users name: ways are kept, let go of when idle, and bounded in time."""

import asyncio

import pytest

from atoll.client.endpoint import Endpoint
from atoll.client.https import Patience
from atoll.client.posting import IDLE_WAYS_MAX, Place, Posting
from atoll.client.transport import Unreachable
from atoll.exchange import Request, Response


class Line:
    """A way that answers with its server's name, once it is let."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.is_closed = False

    async def send(self, request: Request) -> Response:
        assert request.method == "POST"
        await self.may_answer.wait()
        assert not self.is_closed
        return Response(200, body=self.endpoint.server.encode())

    async def close(self) -> None:
        self.is_closed = True


class Exchange:
    """All ways that were opened, in order."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.posting = Posting(self.opened)

    def opened(self, endpoint: Endpoint, _: Patience) -> Line:
        self.lines.append(Line(endpoint))
        return self.lines[-1]

    async def ask(self, server: str, timeout_s: float = 60.0) -> bytes:
        answer = await self.posting.post(Place(server), "/", "", b"{}", timeout_s)
        return answer.body


def test_a_way_is_used_again() -> None:
    async def main() -> None:
        exchange = Exchange()
        assert [await exchange.ask("https://a") for _ in range(3)] == [b"https://a"] * 3
        assert len(exchange.lines) == 1
        await exchange.posting.close()
        assert exchange.lines[0].is_closed

    asyncio.run(main())


def test_the_longest_idle_way_is_closed_and_none_in_use() -> None:
    async def main() -> None:
        exchange = Exchange()
        await exchange.ask("https://busy")
        exchange.lines[0].may_answer.clear()
        waiting = asyncio.ensure_future(exchange.ask("https://busy"))
        await asyncio.sleep(0)  # it asks now, and waits
        for number in range(IDLE_WAYS_MAX + 2):
            await exchange.ask(f"https://{number}")
        closed = [line.endpoint.server for line in exchange.lines if line.is_closed]
        assert closed == ["https://0", "https://1"]
        exchange.lines[0].may_answer.set()
        assert await waiting == b"https://busy"
        await exchange.posting.close()

    asyncio.run(main())


def test_who_does_not_answer_in_time_is_given_up() -> None:
    async def main() -> None:
        exchange = Exchange()
        await exchange.ask("https://a")
        exchange.lines[0].may_answer.clear()
        with pytest.raises(TimeoutError):
            await exchange.ask("https://a", timeout_s=0.01)
        await exchange.posting.close()

    asyncio.run(main())


def test_nobody_is_asked_after_the_end() -> None:
    async def main() -> None:
        exchange = Exchange()
        await exchange.posting.close()
        with pytest.raises(Unreachable, match="the plane ends"):
            await exchange.ask("https://a")

    asyncio.run(main())
