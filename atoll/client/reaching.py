"""Where a server is, and how a connection to it is made."""

import asyncio
import ssl
from collections.abc import Callable
from typing import NamedTuple, TypeVar

P = TypeVar("P", bound=asyncio.Protocol)


class Reach(NamedTuple):
    """A server's address; `name` is whom its certificate has to be for, if that is another."""

    host: str
    port: int
    name: str | None = None

    async def connect(
        self, make: Callable[[], P], tls: ssl.SSLContext | None, connect_s: float
    ) -> P:
        """A new connection, with what `make` gives at our end of it."""
        name = (self.name or self.host) if tls is not None else None
        async with asyncio.timeout(connect_s):
            _, made = await asyncio.get_running_loop().create_connection(
                make, self.host, self.port, ssl=tls, server_hostname=name
            )
        return made
