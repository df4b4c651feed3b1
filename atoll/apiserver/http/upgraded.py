"""A client's side of a connection that has left HTTP behind: what it sends, and what it is sent.

Bytes are fed in as they arrive; whoever speaks the new protocol reads them, and the client is not
read from while too many wait. Which protocol it is, is not known here.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WAITING_BYTES_MAX = 256 * 1024


@dataclass(slots=True, eq=False)
class Upgraded:
    """An `exchange.Duplex` over the transport of a connection."""

    transport: asyncio.Transport
    send: Callable[[bytes], None]
    paused: Callable[[], asyncio.Future[None] | None]
    _waiting: deque[bytes] = field(default_factory=deque)
    _waiting_bytes: int = 0
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False

    def feed(self, data: bytes) -> None:
        """The client has sent this."""
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        self._arrived.set()
        if self._waiting_bytes > WAITING_BYTES_MAX:
            self.transport.pause_reading()

    def end(self) -> None:
        """The client sends no more."""
        self._ended = True
        self._arrived.set()

    async def read(self) -> bytes:
        while not self._waiting:
            if self._ended:
                return b""
            self._arrived.clear()
            await self._arrived.wait()
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        if not self.transport.is_closing():
            self.transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        self.send(data)
        if (paused := self.paused()) is not None:
            await paused
