"""What one client and the server say to each other when both behave."""

import asyncio
import zlib
from collections.abc import AsyncIterator

import pytest

from atoll.apiserver.credentials import Credentials
from atoll.exchange import Request, Response
from tests.http.talking import Running, run, serving, until

pytestmark = pytest.mark.usefixtures("way")


def test_many_requests_go_over_one_connection(loop_kind: str, credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            for number in range(20):
                answer = await client.get(f"/api/v1/x%2Fy/{number}?a=%20b&c")
                assert answer.status == 200
                assert answer.body == b"GET /api/v1/x%%2Fy/%d?a=%%20b&c - 0" % number
            assert it.server.connection_count == 1

    run(loop_kind, main())


def test_pipelined_requests_are_answered_in_order(loop_kind: str, credentials: Credentials) -> None:
    async def slow_when_even(request: Request) -> Response:
        if int(request.path[1:]) % 2 == 0:
            await asyncio.sleep(0.002)
        return Response(200, {}, request.path.encode())

    async def main() -> None:
        async with serving(credentials, slow_when_even) as it:
            client = await it.connect()
            requests = (b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(200))
            await client.send(b"".join(requests))
            bodies = [(await client.answer()).body for _ in range(200)]
            assert bodies == [b"/%d" % number for number in range(200)]

    run(loop_kind, main())


def test_more_pipelined_requests_than_the_limit_are_answered_up_to_it(
    credentials: Credentials,
) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            client.writer.write(request * 20_000)
            answers = []
            while not answers or answers[-1].headers.get("connection") != "close":
                answers.append(await client.answer())
            assert 1024 < len(answers) < 20_000
            assert {answer.status for answer in answers} == {200}

    run("asyncio", main())


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", 5, id="with-a-length"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\nhe\r\n3;ext=1\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
            5,
            id="chunked-with-extension-and-trailer",
        ),
        pytest.param(b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhe", 2, id="http-1.0"),
    ],
)
@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_a_body_arrives_however_it_is_cut(
    sent: bytes, received: int, piece: int, credentials: Credentials
) -> None:
    bodies: list[bytes] = []

    async def keep(request: Request) -> Response:
        bodies.append(request.body)
        return Response(201)

    async def main() -> None:
        async with serving(credentials, keep) as it:
            client = await it.connect()
            for start in range(0, len(sent), piece):
                await client.send(sent[start : start + piece])
            assert (await client.answer()).status == 201

    run("asyncio", main())
    assert bodies == [b"hello"[:received]]


def test_an_offer_of_another_protocol_is_declined_and_the_connection_goes_on(
    credentials: Credentials,
) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            upgrade = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
            await client.send(upgrade * 3 + b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
            assert [(await client.answer()).body[:6] for _ in range(4)] == [
                *[b"GET /a"] * 3,
                b"GET /b",
            ]

    run("asyncio", main())


def test_a_client_that_asks_first_is_told_to_continue(
    loop_kind: str, credentials: Credentials
) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            await client.send(
                b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
            )
            assert await client.head() == (100, {})
            await client.send(b"abc")
            assert (await client.answer()).body.endswith(b" 3")

    run(loop_kind, main())


def test_continue_waits_for_the_answers_before_it(credentials: Credentials) -> None:
    go = asyncio.Event()

    async def wait_for_first(request: Request) -> Response:
        if request.path == "/first":
            await go.wait()
        return Response(200, {}, request.path.encode())

    async def main() -> None:
        async with serving(credentials, wait_for_first) as it:
            client = await it.connect()
            await client.send(
                b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n"
                b"POST /second HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                b"Content-Length: 3\r\n\r\n"
            )
            await asyncio.sleep(0.02)
            go.set()
            assert (await client.answer()).body == b"/first"
            assert (await client.head())[0] == 100
            await client.send(b"abc")
            assert (await client.answer()).body == b"/second"

    run("asyncio", main())


@pytest.mark.parametrize(
    ("request_head", "seen"),
    [
        pytest.param("OPTIONS * HTTP/1.1", b"OPTIONS *?", id="options-of-the-server"),
        pytest.param("OPTIONS /apis HTTP/1.1", b"OPTIONS /apis?", id="options"),
        pytest.param("DELETE /a?b=1 HTTP/1.1", b"DELETE /a?b=1", id="delete"),
        pytest.param("GET /a//b/%zz HTTP/1.1", b"GET /a//b/%zz?", id="odd-but-not-ours-to-judge"),
        pytest.param("GET https://h:1/a/b?c HTTP/1.1", b"GET /a/b?c", id="a-whole-address"),
        pytest.param("CONNECT a:443 HTTP/1.1", b"CONNECT a:443?", id="connect"),
    ],
)
def test_the_handler_sees_the_target_as_it_was_sent(
    request_head: str, seen: bytes, credentials: Credentials
) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            await client.send(f"{request_head}\r\nHost: x\r\n\r\n".encode())
            assert (await client.answer()).body.startswith(seen)

    run("asyncio", main())


def test_the_answer_to_head_has_a_length_and_no_body(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            await client.send(b"HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = await client.answer(head_only=True)
            assert (answer.status, answer.headers["content-length"]) == (200, "14")
            assert (await client.get("/next")).body.startswith(b"GET /next")

    run("asyncio", main())


def test_headers_are_lower_case_and_repeated_ones_are_kept(credentials: Credentials) -> None:
    seen: list[dict[str, str]] = []

    async def keep(request: Request) -> Response:
        seen.append(dict(request.headers))
        return Response(200, {"Warning": '299 - "a"\n299 - "b"', "X-Odd": "é\r\nEvil: 1"})

    async def main() -> None:
        async with serving(credentials, keep) as it:
            client = await it.connect()
            headers = (
                "ACCEPT: a\r\naccept: b\r\nImpersonate-Group: x,y\r\nImpersonate-Group: z\r\n"
                "Impersonate-User: zoë  \r\n"
            )
            await client.send(f"GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
            raw = await client.reader.readuntil(b"\r\n\r\n")
            assert raw.count(b"\r\nWarning: ") == 2
            assert b"\r\nX-Odd: \xc3\xa9\r\n" in raw
            assert b"\r\nEvil" not in raw

    run("asyncio", main())
    assert seen[0]["accept"] == "a, b"
    assert seen[0]["impersonate-group"] == "x,y\nz"
    assert seen[0]["impersonate-user"] == "zoë"


def test_a_client_of_http_1_0_is_answered_and_the_stream_ends_with_the_connection(
    credentials: Credentials,
) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=stream())

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            status, headers = await client.head()
            assert (status, headers["connection"]) == (200, "close")
            assert await client.reader.read() == b"onetwo"

    run("asyncio", main())


@pytest.mark.parametrize(
    ("asked", "encoding"),
    [
        pytest.param("gzip", "gzip", id="asked-for"),
        pytest.param("deflate, GZIP;q=0.5", "gzip", id="among-others"),
        pytest.param("gzip;q=0", None, id="refused"),
        pytest.param("gzip; q=0.0, br", None, id="refused-with-decimals"),
        pytest.param("br", None, id="not-asked-for"),
    ],
)
def test_a_large_answer_is_compressed_for_who_asks(
    asked: str, encoding: str | None, loop_kind: str, credentials: Credentials
) -> None:
    large = b"an object like many others, " * 100_000

    async def handler(request: Request) -> Response:
        return Response(200, {"Vary": "Accept"}, large if request.path == "/large" else b"x" * 9000)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            small = await client.get("/small", f"Accept-Encoding: {asked}\r\n")
            assert (small.body, small.headers.get("content-encoding")) == (b"x" * 9000, None)
            answer = await client.get("/large", f"Accept-Encoding: {asked}\r\n")
            assert answer.headers.get("content-encoding") == encoding
            assert ("Accept-Encoding" in answer.headers["vary"]) == (encoding == "gzip")
            body = zlib.decompress(answer.body, wbits=31) if encoding else answer.body
            assert body == large

    run(loop_kind, main())


def test_a_stream_is_flushed_item_by_item_and_is_not_compressed(
    loop_kind: str, credentials: Credentials
) -> None:
    items: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def stream() -> AsyncIterator[bytes]:
        while (item := await items.get()) is not None:
            yield item

    async def handler(request: Request) -> Response:
        return Response(200, {"Content-Type": "application/json"}, stream=stream())

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            await client.send(b"GET /w HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
            status, headers = await client.head()  # before there is any event
            assert status == 200
            assert "content-encoding" not in headers
            for item in (b"first\n", b"second\n", b"x" * 200_000):
                items.put_nowait(item)
                assert await client.chunk() == item
            items.put_nowait(b"")
            items.put_nowait(None)
            assert await client.chunk() == b""

    run(loop_kind, main())


def test_after_a_stream_the_connection_serves_on(credentials: Credentials) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"a"
        yield b""
        yield b"b"

    async def handler(request: Request) -> Response:
        return Response(200, {}, stream=stream())

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            for _ in range(3):
                assert (await client.get("/w")).body == b"ab"

    run("asyncio", main())


def test_a_very_large_answer_arrives_whole(loop_kind: str, credentials: Credentials) -> None:
    body = bytes(range(256)) * 80_000

    async def handler(request: Request) -> Response:
        return Response(200, {}, body)

    async def main() -> None:
        async with serving(credentials, handler) as it:
            client = await it.connect()
            assert (await client.get("/")).body == body

    run(loop_kind, main())


def test_every_answer_has_a_date(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            client = await it.connect()
            assert (await client.get("/")).headers["date"].endswith(" GMT")

    run("asyncio", main())


def test_connections_that_are_closed_are_forgotten(
    loop_kind: str, credentials: Credentials
) -> None:
    async def open_and_close(it: Running) -> None:
        client = await it.connect()
        await client.get("/")
        await client.close()

    async def main() -> None:
        async with serving(credentials) as it:
            for _ in range(5):
                await open_and_close(it)
            await until(lambda: it.server.connection_count == 0)
            client = await it.connect()
            assert (await client.get("/")).status == 200

    run(loop_kind, main())
