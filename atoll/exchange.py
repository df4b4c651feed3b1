"""One HTTP exchange as plain values: what every server function takes and gives.

The API server is a function from Request to Response. HTTP is one shell around it; the embedded
plane, the simulated members and the simulation call it in process, through the same two types.
Bodies are bytes on both sides, so that nothing can be shared by accident between caller and callee.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Peer:
    """Who the transport vouches for: the subject of a verified client certificate.

    A front proxy is known by its authority: it says in headers for whom it asks.
    """

    name: str
    groups: tuple[str, ...] = ()
    is_front_proxy: bool = False
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()  # what else is known of it


class Draft(NamedTuple):
    """A new object, made ready of a request's body before the server is asked.

    Only a hint: whoever has one may make all of it anew from the body, and does if anything about
    the request is unusual. `head` and `tail` are the object as it would be stored, but for its
    resourceVersion, which belongs between them.
    """

    name: str
    head: bytes
    tail: bytes
    warnings: tuple[str, ...]


# Requests and responses are values: nobody changes one. They are not frozen, for making a frozen
# one takes three times as long, and one of each is made for whatever anybody asks.


@dataclass(slots=True)
class Request:
    """What a caller asks. Header names are lower case; path and query are still encoded."""

    method: str
    path: str
    query: str = ""
    headers: Headers = field(default_factory=dict)
    body: bytes = b""
    peer: Peer | None = None
    source: str = ""  # the address it comes from, if it comes over the network
    draft: Draft | None = None


class Duplex(Protocol):
    """Both directions of a connection that has left HTTP behind."""

    async def read(self) -> bytes:
        """The next bytes from the other side; none once it has ended or is gone."""

    async def write(self, data: bytes) -> None:
        """Send bytes; to one who is gone they are lost without a word."""


Upgrade = Callable[[Duplex], Awaitable[None]]
"""Speaks to the other side over its connection, and returns when all is said."""


@dataclass(slots=True)
class Response:
    """What the caller gets: a whole body, or a stream of chunks that goes on until it ends.

    A stream is closed (`aclose`) by whoever consumes it, also when it stops early. After a 101
    `upgrade` has the connection to itself; whoever does not want that just lets it go.
    """

    status: int
    headers: Headers = field(default_factory=dict)
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None
    upgrade: Upgrade | None = None


Handler = Callable[[Request], Awaitable[Response]]
