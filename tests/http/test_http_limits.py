"""What one client may not do to the server and to the others."""

import asyncio
import contextlib
import json
import time
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from atoll.apiserver.credentials import Credentials
from atoll.apiserver.http.limits import Limits
from atoll.exchange import Request, Response
from tests.http.talking import Client, Running, client_tls, echo, run, serving, until

TOO_LARGE = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Request entity too large: limit is 3145728",
    "reason": "RequestEntityTooLarge",
    "code": 413,
}


@pytest.mark.parametrize(
    "framing",
    [
        pytest.param("Content-Length: 10485760", id="announced"),
        pytest.param("Transfer-Encoding: chunked", id="only-found-out-while-reading"),
    ],
)
def test_a_body_of_10_mb_is_refused_without_being_kept(
    framing: str, loop_kind: str, credentials: Credentials
) -> None:
    chunk = b"x" * 65_536

    async def pour(client: Client) -> None:
        for _ in range(160):
            framed = b"10000\r\n" + chunk + b"\r\n" if "chunked" in framing else chunk
            await client.send(framed)
        if "chunked" in framing:
            await client.send(b"0\r\n\r\n")

    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            await client.send(f"POST / HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode())
            tracemalloc.start()
            await pour(client)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            answer = await client.answer()
            assert json.loads(answer.body) == TOO_LARGE
            assert answer.headers["connection"] == "close"
            assert await client.is_closed_by_server()
            assert peak < 6 * 1024 * 1024
            other = await it.connect()
            assert (await other.get("/")).status == 200

    run(loop_kind, main())


def test_a_body_of_just_the_limit_is_taken(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            size = 3 * 1024 * 1024
            await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
            await client.send(b"x" * size)
            assert (await client.answer()).body.endswith(b" 3145728")

    run("uvloop", main())


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n"
                b"Expect: 100-continue\r\n\r\n"
            )
            assert (await client.answer()).status == 413
            assert await client.is_closed_by_server()

    run("asyncio", main())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"\x16\x03\x01 not http at all\r\n\r\n", 400, id="not-http"),
        pytest.param(b"GET\r\n\r\n", 400, id="no-target"),
        pytest.param(b"FROB / HTTP/1.1\r\nHost: x\r\n\r\n", 400, id="no-such-method"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no-host"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400, id="bad-header"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
            400,
            id="two-lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Length: 3\r\n\r\n",
            400,
            id="length-and-chunks",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            400,
            id="bad-chunk",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: upgrade\r\n"
            b"Upgrade: h2c\r\n\r\nabc",
            400,
            id="upgrade-with-a-body",
        ),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="http-2"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", 417, id="expects-tea"),
        pytest.param(
            b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431, id="long-path"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431, id="long-header"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 12_000 + b"\r\n",
            431,
            id="many-headers",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 400_000, 431, id="endless-header"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: "
            + b"a" * 600_000,
            431,
            id="endless-trailer",
        ),
    ],
)
def test_a_request_that_is_none_is_refused_and_nobody_else_notices(
    sent: bytes, status: int, loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        async with serving(credentials, echo, Limits(linger_s=0.05)) as it:
            other = await it.connect()
            assert (await other.get("/before")).status == 200
            client = await it.connect()
            await client.send(b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n" + sent)
            assert (await client.answer()).status == 200
            answer = await client.answer()
            assert (answer.status, answer.headers["connection"]) == (status, "close")
            assert await client.is_closed_by_server()
            assert (await other.get("/after")).status == 200

    run(loop_kind, main())


_FRAGMENTS = st.sampled_from(
    [
        *(b"GET / HTTP/1.1\r\n", b"POST /", b" HTTP/1.0\r\n", b"Host: x\r\n", b"\r\n", b": "),
        *(b"Content-Length: 3\r\n", b"abc", b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n"),
        *(b"0\r\n\r\n", b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: x\r\n"),
        *(b"\x00", b"\xff"),
    ]
)


async def read_for_a_while(client: Client) -> bytes:
    """What comes until the server closes, or has had the time to."""
    answered = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.06):
            while piece := await client.reader.read(65_536):
                answered += piece
    return answered


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.lists(_FRAGMENTS | st.binary(max_size=20), max_size=12), max_size=5))
@example(pieces=[[b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n\xff"]])
def test_whatever_bytes_come_the_server_answers_or_waits_and_then_serves_on(
    pieces: list[list[bytes]], credentials: Credentials
) -> None:
    async def main() -> None:
        limits = Limits(headers_s=0.02, body_s=0.02, linger_s=0.01)
        async with serving(credentials, echo, limits) as it:
            client = await it.connect()
            for piece in pieces:
                client.writer.write(b"".join(piece))
                await asyncio.sleep(0)
            answered = await read_for_a_while(client)
            assert answered == b"" or answered.startswith(b"HTTP/1.1 ")
            assert b" 500 " not in answered
            other = await it.connect()
            assert (await other.get("/")).status == 200

    run("asyncio", main())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"GET / HT", 408, id="headers"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", 408, id="body"),
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"\r\n", None, id="an-empty-line"),
    ],
)
def test_a_client_that_sends_too_slowly_is_let_go(
    sent: bytes, status: int | None, loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        idle_s = 0.1 if status is None else 60.0  # nobody says why a connection that is idle ends
        limits = Limits(idle_s=idle_s, headers_s=0.1, body_s=0.1, linger_s=0.05)
        async with serving(credentials, echo, limits) as it:
            client = await it.connect()
            await client.send(sent)
            if status is not None:
                assert (await client.answer()).status == status
            assert await client.is_closed_by_server()
            await until(lambda: it.server.connection_count == 0)

    run(loop_kind, main())


def test_dripping_a_header_does_not_extend_the_time_for_it(credentials: Credentials) -> None:
    async def main() -> None:
        # After its refusal a client that still sends is heard for body_s in all, and then no more.
        limits = Limits(headers_s=0.3, linger_s=0.05, body_s=0.3)
        async with serving(credentials, echo, limits) as it:
            client = await it.connect()
            async with asyncio.timeout(120):  # a time that is extended never ends
                await until(lambda: it.server.connection_count == 1)
                begun = time.monotonic()
                client.writer.write(b"GET / HTTP/1.1\r\nX: ")
                while it.server.connection_count:
                    client.writer.write(b"x")
                    await asyncio.sleep(0.02)
            lasted = time.monotonic() - begun
            assert lasted > 0.2, "it was sent away for its slowness, not for what it sent"

    run("asyncio", main())


@pytest.mark.usefixtures("way")
def test_a_handler_may_take_longer_than_a_client_may(credentials: Credentials) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.8)
        return Response(200)

    async def main() -> None:
        limits = Limits(idle_s=0.5, headers_s=0.5, body_s=0.5)
        async with serving(credentials, slow, limits) as it:
            client = await it.connect()
            assert (await client.get("/")).status == 200

    run("asyncio", main())


@pytest.mark.usefixtures("way")
def test_a_slow_reader_holds_up_its_stream_and_not_the_memory(
    loop_kind: str, credentials: Credentials
) -> None:
    produced = 0

    async def stream() -> AsyncIterator[bytes]:
        nonlocal produced
        while True:
            produced += 1
            yield b"x" * 16_384

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=stream()) if request.path == "/w" else Response(200)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect(receive_buffer=8192)
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
            seen = -1
            while seen != produced:  # until no more is taken
                seen = produced
                await asyncio.sleep(0.1)
            assert produced * 16_384 < 16 * 1024 * 1024
            other = await it.connect()
            assert (await other.get("/")).status == 200
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]
            while produced == seen:
                assert await client.reader.read(65_536)

    run(loop_kind, main())


@pytest.mark.usefixtures("way")
def test_a_reader_that_has_stopped_is_dropped_and_its_stream_closed(
    loop_kind: str, credentials: Credentials
) -> None:
    closed: list[str] = []

    async def stream() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65_536
        finally:
            closed.append("stream")

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=stream())

    async def main() -> None:
        async with serving(credentials, handler, Limits(write_stall_s=0.2)) as it:
            client = await it.connect(receive_buffer=8192)
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await client.send(b"GET /w HTTP/1.1\r\nHost: x\r\n\r\n")
            await until(lambda: closed != [] and it.server.connection_count == 0)

    run(loop_kind, main())
    assert closed == ["stream"]


def test_one_client_is_served_among_a_thousand_connections(
    credentials: Credentials,
) -> None:
    async def crowd(it: Running) -> None:
        tls = client_tls(credentials)
        for _ in range(20):
            opened = [it.connect(tls=tls) for _ in range(50)]
            clients = await asyncio.gather(*opened)
            for client in clients[::2]:
                client.writer.write(b"GET / HT")  # half of them never finish a request

    async def main() -> None:
        async with serving(credentials) as it:
            await crowd(it)
            assert it.server.connection_count == 1000
            client = await it.connect()
            answers = [await client.get("/") for _ in range(100)]
            assert [answer.status for answer in answers] == [200] * 100
            assert it.server.connection_count == 1001, "and nobody was sent away for it"

    run("uvloop", main())
