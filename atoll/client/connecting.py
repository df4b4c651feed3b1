"""What aiohttp lacks: connections through a SOCKS5 proxy, and what comes after an answer of 101.

Proxies that speak HTTP are named with each request, and are aiohttp's own business.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.tracing import Trace

from atoll.client.proxies import Proxy, socks_steps
from atoll.exchange import Duplex, Upgrade
from atoll.runtime.children import Children


def connector(proxy: Proxy | None, connections_max: int) -> aiohttp.TCPConnector:
    """What holds the connections of a client."""
    if proxy is not None and proxy.is_socks:
        return _Socks(proxy, connections_max)
    return aiohttp.TCPConnector(limit=connections_max)


class _Socks(aiohttp.TCPConnector):
    """Connections that a SOCKS5 proxy makes."""

    def __init__(self, proxy: Proxy, connections_max: int) -> None:
        super().__init__(limit=connections_max)
        self._by = proxy

    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        loop, url = asyncio.get_running_loop(), req.url
        async with asyncio.timeout(timeout.connect):
            line = await _asked(self._by, (url.host or "", url.port or 443))
            tls = self._get_ssl_context(req)
            name = (req.server_hostname or url.host) if tls else None
            _, protocol = await loop.create_connection(
                self._factory, sock=line, ssl=tls, server_hostname=name
            )
        return protocol


async def _asked(proxy: Proxy, target: tuple[str, int]) -> socket.socket:
    """A socket at whose other end is the target."""
    loop = asyncio.get_running_loop()
    line: socket.socket | None = None
    try:
        found = await loop.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM)
        line = socket.socket(*found[0][:3])
        line.setblocking(False)
        await loop.sock_connect(line, found[0][4])
        await _talk(line, proxy, target)
    except OSError as error:
        if line is not None:
            line.close()
        raise OSError(f"proxy {proxy.url}: {error}") from error
    return line


async def _talk(line: socket.socket, proxy: Proxy, target: tuple[str, int]) -> None:
    loop = asyncio.get_running_loop()
    steps = socks_steps(proxy, target)
    send, count = next(steps)
    while True:
        if send:
            await loop.sock_sendall(line, send)
        got = b""
        while len(got) < count:
            piece = await loop.sock_recv(line, count - len(got))
            if not piece:
                raise OSError("it hung up")
            got += piece
        try:
            send, count = steps.send(got)
        except StopIteration:
            return


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
