"""Watches over the network at little cost: an answer that comes for as long as there is news.

In: a request as bytes. Out: the head of the answer, and its body by pieces. Each has a connection
of its own. After a piece nothing is read for a moment, so that under much news, each of which comes
alone, what came meanwhile is one piece; who comes first after a pause is read at once. Nothing is
read either while the last piece is not taken. What goes wrong is an OSError.
"""

import asyncio
import ssl
from typing import cast

import httptools

from atoll.client.exchanging import Reach

_GATHERING_S = 0.02


class Streams:
    """The streams of one server."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._open: set[Stream] = set()

    async def open(self, message: bytes, tls: ssl.SSLContext | None, connect_s: float) -> "Stream":
        """Ask, and hear how the answer begins."""
        stream = await self._reach.connect(lambda: Stream(self._open), tls, connect_s)
        is_answered = False
        try:
            await stream.begin(message)
            is_answered = True
        finally:
            if not is_answered:
                stream.close()
        return stream

    def close(self) -> None:
        for stream in list(self._open):
            stream.close()


class Stream(asyncio.Protocol):
    """One answer; header names are lower case. Whoever has it closes it."""

    def __init__(self, streams: set["Stream"]) -> None:
        self._streams = streams
        self.status = 0
        self.headers: dict[str, str] = {}
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._gathering: asyncio.TimerHandle | None = None
        self._pieces: list[bytes] = []
        self._end: StopAsyncIteration | OSError | None = None
        """How it ended, once it did."""

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> bytes:
        while not self._pieces:
            if self._end is not None:
                raise self._end
            await self._news()
        piece, self._pieces = b"".join(self._pieces), []
        self._read_on()
        return piece

    def close(self) -> None:
        self._finish(ConnectionError("it was closed"))

    async def begin(self, message: bytes) -> None:
        """Ask, and wait for the head of the answer."""
        if self._transport is not None:
            self._transport.write(message)
        while not self.status:
            if isinstance(self._end, OSError):
                raise self._end
            await self._news()

    async def _news(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _finish(self, how: StopAsyncIteration | OSError) -> None:
        self._end = self._end or how
        if self._gathering is not None:
            self._gathering.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    def _gather(self) -> None:
        """Read nothing for a moment."""
        if self._transport is not None and self._gathering is None:
            self._transport.pause_reading()
            loop = asyncio.get_running_loop()
            self._gathering = loop.call_later(_GATHERING_S, self._gathered)

    def _gathered(self) -> None:
        self._gathering = None
        self._read_on()

    def _read_on(self) -> None:
        """Read again, if the moment is over and what was read is taken."""
        if self._transport is not None and self._gathering is None and not self._pieces:
            self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not derived from it
        self._streams.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        del self._parser  # it holds on to us
        self._streams.discard(self)
        lasts = self.status and not self.headers.keys() & {"content-length", "transfer-encoding"}
        is_whole = exc is None and lasts  # such a body has no other end
        self._finish(StopAsyncIteration() if is_whole else ConnectionError(exc or "it hung up"))

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._finish(ConnectionError(f"the answer is no HTTP: {error}"))
        if self._pieces:
            self._gather()
            self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}\n{text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._wake()

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        self._finish(StopAsyncIteration())
