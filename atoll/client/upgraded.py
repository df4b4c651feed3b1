"""A connection that has left HTTP behind, seen by the client: bytes go both ways until one ends.

What aiohttp has for an answer of 101 comes in; an `exchange.Upgrade` goes out, which hands bytes on
between the server and whoever is at the other end, and does not look into them.
"""

import asyncio
from contextlib import suppress
from typing import Any

import aiohttp

from atoll.exchange import Duplex, Upgrade
from atoll.runtime.children import Children

_PIECE_BYTES = 64 * 1024


def upgrade_of(answer: aiohttp.ClientResponse) -> Upgrade:
    """Speak to the server of this answer over its connection, nobody else's from now on."""
    connection = answer.connection
    assert connection is not None, "a 101 keeps its connection"
    transport = connection.transport
    assert transport is not None
    assert connection.protocol is not None
    early = _Early()
    connection.protocol.set_parser(early, None)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    protocol.connection_made(transport)
    transport.set_protocol(protocol)
    reader.feed_data(early.data)
    writer = asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())

    async def upgrade(other: Duplex) -> None:
        over = asyncio.Event()
        try:
            async with Children("an upgraded connection") as children:
                children.spawn(_from_server(reader, other, over), "from the server")
                children.spawn(_to_server(other, writer, over), "to the server")
                await over.wait()
        finally:
            answer.close()

    return upgrade


class _Early:
    """Takes what had come before the connection was ours."""

    def __init__(self) -> None:
        self.data = b""

    def feed_data(self, data: bytes, *_: Any) -> tuple[bool, bytes]:
        self.data += data
        return False, b""


async def _from_server(reader: asyncio.StreamReader, other: Duplex, over: asyncio.Event) -> None:
    try:
        with suppress(OSError):
            while piece := await reader.read(_PIECE_BYTES):
                await other.write(piece)
    finally:
        over.set()


async def _to_server(other: Duplex, writer: asyncio.StreamWriter, over: asyncio.Event) -> None:
    try:
        with suppress(OSError):
            while piece := await other.read():
                writer.write(piece)
                await writer.drain()
    finally:
        over.set()
