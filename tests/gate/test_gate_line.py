"""The line between a gate and the core: what is said arrives, and nobody has to hold too much."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.gate import frames
from atoll.apiserver.gate.flow import WINDOW_BYTES, BrokenOff, Flow
from atoll.apiserver.gate.frames import Line
from atoll.exchange import Draft, Duplex, Peer, Request, Response
from atoll.runtime.children import Children
from tests.http.talking import linked, until

PIECE = b"x" * 16_384


def run(main: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(120):
            await main

    asyncio.run(limited())


# Some are said to many: the very same bytes, one after the other.
pieces = st.binary(max_size=300) | st.sampled_from([PIECE, b"told to many"])
messages = st.lists(
    st.tuples(st.integers(0, 16), st.integers(0, 2**63), pieces), min_size=1, max_size=5
)


def test_what_is_said_to_many_in_a_row_is_written_once() -> None:
    batch: list[frames.Message] = [(frames.DATA, number, PIECE) for number in range(100)]
    frame = frames.written([*batch, (frames.END, 1)])
    assert frame.count(PIECE) == 1
    assert frames.read(frame[frames.HEAD_BYTES :]) == [*batch, (frames.END, 1)]


@given(st.lists(messages, min_size=1, max_size=5), st.lists(st.integers(1, 200), min_size=1))
def test_batches_arrive_whole_and_in_order_however_they_are_cut(
    batches: list[Any], sizes: list[int]
) -> None:
    heard: list[Any] = []

    async def main() -> None:
        line = Line(heard.append, lambda: None)
        sent = b""
        for batch in batches:
            sent += frames.written(batch)
        turn = 0
        while sent:
            size = sizes[turn % len(sizes)]
            line.data_received(sent[:size])
            sent, turn = sent[size:], turn + 1

    run(main())
    assert heard == batches


def test_all_of_a_request_and_of_its_answer_arrives() -> None:
    seen: list[Request] = []
    sent = Request(
        "POST",
        "/a%20b",
        "c=d",
        {"x": "ü"},
        b"\0body",
        Peer("me", ("g",), is_front_proxy=True, extra=(("k", ("v",)),)),
        "192.0.2.1",
    )

    async def handler(request: Request) -> Response:
        seen.append(request)
        return Response(299, {"a": "b\nc"}, b"\xffanswer")

    async def main() -> None:
        async with linked(handler) as (link, _):
            assert await link.ask(sent) == Response(299, {"a": "b\nc"}, b"\xffanswer")

    run(main())
    assert seen == [sent]


class OneDraft:
    """Drafts always the same, and notes what it learns."""

    def __init__(self) -> None:
        self.learned: list[bool] = []

    def draft(self, request: Request) -> Draft:
        return Draft("n", b"<head", b"tail>", ("careful",))

    def learn(self, request: Request, *, taken: bool) -> None:
        self.learned.append(taken)


@pytest.mark.parametrize(
    ("status", "body", "learned"),
    [(201, b"<head, 7 tail>", [True]), (201, b"another", [False]), (409, b"taken", [])],
    ids=["taken", "made anew", "refused"],
)
def test_a_draft_that_was_taken_is_put_together_again(
    status: int, body: bytes, learned: list[bool]
) -> None:
    drafting = OneDraft()

    async def handler(request: Request) -> Response:
        assert request.draft == drafting.draft(request)
        return Response(status, {}, body)

    async def main() -> None:
        async with linked(handler) as (link, _):
            link.drafting = drafting
            assert await link.ask(Request("POST", "/")) == Response(status, {}, body)

    run(main())
    assert drafting.learned == learned


def test_a_stream_that_nobody_reads_is_made_only_as_far_as_its_window() -> None:
    made = 0

    async def stream() -> AsyncIterator[bytes]:
        nonlocal made
        while True:
            made += len(PIECE)
            yield PIECE

    async def handler(request: Request) -> Response:
        return (
            Response(200, {}, b"whole") if request.path == "/" else Response(200, stream=stream())
        )

    async def main() -> None:
        async with linked(handler) as (link, _):
            response = await link.ask(Request("GET", "/stream"))
            await until(lambda: made > WINDOW_BYTES)
            for _ in range(20):
                assert (await link.ask(Request("GET", "/"))).body == b"whole", "others are served"
            assert made <= WINDOW_BYTES + 2 * len(PIECE)
            pieces: Any = response.stream
            for _ in range(2 * WINDOW_BYTES // len(PIECE)):
                assert await anext(pieces) == PIECE
            assert made > 2 * WINDOW_BYTES
            await pieces.aclose()

    run(main())


def test_what_a_client_says_waits_where_nobody_listens() -> None:
    """The window holds in both directions of an upgraded connection."""
    listens, said = asyncio.Event(), 0
    heard: list[int] = []

    async def listen(client: Duplex) -> None:
        await listens.wait()
        while data := await client.read():
            heard.append(len(data))

    async def handler(request: Request) -> Response:
        return Response(101, upgrade=listen)

    class Talker:
        async def read(self) -> bytes:
            nonlocal said
            if said >= 4 * WINDOW_BYTES:
                return b""
            said += len(PIECE)
            return PIECE

        async def write(self, data: bytes) -> None:
            raise AssertionError("nothing is said to it")

    async def main() -> None:
        async with linked(handler) as (link, _):
            response = await link.ask(Request("GET", "/"))
            assert response.upgrade is not None
            async with Children("test") as children:
                carrying = children.spawn(_awaited(response.upgrade(Talker())), "carrying")
                await until(lambda: said > WINDOW_BYTES)
                for _ in range(20):
                    await asyncio.sleep(0)
                assert said <= WINDOW_BYTES + 2 * len(PIECE)
                listens.set()
                await carrying
            assert sum(heard) == said == 4 * WINDOW_BYTES

    run(main())


async def _awaited(awaitable: Any) -> None:
    await awaitable


def test_nothing_more_is_said_to_one_who_does_not_read_at_all() -> None:
    """A gate that hangs does not make the core hold all that is asked of it meanwhile."""
    size = 1024 * 1024
    done = 0

    async def main() -> None:
        nonlocal done
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        line = Line(lambda _: None, lambda: None)
        await loop.create_connection(lambda: line, sock=ours)

        async def talk(number: int) -> None:
            nonlocal done
            for _ in range(10):
                await Flow(line, number).write(b"y" * size)
                await asyncio.sleep(0)
                done += 1

        async with Children("test") as children:
            for number in range(4):
                children.spawn(talk(number), "talking")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await until(lambda: done == 40)
            assert done < 20
            theirs.close()  # then it is all the same
            await until(lambda: done == 40)
        line.close()

    run(main())


def test_who_asks_a_core_that_is_gone_is_told_so_and_streams_break() -> None:
    closed = asyncio.Event()

    async def stream() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def handler(request: Request) -> Response:
        return Response(200, stream=stream())

    async def main() -> None:
        async with linked(handler) as (link, _):
            response = await link.ask(Request("GET", "/"))
            pieces: Any = response.stream
            assert await anext(pieces) == b"first"
            link.hang_up()
            await closed.wait()
            await link.lost.wait()
            with pytest.raises(asyncio.CancelledError):
                await link.ask(Request("GET", "/"))
            await pieces.aclose()

    run(main())


def test_a_stream_that_fails_is_not_taken_for_one_that_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"first"
        raise OSError("the rest is lost")

    async def handler(request: Request) -> Response:
        return Response(200, stream=stream())

    async def main() -> None:
        async with linked(handler) as (link, _):
            response = await link.ask(Request("GET", "/"))
            pieces: Any = response.stream
            assert await anext(pieces) == b"first"
            with pytest.raises(BrokenOff):
                await anext(pieces)
            await pieces.aclose()

    run(main())
    assert "the rest is lost" in caplog.text


def test_who_stops_asking_has_the_call_cancelled() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async def main() -> None:
        async with linked(handler) as (link, _), Children("test") as children:
            asking = children.spawn(_awaited(link.ask(Request("GET", "/"))), "asking")
            await begun.wait()
            asking.cancel()
            await cancelled.wait()

    run(main())
    assert cancelled.is_set()


def test_how_many_clients_there_are_is_known_with_every_request_and_every_ping() -> None:
    count = 1

    async def handler(request: Request) -> Response:
        return Response(200)

    async def main() -> None:
        nonlocal count
        async with linked(handler) as (link, core):
            link.count = lambda: count
            await link.ask(Request("GET", "/"))
            assert core.connection_count == 1
            count = 0
            core.line.say((frames.PING,))
            await until(lambda: core.connection_count == 0)
            count = 1
            await link.ask(Request("GET", "/"))
            assert core.connection_count == 1

    run(main())
