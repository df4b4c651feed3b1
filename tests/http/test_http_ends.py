"""How things end: clients that vanish, handlers that fail, servers that stop."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import pytest

from atoll.apiserver.credentials import Credentials
from atoll.apiserver.http.limits import Limits
from atoll.exchange import Request, Response
from tests.http.talking import echo, run, serving, until

pytestmark = pytest.mark.usefixtures("way")


class Watched:
    """A handler whose streams never say anything, and that notes when they are closed."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0
        self.slow = 0

    async def _stream(self, first: bytes) -> AsyncIterator[bytes]:
        self.opened += 1
        try:
            yield first
            await asyncio.Event().wait()
        finally:
            self.closed += 1

    async def __call__(self, request: Request) -> Response:
        if request.path == "/slow":
            self.slow += 1
            await asyncio.sleep(0.2)
            return Response(201, {}, b"done")
        return Response(200, {}, stream=self._stream(b"hello\n"))


@pytest.mark.parametrize("how", ["abort", "close"])
def test_a_client_that_goes_away_ends_its_idle_stream_at_once(
    how: str, loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        handler = Watched()
        async with serving(credentials, handler) as it:
            clients = [await it.connect() for _ in range(5)]
            for client in clients:
                await client.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
                await client.head()
                assert await client.chunk() == b"hello\n"
            for client in clients:
                client.vanish() if how == "abort" else client.writer.close()
            await until(lambda: handler.closed == handler.opened == 5)
            assert it.server.connection_count == 0

    run(loop_kind, main())


def test_a_stream_made_for_a_client_that_is_gone_is_closed_unread(
    credentials: Credentials,
) -> None:
    closed: list[str] = []
    asked = asyncio.Event()
    go = asyncio.Event()

    class Stream:
        def __aiter__(self) -> "Stream":
            return self

        async def __anext__(self) -> bytes:
            raise AssertionError("nobody is there to read this")

        async def aclose(self) -> None:
            closed.append("stream")

    async def handler(request: Request) -> Response:
        asked.set()
        await go.wait()
        return Response(200, {}, stream=Stream())

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
            await asked.wait()
            client.vanish()
            await until(lambda: it.server.connection_count == 0)
            go.set()
            await until(lambda: closed != [])

    run("asyncio", main())
    assert closed == ["stream"]


def test_a_write_that_has_begun_is_finished_though_its_client_is_gone(
    credentials: Credentials,
) -> None:
    done: list[str] = []
    asked = asyncio.Event()

    async def handler(request: Request) -> Response:
        asked.set()
        await asyncio.sleep(0.05)
        done.append(request.path)
        return Response(201)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"POST /x HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            await asked.wait()
            client.vanish()
            await until(lambda: done == ["/x"])
            await asyncio.sleep(0.1)
            assert done == ["/x"]  # but the one behind it is not begun

    run("asyncio", main())


def test_a_handler_that_fails_gives_a_status_and_a_line_in_the_log(
    loop_kind: str, credentials: Credentials, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(request: Request) -> Response:
        if request.path == "/bad":
            raise ZeroDivisionError("secret detail")
        return await echo(request)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            answer = await client.get("/bad")
            body = json.loads(answer.body)
            assert (answer.status, body["kind"], body["code"]) == (500, "Status", 500)
            assert body["reason"] == "InternalError"
            assert b"secret detail" not in answer.body
            assert (await client.get("/good")).status == 200

    with caplog.at_level(logging.ERROR, "atoll.http"):
        run(loop_kind, main())
    assert [record.getMessage() for record in caplog.records] == ["Failed to answer GET /bad"]


def test_a_stream_that_fails_is_cut_off_without_a_clean_end(
    loop_kind: str, credentials: Credentials, caplog: pytest.LogCaptureFixture
) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"one"
        raise ValueError("broken")

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=stream())

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
            received = b""
            try:
                while piece := await client.reader.read(1000):
                    received += piece
            except ConnectionError:
                pass
            assert not received.endswith(b"0\r\n\r\n")

    run(loop_kind, main())
    assert "Failed in the middle of a stream" in caplog.text


def test_a_handler_that_cancels_itself_does_not_leave_its_client_hanging(
    credentials: Credentials,
) -> None:
    async def handler(request: Request) -> Response:
        raise asyncio.CancelledError

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await client.is_closed_by_server()

    run("asyncio", main())


def test_stopping_ends_streams_cleanly_and_lets_answers_finish(
    loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        handler = Watched()
        async with serving(credentials, handler) as it:
            idle, watcher, writer, half = [await it.connect() for _ in range(4)]
            await half.send(b"POST /never HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
            await watcher.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
            await watcher.head()
            assert await watcher.chunk() == b"hello\n"
            await writer.send(b"POST /slow HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            await until(lambda: handler.slow == 1)
            stopping = asyncio.create_task(it.server.stop())
            assert await watcher.chunk() == b""  # the last chunk, not a reset
            answer = await writer.answer()
            assert (answer.status, answer.headers["connection"]) == (201, "close")
            for client in (idle, half, watcher, writer):
                assert await client.is_closed_by_server()
                client.writer.close()
            await stopping
            assert handler.closed == handler.opened == 1
            with pytest.raises(ConnectionRefusedError):
                await it.connect()

    run(loop_kind, main())


def test_one_who_takes_leave_goes_on_and_says_so_with_every_answer(
    loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        async with serving(credentials, Watched()) as it:
            watcher, used = [await it.connect() for _ in range(2)]
            await watcher.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
            await watcher.head()
            it.server.take_leave()
            for client in (used, await it.connect()):
                await client.send(b"POST /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = await client.answer()
                assert (answer.status, answer.headers["connection"]) == (201, "close")
                assert await client.is_closed_by_server()
            assert await watcher.chunk() == b"hello\n"  # a stream that was begun goes on

    run(loop_kind, main())


def test_stopping_takes_no_longer_than_it_may(loop_kind: str, credentials: Credentials) -> None:
    async def for_ever(request: Request) -> Response:
        await asyncio.Event().wait()
        return Response(200)

    async def main() -> None:
        async with serving(credentials, for_ever, Limits(shutdown_s=0.2)) as it:
            client = await it.connect()
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.sleep(0.05)
            async with asyncio.timeout(120):  # a handler that never ends would take for ever
                await it.server.stop()
            assert await client.is_closed_by_server()

    run(loop_kind, main())


def test_an_idle_connection_leaves_nothing_behind(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            await client.get("/")
            assert len([t for t in asyncio.all_tasks() if t.get_name() == "http exchange"]) == 0
            await client.close()
            await until(lambda: it.server.connection_count == 0)

    run("asyncio", main())
