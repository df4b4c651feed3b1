"""One HTTP/1.1 connection of the load generator: bytes of a request out, an answer in.

As thin as it can be, because it runs on the machine it measures: requests come encoded, bodies are
not decoded, and only the beginning of a body is kept, where lists have their metadata.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import NamedTuple, cast
from urllib.parse import urlsplit

import httptools

_KEPT_BYTES = 2048


class Failed(Exception):
    """The server did not do what the measurement is about, so there is nothing to measure."""


class Answer(NamedTuple):
    """The status of a response, and how its body begins."""

    status: int
    beginning: bytes
    body_bytes: int


class Connection(asyncio.Protocol):
    """One exchange at a time. What arrives of a body is also told to `on_body`, as it arrives, and
    `on_failure` is told when no more can."""

    def __init__(
        self,
        on_body: Callable[[bytes], None] | None = None,
        on_failure: Callable[[Failed], None] | None = None,
    ) -> None:
        self._tell = on_body
        self._tell_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._failure: Failed | None = None
        self._following: Callable[[Answer], bytes | None] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._begin()

    async def exchange(self, request: bytes) -> Answer:
        """Send a request and wait for the end of its answer, whatever its status is."""
        self.send(request)
        self._waiter = self._loop.create_future()
        return await self._waiter

    async def converse(self, request: bytes, following: Callable[[Answer], bytes | None]) -> None:
        """Send a request, and after each answer at once what is said to follow it, if anything."""
        self._following = following
        try:
            await self.exchange(request)
        finally:
            self._following = None

    def send(self, request: bytes) -> None:
        """Send a request whose answer has no end, such as a watch."""
        if self._failure is not None:
            raise self._failure
        assert self._transport is not None, "connected before it is used"
        self._transport.write(request)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not derived from it

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(Failed(f"the server closed a connection: {exc or 'without a reason'}"))

    def on_body(self, data: bytes) -> None:
        self._body_bytes += len(data)
        if len(self._beginning) < _KEPT_BYTES:
            self._beginning += data[:_KEPT_BYTES]
        if self._tell is not None:
            self._tell(data)

    def on_message_complete(self) -> None:
        answer = Answer(self._parser.get_status_code(), self._beginning, self._body_bytes)
        self._begin()
        try:
            following = self._following(answer) if self._following is not None else None
        except Failed as failure:
            self._fail(failure)
            return
        if following is not None:
            self.send(following)
            return
        waiter, self._waiter = self._waiter, None
        if waiter is None:
            self._fail(Failed(f"a watch ended: {answer.status} {answer.beginning[:300]!r}"))
        elif not waiter.done():
            waiter.set_result(answer)

    def _begin(self) -> None:
        self._beginning = b""
        self._body_bytes = 0

    def _fail(self, failure: Failed) -> None:
        if self._failure is None:
            self._failure = failure
            if self._tell_failure is not None:
                self._tell_failure(failure)
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(failure)


async def connect(
    url: str,
    tls: ssl.SSLContext,
    on_body: Callable[[bytes], None] | None = None,
    on_failure: Callable[[Failed], None] | None = None,
) -> Connection:
    address = urlsplit(url)
    assert address.hostname is not None
    assert address.port is not None, "a server of the bench is named with its port"
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: Connection(on_body, on_failure), address.hostname, address.port, ssl=tls
    )
    return connection
