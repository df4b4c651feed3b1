"""A transport over the network: HTTP/1.1 with TLS, as whom an Endpoint says, by aiohttp.

Takes an Endpoint and gives a Transport. It caches and interprets nothing, and repeats only what was
refused for credentials that can be renewed; what goes wrong on the way is Unreachable, whatever the
library calls it. Writes, which are many and whose answers are short, go a way of their own, and so
do watches, whose answers come in many pieces.
"""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from atoll.client.connecting import connector, upgrade_of
from atoll.client.endpoint import Endpoint
from atoll.client.exchanging import Answered, Exchanges, Reach
from atoll.client.identity import Identity
from atoll.client.plugins_aside import ask_aside
from atoll.client.proxies import read_proxy
from atoll.client.streaming import Stream, Streams
from atoll.client.tls import client_context
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.exchange import Request, Response

_SWITCHING = 101
_WHOLE_MAX = 1024 * 1024  # bytes of a body that is read at once
# The body is handed on without them.
_WRITES = frozenset(["POST", "PUT", "PATCH", "DELETE"])
_OWN_LINES = frozenset(["host", "content-length", "connection", "transfer-encoding"])
_WRITING_AT_ONCE = 64  # more only wait at the other end, and every connection costs a handshake
_REPEATABLE = frozenset(["PUT", "DELETE"])
_UNDONE = frozenset(["content-encoding", "content-length", "transfer-encoding", "connection"])


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and how many connections to hold."""

    connect_s: float = 10.0
    answer_s: float = 60.0  # for the head of an answer, and for a body whose length is known
    silence_s: float | None = None  # in a stream; None: for ever
    connections_max: int = 100
    bytes_max: int | None = None  # of an answer; None: as many as it has


class Https:
    """Speaks to one server, as one user. Make it inside a running event loop."""

    def __init__(self, endpoint: Endpoint, patience: Patience | None = None) -> None:
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._identity = Identity(endpoint)
        self._asking = asyncio.Lock()
        self._pair = self._identity.pair()
        self._tls = client_context(endpoint, self._pair)
        proxy = read_proxy(endpoint.proxy) if endpoint.proxy else None
        self._proxy = proxy if proxy is not None and not proxy.is_socks else None
        self._address = urlsplit(endpoint.server)
        self._exchanges, self._streams = self._own_ways() if proxy is None else (None, None)
        self._session: aiohttp.ClientSession | None = aiohttp.ClientSession(
            connector=connector(proxy, self._patience.connections_max),
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=self._patience.connect_s,
                sock_read=self._patience.silence_s,
            ),
            auto_decompress=True,
            cookie_jar=aiohttp.DummyCookieJar(),
            # aiohttp adds these unless told otherwise; a server must see what the caller said.
            skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
        )

    async def send(self, request: Request) -> Response:
        if self._session is None:
            raise Unreachable("the transport is closed")
        try:
            async with asyncio.timeout(self._patience.answer_s):
                if self._exchanges is not None and self._is_short(request):
                    return await self._exchange(self._exchanges, request)
                if self._streams is not None and self._is_watch(request):
                    return await self._watch(self._streams, request)
                answer = await self._begin(self._session, request)
                if answer.status == _SWITCHING:
                    return replace(_response(answer), upgrade=upgrade_of(answer))
                if self._patience.bytes_max is not None:
                    return await self._bounded(answer, self._patience.bytes_max)
                if _is_stream(request, answer):
                    return _response(answer, stream=_Stream.of(answer))
                try:
                    return _response(answer, body=await answer.read())
                finally:
                    answer.release()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Unreachable(f"{self._endpoint.server} did not answer: {_why(error)}") from error
        except UsageError as error:
            # A file or a program that gives credentials may be mended while this goes on.
            raise Unreachable(f"{self._endpoint.server} was not asked: {error}") from error

    async def close(self) -> None:
        session, self._session = self._session, None
        if self._exchanges is not None:
            self._exchanges.close()
        if self._streams is not None:
            self._streams.close()
        if session is not None:
            await session.close()

    async def _bounded(self, answer: aiohttp.ClientResponse, bytes_max: int) -> Response:
        """The whole answer of a server that is not trusted to keep it short."""
        body = bytearray()
        async for piece in _Stream.of(answer):
            body += piece
            if len(body) > bytes_max:
                answer.close()
                raise Unreachable(f"{self._endpoint.server} sent more than {bytes_max} bytes")
        answer.release()
        return _response(answer, body=bytes(body))

    def _own_ways(self) -> tuple[Exchanges | None, Streams | None]:
        address, at_most = self._address, min(self._patience.connections_max, _WRITING_AT_ONCE)
        if address.hostname is None:
            return None, None
        port = address.port or (443 if address.scheme == "https" else 80)
        reach = Reach(address.hostname, port, self._endpoint.server_name)
        return Exchanges(reach, at_most=at_most), Streams(reach)

    def _is_short(self, request: Request) -> bool:
        """Whether it is a write to the server itself, who answers with an object."""
        return request.method in _WRITES and self._is_plain(request)

    def _is_watch(self, request: Request) -> bool:
        """Whether it is a watch of the server itself."""
        is_asked = request.method == "GET" and request.query.startswith("watch=1&")
        return is_asked and self._patience.silence_s is None and self._is_plain(request)

    def _is_plain(self, request: Request) -> bool:
        headers = request.headers
        return (
            self._patience.bytes_max is None
            and "/proxy" not in request.path
            and "upgrade" not in headers
            and "accept-encoding" not in headers
            and not any("\r" in value for value in headers.values())
        )

    async def _exchange(self, exchanges: Exchanges, request: Request) -> Response:
        answer = await self._answered(exchanges, request)
        if answer.status == 401 and self._identity.doubt():
            answer = await self._answered(exchanges, request)
        headers = {name: answer.headers[name] for name in answer.headers if name not in _UNDONE}
        return Response(answer.status, headers, answer.body)

    async def _answered(self, exchanges: Exchanges, request: Request) -> Answered:
        await self._prepare()
        tls = self._tls if self._address.scheme == "https" else None
        connect_s, again = self._patience.connect_s, request.method in _REPEATABLE
        return await exchanges.exchange(self._message(request), tls, connect_s, again=again)

    async def _watch(self, streams: Streams, request: Request) -> Response:
        stream = await self._streamed(streams, request)
        if stream.status == 401 and self._identity.doubt():
            stream.close()
            stream = await self._streamed(streams, request)
        headers = {name: stream.headers[name] for name in stream.headers if name not in _UNDONE}
        pieces = _Stream(stream.__anext__, stream.close, self._endpoint.server)
        return Response(stream.status, headers, stream=pieces)

    async def _streamed(self, streams: Streams, request: Request) -> Stream:
        await self._prepare()
        tls = self._tls if self._address.scheme == "https" else None
        return await streams.open(self._message(request), tls, self._patience.connect_s)

    def _message(self, request: Request) -> bytes:
        """A request as it goes over the wire."""
        query = f"?{request.query}" if request.query else ""
        lines = [
            f"{request.method} {self._address.path.rstrip('/')}{request.path}{query} HTTP/1.1",
            f"host: {self._address.netloc}",
            f"content-length: {len(request.body)}",
        ]
        lines += [f"{k}: {v}" for k, v in _each_value(request) if k.lower() not in _OWN_LINES]
        given = request.headers
        lines += [f"{k}: {v}" for k, v in self._identity.headers() if k.lower() not in given]
        return "\r\n".join([*lines, "", ""]).encode() + request.body

    async def _begin(
        self, session: aiohttp.ClientSession, request: Request
    ) -> aiohttp.ClientResponse:
        answer = await self._ask(session, request)
        if answer.status == 401 and self._identity.doubt():
            answer.release()
            answer = await self._ask(session, request)
        return answer

    async def _ask(
        self, session: aiohttp.ClientSession, request: Request
    ) -> aiohttp.ClientResponse:
        await self._prepare()
        query = f"?{request.query}" if request.query else ""
        given = {name.lower() for name in request.headers}
        headers = CIMultiDict(_each_value(request))
        headers.extend(
            (name, value) for name, value in self._identity.headers() if name not in given
        )
        proxy = self._proxy
        return await session.request(
            request.method,
            URL(f"{self._endpoint.server}{request.path}{query}", encoded=True),
            data=request.body or None,
            headers=headers,
            allow_redirects=False,
            server_hostname=self._endpoint.server_name,
            ssl=self._tls,
            proxy=proxy.url if proxy else None,
            proxy_headers={**proxy.headers(), **self._endpoint.proxy_headers} if proxy else None,
        )

    async def _prepare(self) -> None:
        """Have credentials that are still good; whoever comes meanwhile waits for the same."""
        async with self._asking:
            if self._identity.needs_plugin:
                self._identity.learn(await ask_aside(self._endpoint))
            if self._identity.pair() != self._pair:
                self._pair = self._identity.pair()
                self._tls = client_context(self._endpoint, self._pair)


def _each_value(request: Request) -> Iterator[tuple[str, str]]:
    """The headers of a request, one for each line of a value."""
    for name, value in request.headers.items():
        for line in value.split("\n"):
            yield name, line


def _why(error: Exception) -> str:
    """What went wrong, in the words of the system: aiohttp's own repeat the address and more."""
    distrust: Exception | None = None
    if isinstance(error, ssl.SSLCertVerificationError):
        distrust = error
    elif isinstance(error, aiohttp.ClientConnectorCertificateError):
        distrust = error.certificate_error
    if distrust is not None:
        return f"its certificate cannot be trusted: {getattr(distrust, 'verify_message', distrust)}"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError):
        number = cause.errno or 0  # below 0 are those of names that are not known
        known = os.strerror(number) if number > 0 else cause.strerror
        return known or str(cause) or type(cause).__name__
    return str(cause) or type(cause).__name__


def _is_stream(request: Request, answer: aiohttp.ClientResponse) -> bool:
    """Go sends any larger body without a length, so only reading tells that it has an end.

    One that is said to be large is not held whole, either: that is for who reads it to decide.
    """
    if request.method == "HEAD" or answer.status == 204:
        return False
    return answer.content_length is None or answer.content_length > _WHOLE_MAX


class _Stream:
    """The pieces of a body as they come. No generator: that would ignore being closed early."""

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], close: Callable[[], None], origin: str
    ) -> None:
        self._read = read
        self._close = close
        self._origin = origin

    @classmethod
    def of(cls, answer: aiohttp.ClientResponse) -> "_Stream":
        return cls(answer.content.readany, answer.close, str(answer.url.origin()))

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise Unreachable(f"the stream from {self._origin} broke off: {why}") from error
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._close()


def _response(
    answer: aiohttp.ClientResponse,
    *,
    body: bytes = b"",
    stream: _Stream | None = None,
) -> Response:
    headers: dict[str, str] = {}
    for name, value in answer.headers.items():
        key = name.lower()
        if key in _UNDONE:
            continue
        headers[key] = f"{headers[key]}\n{value}" if key in headers else value
    return Response(answer.status, headers, body, stream)
