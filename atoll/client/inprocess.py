"""A transport that calls a handler in this process: the network with nothing in between.

It carries bytes, never objects, and lets others run before each request, so that code which works
here works over HTTPS too. A handler that raises is a bug, and the caller is shown it.
"""

import asyncio
from dataclasses import replace

from atoll.client.transport import Unreachable, closing
from atoll.exchange import Handler, Peer, Request, Response

_BODILESS = (204, 304)


class InProcess:
    """Calls the handler as this peer, whatever peer the request names."""

    def __init__(self, handler: Handler, peer: Peer | None) -> None:
        self._handler = handler
        self._peer = peer
        self._closed = False

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(0)
        if self._closed:
            raise Unreachable("the transport is closed")
        method, path, query, body = request.method, request.path, request.query, request.body
        headers = {name.lower(): value for name, value in request.headers.items()}
        response = await self._handler(Request(method, path, query, headers, body, self._peer))
        lowered = {name.lower(): value for name, value in response.headers.items()}
        if method != "HEAD" and response.status not in _BODILESS:
            return replace(response, headers=lowered)
        if response.stream is not None:
            async with closing(response.stream):
                pass
        return Response(response.status, lowered)

    async def close(self) -> None:
        self._closed = True
