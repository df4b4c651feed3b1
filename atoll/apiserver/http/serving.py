"""The HTTP server: a handler and a listening socket come in, connections come and go.

Works alike on uvloop and on plain asyncio, with and without TLS. Knows nothing of Kubernetes; the
handler is any function from Request to Response.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from datetime import datetime
from email.utils import format_datetime

from atoll.apiserver.http.connection import Connection, Shared
from atoll.apiserver.http.limits import Limits
from atoll.exchange import Handler
from atoll.runtime.children import Children

BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Bind a TCP socket, port 0 for any free one; OSError if that cannot be done."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit this: a client whose machine died is noticed within a minute.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):  # macOS spells these differently
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        listener.bind((host, port))
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class HttpServer:
    """Serves from `start` until `stop`, which ends every connection in an orderly way."""

    def __init__(
        self, handler: Handler, now: Callable[[], datetime], *, limits: Limits | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._children = Children("http")
        self._date = _DateHeader(now)
        self._all_gone = asyncio.Event()
        self._shared = Shared(
            handler=handler,
            limits=self._limits,
            spawn=self._children.spawn,
            date=self._date.text,
            on_gone=self._one_gone,
            loop=asyncio.get_running_loop(),
        )
        self._server: asyncio.Server | None = None

    @property
    def connection_count(self) -> int:
        return len(self._shared.connections)

    async def start(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        # The time limits of TLS may only be named where there is TLS.
        self._server = await self._shared.loop.create_server(
            lambda: Connection(self._shared),
            sock=listener,
            ssl=tls,
            backlog=BACKLOG,
            ssl_handshake_timeout=self._limits.handshake_s if tls else None,
            ssl_shutdown_timeout=self._limits.farewell_s if tls else None,
        )

    def take_leave(self) -> None:
        """Go on, but say with every answer that its connection ends: clients look elsewhere."""
        self._shared.leaving = True

    async def stop(self) -> None:
        """Accept no more, finish answers, end streams cleanly; after `shutdown_s` cut the rest."""
        if self._server is not None:
            self._server.close()
        self._shared.ending = True
        for connection in list(self._shared.connections):
            connection.end()
        if self._shared.connections:
            self._all_gone.clear()
            try:
                async with asyncio.timeout(self._limits.shutdown_s):
                    await self._all_gone.wait()
            except TimeoutError:
                self._abort_all()
        await self._children.cancel()

    async def break_off(self) -> None:
        """Stop as one does who loses power: nobody is told, and every connection breaks."""
        if self._server is not None:
            self._server.close()
        self._shared.ending = True
        self._abort_all()
        await self._children.cancel()

    def break_streams(self) -> int:
        """Break every connection on which a stream is under way; gives how many there were."""
        streaming = [each for each in self._shared.connections if each.is_streaming]
        for connection in streaming:
            connection.abort()
        return len(streaming)

    def _abort_all(self) -> None:
        for connection in list(self._shared.connections):
            connection.abort()

    def _one_gone(self, connection: Connection) -> None:
        if not self._shared.connections:
            self._all_gone.set()


class _DateHeader:
    """The Date header, written anew once per second of the loop's clock."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._time = asyncio.get_running_loop().time
        self._second = -1
        self._text = ""

    def text(self) -> str:
        second = int(self._time())
        if second != self._second:
            self._second = second
            self._text = format_datetime(self._now(), usegmt=True)
        return self._text
