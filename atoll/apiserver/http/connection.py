"""One client: its bytes become requests, the handler's answers become bytes, in order.

A task runs only while there is something to answer, so an idle connection costs no task. All state
is changed in plain functions; the coroutine only asks what is next, awaits the handler, and writes.
Each write ends on the border of a frame, so that a stream can be ended cleanly at any moment.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from atoll.apiserver.http import refusals, writing
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.reading import Arrival, RequestReader, Stage
from atoll.apiserver.http.tls import peer_of
from atoll.apiserver.http.upgraded import Upgraded
from atoll.exchange import Handler, Response, Upgrade

log = logging.getLogger("atoll.http")

# Larger bodies are written in slices, for encrypting them at once would keep others waiting.
SLICE_BYTES = 256 * 1024

Spawn = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


@dataclass(slots=True)
class Shared:
    """What all connections of a server have in common."""

    handler: Handler
    limits: Limits
    spawn: Spawn
    date: Callable[[], str]
    on_gone: Callable[["Connection"], None]
    loop: asyncio.AbstractEventLoop
    connections: dict["Connection", None] = field(default_factory=dict)
    # Those whose clients are to go on: longest without an answer first.
    awaiting: dict["Connection", None] = field(default_factory=dict)
    leaving: bool = False  # every connection ends with its next answer
    ending: bool = False


def _reader(limits: Limits, transport: asyncio.BaseTransport) -> RequestReader:
    """A reader of requests, who knows from whom they come."""
    tls, address = (transport.get_extra_info(key) for key in ("ssl_object", "peername"))
    peer = peer_of(tls.getpeercert(), tls.getpeercert(binary_form=True)) if tls else None
    # A local socket has no address of this form.
    return RequestReader(limits, peer, str(address[0]) if isinstance(address, tuple) else "")


class Connection(asyncio.Protocol):
    __slots__ = (
        "_buffered",
        "_deadline",
        "_final",
        "_gone",
        "_linger_until",
        "_modern_stream",
        "_paused",
        "_reader",
        "_reading_paused",
        "_shared",
        "_stage",
        "_streaming",
        "_task",
        "_timer",
        "_transport",
        "_upgraded",
        "_waiting",
    )

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._transport: asyncio.Transport
        self._reader: RequestReader
        self._waiting: deque[Arrival] = deque()
        self._task: asyncio.Task[None] | None = None
        self._streaming = False
        self._modern_stream = True
        self._final = False  # the client was told that there are no more answers
        self._gone = False
        self._upgraded: Upgraded | None = None  # once HTTP has been left behind
        self._paused: asyncio.Future[None] | None = None
        self._reading_paused = False
        self._buffered = 0  # when the client was last seen to read
        self._stage: Stage | None = None  # what the deadline is for
        self._deadline: float | None = None
        self._linger_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shared = self._shared
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=shared.limits.write_buffer_bytes)
        self._reader = _reader(shared.limits, transport)
        if shared.ending or len(shared.connections) >= 2 * shared.limits.connections_max:
            self._gone = True
            transport.close()
            return
        if len(shared.connections) >= shared.limits.connections_max:
            self._make_room()
        shared.connections[self] = None
        self._proceed()

    def data_received(self, data: bytes) -> None:
        if self._gone:
            return
        if self._upgraded is not None:
            self._upgraded.feed(data)
            return
        if self._stage == "nothing":
            self._linger()
        self._reader.feed(data)
        self._proceed()

    def eof_received(self) -> None:
        """The client is gone; returning nothing closes the transport."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
        self._waiting.clear()
        self._reader.close()
        if self._upgraded is not None:
            self._upgraded.end()
        if self._timer is not None:
            self._timer.cancel()
        if self._streaming and self._task is not None:
            # It may wait for its next item for ever; other handlers finish what they have begun.
            self._task.cancel()
        self.resume_writing()
        self._shared.connections.pop(self, None)
        self._shared.awaiting.pop(self, None)
        self._shared.on_gone(self)

    def pause_writing(self) -> None:
        if self._paused is None:
            self._paused = self._shared.loop.create_future()
        self._watch_for_stall()

    def resume_writing(self) -> None:
        if self._paused is not None:
            if not self._paused.done():
                self._paused.set_result(None)
            self._paused = None
            self._deadline = self._stage = None

    # What the server calls.

    def end(self) -> None:
        """Hang up: at once if idle, with a clean end if streaming, after the answer otherwise."""
        if self._task is None:
            self._close()
        elif self._streaming:
            self._end_stream()
            self._task.cancel()
            self._close()

    def abort(self) -> None:
        self._transport.abort()

    @property
    def is_streaming(self) -> bool:
        return self._streaming

    # What has arrived, and what is awaited from the client.

    def _proceed(self) -> None:
        """Take in what was read, and see to it that it is answered."""
        reader = self._reader
        if reader.arrivals:
            self._waiting.extend(reader.arrivals)
            reader.arrivals.clear()
            if self._task is None:
                self._shared.awaiting.pop(self, None)
                self._task = self._shared.spawn(self._answer_all(), "http exchange")
        if len(self._waiting) > self._shared.limits.pipelined_max and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()
        if self._task is None:
            self._await_client()

    def _await_client(self) -> None:
        """Nothing is left to answer: the client has to go on, within the time it has for that."""
        reader, limits = self._reader, self._shared.limits
        self._shared.awaiting.setdefault(self)
        if reader.owes_continue:
            reader.owes_continue = False
            self._write(writing.CONTINUE)
        if reader.at_end:
            self._close()
        elif reader.stage != self._stage:
            self._stage = reader.stage
            match reader.stage:
                case "request":
                    self._allow(limits.idle_s)
                case "headers":
                    self._allow(limits.headers_s)
                case "body":
                    self._allow(limits.body_s)
                case "nothing":
                    self._linger_until = self._shared.loop.time() + limits.body_s
                    self._linger()

    def _make_room(self) -> None:
        """Hang up on whoever has asked for nothing for longest, or else refuse this client."""
        shared = self._shared
        idle = next(iter(shared.awaiting), None)
        if idle is None:
            self._reader.refuse(refusals.too_many_connections(shared.limits.connections_max))
            return
        shared.awaiting.pop(idle)
        shared.connections.pop(idle)
        idle.abort()

    def _linger(self) -> None:
        """Read on for a while: to close on a client that still sends would take our answer away."""
        left_s = self._linger_until - self._shared.loop.time()
        self._allow(min(self._shared.limits.linger_s, left_s))

    def _allow(self, within_s: float) -> None:
        """Set the deadline. The timer is moved only forwards in time, or else left to find out."""
        self._deadline = self._shared.loop.time() + within_s
        if self._timer is not None:
            if self._timer.when() <= self._deadline:
                return
            self._timer.cancel()
        self._timer = self._shared.loop.call_at(self._deadline, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        if self._deadline is None or self._gone:
            return
        if self._shared.loop.time() < self._deadline:
            self._timer = self._shared.loop.call_at(self._deadline, self._timer_fired)
        else:
            self._deadline = None
            self._too_late()

    def _too_late(self) -> None:
        if self._paused is not None or self._transport.is_closing():
            self._drop_if_stalled()
        elif self._stage in ("headers", "body"):
            self._reader.refuse(refusals.too_slow())
            self._proceed()
        else:
            self._close()

    def _watch_for_stall(self) -> None:
        self._stage = None
        self._buffered = self._transport.get_write_buffer_size()
        self._allow(self._shared.limits.write_stall_s)

    def _drop_if_stalled(self) -> None:
        if self._transport.get_write_buffer_size() < self._buffered:
            self._watch_for_stall()
        else:
            log.info("Dropped a client that does not read what it asked for")
            self._transport.abort()

    def _close(self) -> None:
        """Send what is buffered, then close; a client that does not read is dropped in the end."""
        if not self._transport.is_closing():
            self._transport.close()
            self._watch_for_stall()

    # Answering.

    async def _answer_all(self) -> None:
        try:
            while (arrival := self._next()) is not None:
                await self._answer(arrival)
                if self._waiting:
                    await asyncio.sleep(0)  # one client's haste is not everyone's delay
            self._rest()
        finally:
            self._stopped()

    def _next(self) -> Arrival | None:
        self._deadline = self._stage = None
        if self._gone or self._final or not self._waiting:
            return None
        return self._waiting.popleft()

    def _rest(self) -> None:
        """All is answered."""
        self._task = None
        if self._gone:
            return
        if self._reading_paused:
            self._reading_paused = False
            self._transport.resume_reading()
        if self._shared.ending or (self._final and self._reader.stage != "nothing"):
            self._close()
        else:
            self._await_client()

    def _stopped(self) -> None:
        """Cancelled or failed half-way: no more can be said on this connection."""
        if self._task is not None:
            self._task = None
            if not self._gone and not self._transport.is_closing():
                self._transport.abort()

    async def _answer(self, arrival: Arrival) -> None:
        request = arrival.what
        if isinstance(request, Response):
            await self._write_whole(request, arrival, method="")
            return
        response = await refusals.answered(self._shared.handler, request, log)
        if response.upgrade is not None:
            await self._hand_over(response, arrival, response.upgrade)
            return
        if response.stream is not None:
            await self._write_stream(response, arrival, method=request.method)
            return
        if len(response.body) > writing.GZIP_FROM_BYTES:
            accepted = request.headers.get("accept-encoding", "")
            response = await writing.compressed(response, accepted)
        await self._write_whole(response, arrival, method=request.method)

    async def _write_whole(self, response: Response, arrival: Arrival, *, method: str) -> None:
        body = response.body
        head = self._head(response, arrival, len(body))
        if not writing.has_body(method, response.status):
            body = b""
        if len(body) <= SLICE_BYTES:
            self._write(head + body)
        else:
            self._write(head)
            for start in range(0, len(body), SLICE_BYTES):
                self._write(body[start : start + SLICE_BYTES])
                await asyncio.sleep(0) if self._paused is None else await self._paused
        if self._paused is not None:
            await self._paused

    def _head(self, response: Response, arrival: Arrival, length: int | None) -> bytes:
        shared = self._shared
        close = not arrival.keep_alive or shared.leaving or shared.ending
        self._final = self._final or close
        date = shared.date()
        return writing.head(response, date, length, close=close, modern=arrival.modern)

    async def _write_stream(self, response: Response, arrival: Arrival, *, method: str) -> None:
        stream = cast("AsyncGenerator[bytes, None]", response.stream)
        async with aclosing(stream):
            if not self._begin_stream(response, arrival, method=method):
                return
            try:
                async for piece in stream:
                    self._write_piece(piece)
                    if self._paused is not None:
                        await self._paused
            except Exception:
                log.exception("Failed in the middle of a stream")
                self._transport.abort()
            else:
                self._end_stream()

    async def _hand_over(self, response: Response, arrival: Arrival, upgrade: Upgrade) -> None:
        """Let another protocol have the connection; after it there is nothing more to be said."""
        self._final = True
        self._write(self._head(response, arrival, 0))
        self._streaming, self._modern_stream = not self._gone, False
        self._upgraded = Upgraded(self._transport, self._write, lambda: self._paused)
        if self._gone:
            self._upgraded.end()
        try:
            await upgrade(self._upgraded)
        except Exception:
            log.exception("Failed in the middle of an upgraded connection")
        self._streaming = False
        self._close()

    def _begin_stream(self, response: Response, arrival: Arrival, *, method: str) -> bool:
        """Write the head; say if the stream itself is wanted."""
        wanted = writing.has_body(method, response.status) and not self._gone
        if not arrival.modern:
            arrival = arrival._replace(keep_alive=False)  # only closing can tell where it ends
        self._write(self._head(response, arrival, None if wanted else 0))
        self._streaming = wanted
        self._modern_stream = arrival.modern
        if wanted and self._shared.ending:
            self._end_stream()
        return self._streaming

    def _write_piece(self, piece: bytes) -> None:
        if piece:
            self._write(writing.chunk(piece) if self._modern_stream else piece)

    def _end_stream(self) -> None:
        self._streaming = False
        if self._modern_stream:
            self._write(writing.LAST_CHUNK)

    def _write(self, data: bytes) -> None:
        if not self._gone and not self._transport.is_closing():
            self._transport.write(data)
