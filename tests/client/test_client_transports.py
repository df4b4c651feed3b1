"""One suite over both transports: what works in process works over HTTPS, and vice versa."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import Credentials
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.client.endpoint import Endpoint
from atoll.client.https import Https, Patience
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable, closing, whole
from atoll.effects import system_now
from atoll.exchange import Duplex, Handler, Peer, Request, Response

ADMIN = Peer("kubernetes-admin", ("system:masters",))


def endpoint(credentials: Credentials, port: int) -> Endpoint:
    return Endpoint(
        f"https://127.0.0.1:{port}",
        ca=credentials.ca.read_bytes(),
        certificate=credentials.admin.read_bytes(),
        key=credentials.admin_key.read_bytes(),
    )


@asynccontextmanager
async def over_https(handler: Handler, credentials: Credentials) -> AsyncIterator[Transport]:
    server = HttpServer(handler, system_now)
    listener = listen("127.0.0.1", 0)
    tls = server_context(credentials.server, credentials.server_key, credentials.ca)
    await server.start(listener, tls)
    transport = Https(endpoint(credentials, listener.getsockname()[1]))
    try:
        yield transport
    finally:
        await transport.close()
        await server.stop()


@asynccontextmanager
async def in_process(handler: Handler, credentials: Credentials) -> AsyncIterator[Transport]:
    transport = InProcess(handler, ADMIN)
    yield transport
    await transport.close()


@pytest.fixture(params=[over_https, in_process])
def check(
    request: pytest.FixtureRequest, credentials: Credentials
) -> Callable[[Handler, Callable[[Transport], Awaitable[None]]], None]:
    def run(handler: Handler, use: Callable[[Transport], Awaitable[None]]) -> None:
        async def main() -> None:
            async with asyncio.timeout(120), request.param(handler, credentials) as transport:
                await use(transport)

        asyncio.run(main())

    return run


Check = Callable[[Handler, Callable[[Transport], Awaitable[None]]], None]


def test_the_request_arrives_as_it_was_meant(check: Check) -> None:
    seen: list[Request] = []

    async def handler(request: Request) -> Response:
        seen.append(request)
        return Response(201, {"X-Answer": "Yes"}, b"stored")

    async def use(transport: Transport) -> None:
        sent = Request(
            *("PATCH", "/apis/a%2Fb/:x", "fieldManager=a%20b&force=true"),
            headers={"Content-Type": "application/merge-patch+json"},
            body=b"\x00\xff{}",
            peer=Peer("somebody-else"),
        )
        response = await transport.send(sent)
        assert (response.status, response.body, response.stream) == (201, b"stored", None)
        assert response.headers["x-answer"] == "Yes"

    check(handler, use)
    got = seen[0]
    assert (got.method, got.path) == ("PATCH", "/apis/a%2Fb/:x")
    assert (got.query, got.body) == ("fieldManager=a%20b&force=true", b"\x00\xff{}")
    assert got.headers["content-type"] == "application/merge-patch+json"
    assert "user-agent" not in got.headers
    assert (got.peer.name, got.peer.groups) == (ADMIN.name, ADMIN.groups)


@pytest.mark.parametrize("size", [0, 1, 2_000_000])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_bodies_of_every_size_come_back(check: Check, size: int, method: str) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, {}, b"x" * size)

    async def use(transport: Transport) -> None:
        response = await transport.send(Request(method, "/"))
        assert len(response.body) == (size if method == "GET" else 0)

    check(handler, use)


@pytest.mark.parametrize("status", [200, 204, 301, 304, 404, 500])
def test_every_status_is_an_answer_and_none_is_followed(check: Check, status: int) -> None:
    async def handler(request: Request) -> Response:
        return Response(status, {"Location": "/elsewhere"}, b"text")

    async def use(transport: Transport) -> None:
        response = await transport.send(Request("GET", "/"))
        expected = b"" if status in (204, 304) else b"text"
        assert (response.status, response.body) == (status, expected)

    check(handler, use)


WATCHES = pytest.mark.parametrize("query", ["watch=true", "watch=1&resourceVersion=1"])


@WATCHES
def test_a_stream_comes_piece_by_piece_and_ends_at_the_server_when_closed(
    check: Check, query: str
) -> None:
    closed = asyncio.Event()
    more: asyncio.Queue[bytes] = asyncio.Queue()

    async def events() -> AsyncIterator[bytes]:
        try:
            while True:
                yield await more.get()
        finally:
            closed.set()

    async def handler(request: Request) -> Response:
        return Response(200, {"Content-Type": "application/json"}, stream=events())

    async def use(transport: Transport) -> None:
        response = await transport.send(Request("GET", "/w", query))
        assert (response.status, response.body) == (200, b"")
        assert response.stream is not None
        async with closing(response.stream):
            for event in (b"one\n", b"two\n"):
                more.put_nowait(event)
                assert await anext(response.stream) == event
        await closed.wait()

    check(handler, use)


@WATCHES
def test_a_stream_that_breaks_off_is_out_of_reach(credentials: Credentials, query: str) -> None:
    async def events() -> AsyncIterator[bytes]:
        yield b"one\n"
        raise OSError("the disk is full")

    async def handler(request: Request) -> Response:
        return Response(200, {"Content-Type": "application/json"}, stream=events())

    async def main() -> None:
        async with asyncio.timeout(120), over_https(handler, credentials) as transport:
            response = await transport.send(Request("GET", "/w", query))
            with pytest.raises(Unreachable, match=r"the stream from https:.* broke off"):
                await whole(response)

    asyncio.run(main())


@WATCHES
def test_a_watch_that_is_refused_is_told_why(check: Check, query: str) -> None:
    async def handler(request: Request) -> Response:
        return Response(410, {"Content-Type": "application/json"}, b'{"kind":"Status"}')

    async def use(transport: Transport) -> None:
        response = await whole(await transport.send(Request("GET", "/w", query)))
        assert (response.status, response.body) == (410, b'{"kind":"Status"}')

    check(handler, use)


def test_a_stream_that_ends_can_be_read_as_a_whole(check: Check) -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=parts())

    async def use(transport: Transport) -> None:
        response = await whole(await transport.send(Request("GET", "/")))
        assert (response.body, response.stream) == (b"ab", None)
        again = await whole(Response(200, {}, b"c"))
        assert again.body == b"c"

    check(handler, use)


class Speaker:
    """The near side of an upgraded connection: says what it has, and keeps what it hears."""

    def __init__(self, *said: bytes) -> None:
        self._said = list(said)
        self.heard = b""
        self.heard_all = asyncio.Event()

    async def read(self) -> bytes:
        if self._said:
            return self._said.pop(0)
        await self.heard_all.wait()
        return b""

    async def write(self, data: bytes) -> None:
        self.heard += data
        if self.heard.endswith(b"!"):
            self.heard_all.set()


def test_after_a_101_both_sides_speak_freely(check: Check) -> None:
    async def shout(other: Duplex) -> None:
        await other.write(b"at once ")
        while said := await other.read():
            await other.write(said.upper())

    async def handler(request: Request) -> Response:
        assert request.headers["upgrade"] == "shouting"
        assert request.headers["impersonate-group"] == "a\nb"
        return Response(101, {"Upgrade": "shouting"}, upgrade=shout)

    async def ask(transport: Transport) -> None:
        headers = {
            "connection": "Upgrade",
            "upgrade": "shouting",
            "impersonate-group": "a\nb",
        }
        response = await transport.send(Request("POST", "/x", headers=headers))
        assert response.status == 101
        assert response.headers["upgrade"] == "shouting"
        speaker = Speaker(b"hear ", b"this!")
        assert response.upgrade is not None
        await response.upgrade(speaker)
        assert speaker.heard == b"at once HEAR THIS!"

    check(handler, ask)


def test_requests_go_side_by_side(check: Check) -> None:
    meeting = asyncio.Barrier(5)

    async def handler(request: Request) -> Response:
        await meeting.wait()
        return Response(200, {}, request.path.encode())

    async def use(transport: Transport) -> None:
        requests = [transport.send(Request("GET", f"/{number}")) for number in range(5)]
        bodies = [response.body for response in await asyncio.gather(*requests)]
        assert bodies == [b"/0", b"/1", b"/2", b"/3", b"/4"]

    check(handler, use)


def test_a_closed_transport_reaches_nobody(check: Check) -> None:
    async def handler(request: Request) -> Response:
        raise AssertionError("unreachable")

    async def use(transport: Transport) -> None:
        await transport.close()
        with pytest.raises(Unreachable):
            await transport.send(Request("GET", "/"))

    check(handler, use)


def test_others_run_between_two_requests_in_process() -> None:
    async def handler(request: Request) -> Response:
        return Response(200)

    async def main() -> None:
        turns: list[str] = []
        asyncio.get_running_loop().call_soon(turns.append, "another")
        await InProcess(handler, None).send(Request("GET", "/"))
        assert turns == ["another"]

    asyncio.run(main())


def test_a_server_that_is_not_there_is_unreachable(credentials: Credentials) -> None:
    async def main() -> None:
        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        listener.close()
        transport = Https(endpoint(credentials, port))
        with pytest.raises(Unreachable) as failed:
            await transport.send(Request("GET", "/"))
        assert str(failed.value) == f"https://127.0.0.1:{port} did not answer: Connection refused"
        await transport.close()

    asyncio.run(main())


def test_a_server_that_does_not_answer_is_given_up(credentials: Credentials) -> None:
    async def handler(request: Request) -> Response:
        await asyncio.Event().wait()
        return Response(200)

    async def main() -> None:
        server = HttpServer(handler, system_now)
        listener = listen("127.0.0.1", 0)
        tls = server_context(credentials.server, credentials.server_key, credentials.ca)
        await server.start(listener, tls)
        transport = Https(endpoint(credentials, listener.getsockname()[1]), Patience(answer_s=0.1))
        with pytest.raises(Unreachable):
            await transport.send(Request("GET", "/"))
        await transport.close()
        await server.stop()

    asyncio.run(main())


def test_a_server_of_another_ca_is_not_trusted(credentials: Credentials, tmp_path: Path) -> None:
    async def handler(request: Request) -> Response:
        return Response(200)

    async def main() -> None:
        stranger = ensure_credentials(tmp_path, datetime.now(UTC))
        async with over_https(handler, credentials) as good:
            assert (await good.send(Request("GET", "/"))).status == 200
            server = good._endpoint.server  # type: ignore[attr-defined]
            transport = Https(Endpoint(server, ca=stranger.ca.read_bytes()))
            with pytest.raises(Unreachable, match="its certificate cannot be trusted: "):
                await transport.send(Request("GET", "/"))
            await transport.close()

    asyncio.run(main())
