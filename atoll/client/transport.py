"""The one seam between a caller and an API server: a request goes in, a response comes out.

Two forms behave alike: `https` goes over the network, `inprocess` calls a handler in this process.
Header names in responses are lower case. A response either has its whole body, or a stream, which
whoever got it must close; `whole` reads it to the end for those who just want the body.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol, cast

from atoll.errors import AtollError
from atoll.exchange import Request, Response


class Unreachable(AtollError):
    """There was no answer, or no whole one: the request may or may not have taken effect.

    Do not conclude that it failed; look, or send the same request again.
    """


class Transport(Protocol):
    """A way to one API server, as one user."""

    async def send(self, request: Request) -> Response:
        """Carry the request there and the answer back; raises Unreachable if there is none."""

    async def close(self) -> None:
        """Let go of connections; streams that are still open end with Unreachable."""


class Closing(Protocol):
    """What every stream of a response is, besides an iterator of bytes."""

    async def aclose(self) -> None: ...


def closing(stream: AsyncIterator[bytes]) -> aclosing[Closing]:
    """`async with closing(response.stream):` closes the stream when the block is left."""
    return aclosing(cast(Closing, stream))


async def whole(response: Response) -> Response:
    """The same response with its whole body, read to the end if it came as a stream."""
    if response.stream is None:
        return response
    async with closing(response.stream):
        pieces = [piece async for piece in response.stream]
    return replace(response, body=b"".join(pieces), stream=None)
