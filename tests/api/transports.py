"""How the suite reaches a server: over TLS on loopback, or by calling our handler in process.

`HttpBackend` talks to any server, `ProcessBackend` calls a handler on an event loop that runs in
another thread. Neither knows what a test is about.
"""

import asyncio
import http.client
import queue
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from backends import Answer, Backend
from streams import HttpWatch, Watch

from atoll.exchange import Handler, Peer, Request

ANSWER_TIMEOUT_S = 120.0
IDLE_S = 20
ADMINISTRATOR = Peer("kubernetes-admin", ("system:masters",))


class HttpBackend(Backend):
    """A server on a loopback port, with TLS and the administrator's client certificate."""

    def __init__(self, name: str, url: str, authority: Path, pair: tuple[Path, Path]) -> None:
        self.name = name
        self.url = url
        self.authority = authority
        self.pair = pair
        self._address = (str(urlsplit(url).hostname), int(urlsplit(url).port or 443))
        self._anonymous = ssl.create_default_context(cafile=authority)
        self._tls = ssl.create_default_context(cafile=authority)
        self._tls.load_cert_chain(*pair)
        self._kept = threading.local()

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        # A server may end a connection that was idle for minutes, while other backends were asked.
        if time.monotonic() - getattr(self._kept, "used", 0.0) > IDLE_S:
            self.forget()
        self._kept.used = time.monotonic()
        connection = getattr(self._kept, "connection", None)
        if connection is None:
            connection = self._kept.connection = self._connect(self._tls)
        try:
            return _exchange(connection, method, path, body, headers)
        except (http.client.HTTPException, OSError):
            self.forget()
            raise

    def stranger(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        connection = self._connect(self._anonymous)
        try:
            return _exchange(connection, method, path, b"", headers)
        finally:
            connection.close()

    def forget(self) -> None:
        """Close the connection that is kept for this thread."""
        connection = getattr(self._kept, "connection", None)
        if connection is not None:
            connection.close()
            self._kept.connection = None

    def open(self, path: str, headers: Mapping[str, str]) -> Watch:
        return HttpWatch(self._address, self._tls, path, headers)

    def _connect(self, tls: ssl.SSLContext) -> http.client.HTTPSConnection:
        host, port = self._address
        return http.client.HTTPSConnection(host, port, timeout=ANSWER_TIMEOUT_S, context=tls)


def _exchange(
    connection: http.client.HTTPSConnection,
    method: str,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
) -> Answer:
    # A server may refuse a large body before it has read all of it: the answer is still there.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body or method in ("POST", "PUT", "PATCH"):
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body or None)
    response = connection.getresponse()
    received: dict[str, str] = {}
    for name, value in response.getheaders():
        key = name.lower()
        received[key] = f"{received[key]}, {value}" if key in received else value
    return Answer(response.status, received, response.read())


class ProcessBackend(Backend):
    """Our handler, called without HTTP."""

    name = "in-process"

    def __init__(self, handler: Handler, loop: asyncio.AbstractEventLoop) -> None:
        self.handler = handler
        self.loop = loop

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        return self._ask(_request(method, path, body, headers, ADMINISTRATOR))

    def stranger(self, method: str, path: str, headers: Mapping[str, str]) -> Answer:
        return self._ask(_request(method, path, b"", headers, None))

    def open(self, path: str, headers: Mapping[str, str]) -> Watch:
        return ProcessWatch(self, _request("GET", path, b"", headers, ADMINISTRATOR))

    def forget(self) -> None:
        """There is nothing to let go of."""

    def run(self, start: Callable[[], Any]) -> Any:
        """What a coroutine comes to, on the server's loop."""
        return asyncio.run_coroutine_threadsafe(start(), self.loop).result(ANSWER_TIMEOUT_S)

    def _ask(self, request: Request) -> Answer:
        answer: Answer = self.run(lambda: self._answer(request))
        return answer

    async def _answer(self, request: Request) -> Answer:
        response = await self.handler(request)
        body = response.body
        if response.stream is not None:
            body = b"".join([chunk async for chunk in response.stream])
        return Answer(response.status, _lowered(response.headers), body)


class ProcessWatch(Watch):
    """A watch whose chunks come through a queue from the loop's thread."""

    def __init__(self, backend: ProcessBackend, request: Request) -> None:
        super().__init__()
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        response = backend.run(lambda: backend.handler(request))
        self.status = response.status
        self.headers = _lowered(response.headers)
        self._pump = None
        if response.stream is None:
            self._chunks.put(response.body)
            self._chunks.put(b"")
        else:
            pumping = self._pumping(response.stream)
            self._pump = asyncio.run_coroutine_threadsafe(pumping, backend.loop)

    async def _pumping(self, stream: AsyncIterator[bytes]) -> None:
        try:
            async for chunk in stream:
                self._chunks.put(chunk)
        finally:
            await stream.aclose()  # type: ignore[attr-defined]
            self._chunks.put(b"")

    def _receive(self, timeout: float) -> bytes:
        try:
            return self._chunks.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError from None

    def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()


def _request(
    method: str, path: str, body: bytes, headers: Mapping[str, str], peer: Peer | None
) -> Request:
    path, _, query = path.partition("?")
    return Request(method, path, query, _lowered(headers), body, peer)


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
