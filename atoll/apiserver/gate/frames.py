"""What a gate and the core say to each other: batches of plain tuples, each batch one frame.

Both ends are this very program in the same version, over a pair of sockets that nobody else can
reach. A batch is MessagePack, which is plain data whatever is in it: one frame for what gathered in
a turn of the loop, or for the few that somebody waits for, so that both processes are at work at
the same time. What is said to many in a row, as an event to its watchers, is written and read once.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from atoll.exchange import Peer

Message = tuple[Any, ...]

# From the gate.
READY = 0  # clients are let in
REQUEST = 1  # number, method, path, query, headers, body, peer as written, source, draft
CANCEL = 2  # number: nobody is there any more to be told
COUNT = 3  # how many clients are connected
PONG = 4  # the same
LOG = 5  # what is to be logged, as `telling` has it
# From the core.
ANSWER = 6  # number, status, headers, body
DRAFTED = 7  # number, status, headers, what belongs into the gap of the draft
STREAM = 8  # number, status, headers
UPGRADE = 9  # number, status, headers
FAILED = 10  # number: there is no answer, or no more of one
PING = 11
RELOAD = 12  # certificates
STOP = 13
# From both, about a stream or an upgraded connection.
DATA = 14  # number, bytes
GRANT = 15  # number, how many bytes of it were passed on
END = 16  # number

HEAD_BYTES = 4
FULL_BYTES = 4 * 1024 * 1024  # under way to an end that does not read: then nobody says more
BATCH_BYTES = 256 * 1024  # gathered in a turn: more begins another frame
AWAITED_MAX = 8  # gathered, and awaited by somebody: the other end begins, while this one goes on
SOCKET_BYTES = 1024 * 1024


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[Any, ...]]).decode
read_peer = msgspec.msgpack.Decoder(Peer).decode


def written(batch: list[Message]) -> bytes:
    """A batch as a frame."""
    said: list[Message] = []
    for message in batch:
        if message[0] != DATA:
            said.append(message)
        elif said and said[-1][0] == DATA and said[-1][2] is message[2]:
            said[-1][1].append(message[1])
        else:
            said.append((DATA, [message[1]], message[2]))
    content = _encode(said)
    return len(content).to_bytes(HEAD_BYTES, "little") + content


def read(content: bytes | memoryview) -> list[Message]:
    """The batch in a frame."""
    batch: list[Message] = []
    for message in _decode(content):
        if message[0] == DATA:
            batch += [(DATA, number, message[2]) for number in message[1]]
        else:
            batch.append(message)
    return batch


class Line(asyncio.Protocol):
    """One end of the socket between a gate and the core."""

    def __init__(
        self, on_batch: Callable[[list[Message]], None], on_lost: Callable[[], None]
    ) -> None:
        self._on_batch = on_batch
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._out: list[Message] = []
        self._in = bytearray()
        self._gathered = 0
        self._awaited = 0
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=FULL_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.resume_writing()
        self._on_lost()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def room(self) -> None:
        """Wait while the other end does not read what was said."""
        if not self._room.is_set():
            await self._room.wait()

    def say(self, message: Message, size: int = 0, *, awaited: bool = False) -> None:
        """Send this with whatever else is said in this turn; lost if the other end is gone.

        What has a `size` in bytes is sent at once where much has gathered, and what is `awaited`
        where somebody waits for some others too.
        """
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(message)
        self._gathered += size
        self._awaited += awaited
        if self._gathered > BATCH_BYTES or self._awaited >= AWAITED_MAX:
            self._flush()

    def _flush(self) -> None:
        batch, self._out = self._out, []
        self._gathered = self._awaited = 0
        if batch and self._transport is not None:
            self._transport.write(written(batch))

    def data_received(self, data: bytes) -> None:
        size = int.from_bytes(data[:HEAD_BYTES], "little")
        if not self._in and size == len(data) - HEAD_BYTES:  # one whole frame, as mostly
            self._on_batch(read(memoryview(data)[HEAD_BYTES:]))
            return
        waiting = self._in
        waiting += data
        while len(waiting) >= HEAD_BYTES:
            end = HEAD_BYTES + int.from_bytes(waiting[:HEAD_BYTES], "little")
            if len(waiting) < end:
                break
            frame = bytes(memoryview(waiting)[HEAD_BYTES:end])
            del waiting[:end]
            self._on_batch(read(frame))

    def close(self) -> None:
        """Say what was said, and no more."""
        if self._transport is not None:
            self._flush()
            self._transport.close()


_STACK = "stack"


def told(record: logging.LogRecord) -> Message:
    """A record as plain values: how bad, by whom, the sentence, and what belongs into it."""
    text, values = record.msg, {}
    if isinstance(record.args, Mapping):
        values = {name: _plain(value) for name, value in record.args.items()}
    else:
        text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and record.exc_info:
        text = text if values else text.replace("%", "%%")
        values.setdefault("err", _sound(f"{type(error).__name__}: {error}"))
        values[_STACK] = _sound(logging.Formatter().formatException(record.exc_info))
    return record.levelno, record.name, _sound(text), values


def write(message: Message) -> None:
    """Write what was told into the log of this process."""
    level, name, text, values = message
    logger = logging.getLogger(name)
    if logger.isEnabledFor(level):
        record = logger.makeRecord(name, level, "", 0, text, (values,) if values else (), None)
        record.exc_text = values.get(_STACK)
        logger.handle(record)


def _plain(value: object) -> object:
    """A value that can be sent, and still be formatted as a number if it is one."""
    if value is None or type(value) in (bool, float):
        return value
    if isinstance(value, int | float):
        is_whole = isinstance(value, int) and value.bit_length() < 64
        return int(value) if is_whole else float(value)
    return _sound(str(value))


def _sound(text: str) -> str:
    """Text without halves of characters, which cannot be written."""
    return text.encode(errors="replace").decode()
