"""Writes over the network at little cost: HTTP/1.1 exchanges with short answers.

In: a request as bytes. Out: the whole answer. Connections are kept and used again, one exchange at
a time on each. It follows nothing, decompresses nothing and streams nothing: whoever needs that
goes another way. What goes wrong is an OSError.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

import httptools

P = TypeVar("P", bound=asyncio.Protocol)


class Reach(NamedTuple):
    """A server's address; `name` is whom its certificate has to be for, if that is another."""

    host: str
    port: int
    name: str | None = None

    async def connect(
        self, make: Callable[[], P], tls: ssl.SSLContext | None, connect_s: float
    ) -> P:
        """A new connection, with what `make` gives at our end of it."""
        name = (self.name or self.host) if tls is not None else None
        async with asyncio.timeout(connect_s):
            _, made = await asyncio.get_running_loop().create_connection(
                make, self.host, self.port, ssl=tls, server_hostname=name
            )
        return made


@dataclass(slots=True)
class Answered:
    """A whole answer. Header names are lower case; lines of one name are joined."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class HungUp(ConnectionError):
    """The connection ended before there was a whole answer; `unheard` if before any of it."""

    def __init__(self, why: str, *, unheard: bool) -> None:
        super().__init__(why)
        self.unheard = unheard


class Exchanges:
    """The connections to one server."""

    def __init__(self, reach: Reach, *, at_most: int) -> None:
        self._reach = reach
        self._room = asyncio.Semaphore(at_most)
        self._idle: list[_Line] = []
        self._lines: set[_Line] = set()

    async def exchange(
        self, message: bytes, tls: ssl.SSLContext | None, connect_s: float, *, again: bool
    ) -> Answered:
        """The answer to a request. One that may be sent again is, if nobody was there to hear."""
        async with self._room:
            while (line := self._rested(tls)) is not None:
                try:
                    return await self._use(line, message)
                except HungUp as failed:
                    if not (again and failed.unheard):
                        raise
            line = await self._reach.connect(lambda: _Line(tls, self._lines), tls, connect_s)
            return await self._use(line, message)

    def close(self) -> None:
        for line in list(self._lines):
            line.abort()

    async def _use(self, line: "_Line", message: bytes) -> Answered:
        is_whole = False
        try:
            answer = await line.exchange(message)
            is_whole = True
        finally:
            # After half an answer there is no telling where the next one begins.
            if is_whole and line.stays:
                self._idle.append(line)
            else:
                line.abort()
        return answer

    def _rested(self, tls: ssl.SSLContext | None) -> "_Line | None":
        """A connection that is made already, by the same credentials."""
        while self._idle:
            line = self._idle.pop()
            if line.tls is tls and line.is_open:
                return line
            line.abort()
        return None


class _Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, tls: ssl.SSLContext | None, lines: set["_Line"]) -> None:
        self.tls = tls
        self.stays = False
        self._lines = lines
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answered] | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._answer = Answered()
        self._pieces: list[bytes] = []
        self._is_heard = False
        self._lasts = False  # the body, until the connection ends

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, message: bytes) -> Answered:
        if self._transport is None:
            raise HungUp("the connection is closed", unheard=True)
        self._parser = httptools.HttpResponseParser(self)
        self._answer, self._pieces = Answered(), []
        self.stays = self._is_heard = self._lasts = False
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        return await self._waiter

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not derived from it
        self._lines.add(self)

    def data_received(self, data: bytes) -> None:
        if self._parser is None:  # nobody asked anything
            self.abort()
            return
        self._is_heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"the answer is no HTTP: {error}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lines.discard(self)
        if exc is None and self._lasts:
            self.on_message_complete()
        self._fail(HungUp(str(exc or "it hung up"), unheard=not self._is_heard))

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers = self._answer.headers
        headers[key] = f"{headers[key]}\n{text}" if key in headers else text

    def on_headers_complete(self) -> None:
        told = self._answer.headers
        self._lasts = "content-length" not in told and "transfer-encoding" not in told

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        parser, self._parser = self._parser, None
        waiter, self._waiter = self._waiter, None
        if parser is None or waiter is None or waiter.done():
            return
        self._answer.status = parser.get_status_code()
        self._answer.body = b"".join(self._pieces)
        self.stays = parser.should_keep_alive()
        waiter.set_result(self._answer)

    def _fail(self, error: ConnectionError) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
