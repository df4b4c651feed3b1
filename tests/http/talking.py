"""Talking to a server on a real socket: start one, send it bytes, read what it answers."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import uvloop

from atoll.apiserver.credentials import Credentials
from atoll.apiserver.gate.core import Core
from atoll.apiserver.gate.link import Link
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.effects import system_now
from atoll.exchange import Handler, Request, Response
from atoll.runtime.children import Children

THROUGH_GATE: ContextVar[bool] = ContextVar("through a gate", default=False)


def run(kind: str, main: Coroutine[Any, Any, None]) -> None:
    """Run on a loop of this kind; whatever the loop would only have logged fails the test."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        async with asyncio.timeout(120):
            await main

    factory = uvloop.new_event_loop if kind == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(watched())
    assert complaints == []


async def echo(request: Request) -> Response:
    """Answer with what was asked."""
    who = f"{request.peer.name} {','.join(request.peer.groups)}" if request.peer else "-"
    text = f"{request.method} {request.path}?{request.query} {who} {len(request.body)}"
    return Response(200, {"Content-Type": "text/plain"}, text.encode())


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class Client:
    """One connection, spoken to in bytes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        raw = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        line, *rest = raw.strip().split("\r\n")
        pairs = (header.split(": ", 1) for header in rest)
        return int(line.split()[1]), {name.lower(): value for name, value in pairs}

    async def answer(self, *, head_only: bool = False) -> Answer:
        status, headers = await self.head()
        if head_only:
            return Answer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            pieces = [piece async for piece in self.chunks()]
            return Answer(status, headers, b"".join(pieces))
        return Answer(
            status, headers, await self.reader.readexactly(int(headers["content-length"]))
        )

    async def chunk(self) -> bytes:
        size = int((await self.reader.readline()).strip(), 16)
        data = await self.reader.readexactly(size)
        assert await self.reader.readexactly(2) == b"\r\n"
        return data

    async def chunks(self) -> AsyncIterator[bytes]:
        while piece := await self.chunk():
            yield piece

    async def get(self, path: str, headers: str = "") -> Answer:
        await self.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode())
        return await self.answer()

    async def is_closed_by_server(self) -> bool:
        try:
            return await self.reader.read(1) == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    def vanish(self) -> None:
        if not self.writer.is_closing():
            self.writer.transport.abort()


@dataclass
class Running:
    """A server that runs, and where."""

    server: HttpServer
    port: int
    credentials: Credentials
    clients: list[Client] = field(default_factory=list)

    async def connect(
        self, *, tls: ssl.SSLContext | None = None, receive_buffer: int | None = None
    ) -> Client:
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        except OSError:
            sock.close()
            raise
        reader, writer = await asyncio.open_connection(
            sock=sock, ssl=tls or client_tls(self.credentials), server_hostname="localhost"
        )
        client = Client(reader, writer)
        self.clients.append(client)
        return client


def client_tls(
    credentials: Credentials, certificate: tuple[str, str] | None = None
) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(credentials.ca))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context


@asynccontextmanager
async def serving(
    credentials: Credentials, handler: Handler = echo, limits: Limits | None = None
) -> AsyncIterator[Running]:
    async with AsyncExitStack() as stack:
        if THROUGH_GATE.get():
            link, _ = await stack.enter_async_context(linked(handler))
            handler = link.ask
        yield await stack.enter_async_context(_serving(credentials, handler, limits or Limits()))


@asynccontextmanager
async def linked(handler: Handler) -> AsyncIterator[tuple[Link, Core]]:
    """A gate's way to a handler, and the core's end of it, here in one loop."""
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    async with Children("linked") as children:
        core, link = Core(handler, children), Link(children)
        for sock, end in ((ours, lambda: core.line), (theirs, link.over)):
            sock.setblocking(False)
            await loop.create_connection(end, sock=sock)
        try:
            yield link, core
        finally:
            link.hang_up()
            await core.lost.wait()


@asynccontextmanager
async def _serving(
    credentials: Credentials, handler: Handler, limits: Limits
) -> AsyncIterator[Running]:
    server = HttpServer(handler, system_now, limits=limits)
    listener = listen("127.0.0.1", 0)
    tls = server_context(credentials.server, credentials.server_key, credentials.ca)
    await server.start(listener, tls)
    running = Running(server, listener.getsockname()[1], credentials)
    try:
        yield running
    finally:
        for client in running.clients:
            client.vanish()
        await server.stop()


async def until(claim: Callable[[], bool]) -> None:
    """Let the loop turn until the claim holds; the test's own timeout is the limit."""
    while not claim():
        await asyncio.sleep(0.005)


Check = Callable[[Running], Awaitable[None]]
