"""One end of a stream, or of an upgraded connection, between a gate and the core.

Both ends are alike: what is written here is read there. As much may be under way as a window is
wide; it opens again as the reader comes back for more. So one slow client keeps only those waiting
who write to it, and neither process holds more for it than a window. Knows nothing of HTTP.
"""

import asyncio
from collections import deque

from atoll.apiserver.gate import frames
from atoll.apiserver.gate.frames import Line

WINDOW_BYTES = 256 * 1024
GRANT_FROM_BYTES = WINDOW_BYTES // 4  # less is not worth a message of its own


class BrokenOff(Exception):
    """The other end failed in the middle; its log says why."""


class Flow:
    """An `exchange.Duplex`, of which a stream uses one direction."""

    __slots__ = (
        "_arrived",
        "_line",
        "_number",
        "_passed_on",
        "_pieces",
        "_room",
        "_state",
        "_window",
    )

    def __init__(self, line: Line, number: int) -> None:
        self._line = line
        self._number = number
        self._window = WINDOW_BYTES
        self._room = asyncio.Event()
        self._pieces: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._passed_on = 0
        self._state = 0  # or how it ended

    @property
    def has_ended(self) -> bool:
        """Whether the other end has said all it will ever say."""
        return self._state != 0

    def hear(self, message: frames.Message) -> None:
        """The other end says this."""
        what = message[0]
        if what == frames.DATA:
            self._pieces.append(message[2])
            self._arrived.set()
        elif what == frames.GRANT:
            self._window += message[2]
            self._room.set()
        elif what in (frames.END, frames.FAILED):
            self._state = what
            self._arrived.set()
            self._room.set()

    async def read(self) -> bytes:
        """The next piece; none once there are no more, and BrokenOff if there should be."""
        if self._passed_on >= GRANT_FROM_BYTES:
            self._line.say((frames.GRANT, self._number, self._passed_on))
            self._passed_on = 0
        while not self._pieces:
            if self._state == frames.FAILED:
                raise BrokenOff
            if self._state:
                return b""
            self._arrived.clear()
            await self._arrived.wait()
        piece = self._pieces.popleft()
        self._passed_on += len(piece)
        return piece

    async def write(self, data: bytes) -> None:
        """Send this once there is room; to one who is gone it is lost without a word."""
        if not data:
            return
        while self._window <= 0 and not self._state:
            self._room.clear()
            await self._room.wait()
        await self._line.room()
        self._window -= len(data)
        self._line.say((frames.DATA, self._number, data), len(data))

    def end(self) -> None:
        """Say that no more will be written."""
        self._line.say((frames.END, self._number))
