"""Streams: what comes is read by pieces, gathered while there is much, and every end is told."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from atoll.client.exchanging import Reach
from atoll.client.streaming import Stream, Streams

ASKED = b"GET /a?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\nx-a: 2\r\n\r\n"
LAST = b"0\r\n\r\n"
Say = Callable[[asyncio.StreamWriter], Awaitable[None]]


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def follow(say: Say, read: Callable[[Stream], Awaitable[None]]) -> None:
    """Read what a server says once it is asked; then it hangs up."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await say(writer)
        writer.close()

    async def main() -> None:
        listening = await asyncio.start_server(accept, "127.0.0.1", 0)
        streams = Streams(Reach("127.0.0.1", listening.sockets[0].getsockname()[1]))
        try:
            async with asyncio.timeout(120):
                await read(await streams.open(ASKED, None, 60.0))
        finally:
            streams.close()
            listening.close()
            await listening.wait_closed()

    asyncio.run(main())


def saying(*pieces: bytes) -> Say:
    async def say(writer: asyncio.StreamWriter) -> None:
        for each in pieces:
            writer.write(each)

    return say


def test_the_head_comes_first_and_then_all_of_the_body() -> None:
    async def read(stream: Stream) -> None:
        assert (stream.status, stream.headers["x-a"]) == (200, "1\n2")
        assert b"".join([piece async for piece in stream]) == b"one\ntwo\n"

    follow(saying(HEAD, chunk(b"one\n"), chunk(b"two\n"), LAST), read)


def test_what_comes_after_a_pause_comes_at_once_and_what_follows_is_gathered() -> None:
    asked_for_more = asyncio.Event()

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunk(b"first"))
        await asked_for_more.wait()
        for _ in range(10):
            writer.write(chunk(b"."))
            await writer.drain()
            await asyncio.sleep(0.0005)
        writer.write(LAST)

    async def read(stream: Stream) -> None:
        assert await anext(stream) == b"first"
        asked_for_more.set()
        rest = [piece async for piece in stream]
        assert b"".join(rest) == b".........."
        assert len(rest) < 10

    follow(say, read)


def test_nothing_is_read_while_nobody_takes_what_was_read() -> None:
    sent = 0

    async def say(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEAD)
        with suppress(ConnectionError):
            while True:
                writer.write(chunk(b"x" * 65536))
                await writer.drain()
                sent += 65536

    async def read(stream: Stream) -> None:
        await anext(stream)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < 64 * 1024 * 1024
        await anext(stream)
        stream.close()

    follow(say, read)


@pytest.mark.parametrize(
    "says",
    [(HEAD, chunk(b"ok")), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",), (HEAD, b"no")],
    ids=["no last chunk", "too short", "no chunk at all"],
)
def test_one_that_breaks_off_says_so(says: tuple[bytes, ...]) -> None:
    async def read(stream: Stream) -> None:
        with pytest.raises(ConnectionError):
            async for _ in stream:
                pass

    follow(saying(*says), read)


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    async def read(stream: Stream) -> None:
        assert b"".join([piece async for piece in stream]) == b"ok"

    follow(saying(b"HTTP/1.1 200 OK\r\n\r\nok"), read)


@pytest.mark.parametrize("says", [b"", b"who is there?\r\n\r\n"], ids=["nothing", "no HTTP"])
def test_without_a_head_there_is_no_stream(says: bytes) -> None:
    async def read(_stream: Stream) -> None:
        raise AssertionError("it never began")

    with pytest.raises(ConnectionError):
        follow(saying(says), read)


def test_one_that_is_closed_wakes_whoever_reads_it() -> None:
    held = asyncio.Event()

    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        await held.wait()

    async def read(stream: Stream) -> None:
        asyncio.get_running_loop().call_later(0.01, stream.close)
        with pytest.raises(ConnectionError):
            await anext(stream)
        held.set()

    follow(say, read)
