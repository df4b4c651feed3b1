"""Asking servers that users name: JSON goes there by POST, an answer comes back, in bounds.

Webhooks of all sorts are asked this way. Connections are kept and used again, one set for each
server, its authority and the name it must have; nothing goes by a proxy of the environment, and no
redirect is followed. What the JSON means is not known here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atoll.client.endpoint import Endpoint
from atoll.client.transport import Transport, Unreachable
from atoll.exchange import Request, Response

if TYPE_CHECKING:  # it loads all that speaks to other servers, ten megabytes; most name none
    from atoll.client.https import Patience

Open = Callable[[Endpoint, "Patience"], Transport]

ANSWER_BYTES_MAX = 3 << 20
IDLE_WAYS_MAX = 64
_HEADERS = {"content-type": "application/json", "accept": "application/json, */*"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where to ask: a server, by its URL without a path, and how it shows who it is."""

    server: str
    ca: bytes | None = None
    name: str | None = None  # that its certificate must have, if not the one in the URL


def over_network(endpoint: Endpoint, patience: "Patience") -> Transport:
    from atoll.client.https import Https

    return Https(endpoint, patience)


@dataclass(slots=True)
class _Way:
    transport: Transport
    users: int = 0


class Posting:
    """Ways to the servers that are asked."""

    def __init__(self, open_way: Open = over_network, *, bytes_max: int = ANSWER_BYTES_MAX) -> None:
        self._open = open_way
        self._bytes_max = bytes_max
        self._ways: OrderedDict[Place, _Way] = OrderedDict()
        self._is_closed = False

    async def post(
        self, place: Place, path: str, query: str, body: bytes, timeout_s: float
    ) -> Response:
        """The answer; TimeoutError if there is none in time, Unreachable if there is none at all.

        UsageError says that the authority of the place is none.
        """
        way = self._way(place)
        way.users += 1
        try:
            async with asyncio.timeout(timeout_s):
                return await way.transport.send(Request("POST", path, query, _HEADERS, body))
        finally:
            way.users -= 1
            await self._tidy()

    async def keep(self) -> None:
        """Keep the ways open for as long as this runs."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of all connections; from now on nobody can be asked."""
        self._is_closed = True
        while self._ways:
            _, way = self._ways.popitem()
            await way.transport.close()

    def _way(self, place: Place) -> "_Way":
        way = self._ways.get(place)
        if way is None:
            if self._is_closed:
                raise Unreachable(f"{place.server} is not asked any more: the plane ends")
            from atoll.client.https import Patience

            endpoint = Endpoint(place.server, ca=place.ca, server_name=place.name)
            # Whoever asks has a time limit of its own, which must be the first to be reached.
            patience = Patience(connect_s=60.0, answer_s=60.0, bytes_max=self._bytes_max)
            way = self._ways[place] = _Way(self._open(endpoint, patience))
        self._ways.move_to_end(place)
        return way

    async def _tidy(self) -> None:
        """Close what has been idle for longest, if too much is."""
        idle = [place for place, way in self._ways.items() if not way.users]
        for place in idle[: max(0, len(idle) - IDLE_WAYS_MAX)]:
            await self._ways.pop(place).transport.close()
