"""Asking other estimators: Karmada's protocol, as its scheduler speaks it.

A cluster, where its estimator is and what is needed come in; how much fits goes out, or that it is
not known. One that does not answer is left alone for a while, so that it holds up nobody.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError

from atoll.errors import Malformed
from atoll.estimator.grpc import Bytes, Trust, client_tls
from atoll.estimator.messages import path, read_answer, write_request

UNKNOWN = -1
PAUSE_S, PAUSE_AT_MOST_S = 1.0, 60.0

Address = tuple[str, int]


@dataclass(slots=True)
class _Line:
    """The connection to one estimator; after failures it is not used before a certain time."""

    address: Address
    channel: Channel
    not_before: float = 0.0
    pause_s: float = PAUSE_S


@dataclass(slots=True)
class Estimators:
    """The estimators of all clusters that have one; `address` says where, None if there is none."""

    address: Callable[[str], Address | None]
    trust: Trust = field(default_factory=Trust)
    timeout_s: float = 3.0
    _lines: dict[str, _Line] = field(default_factory=dict)

    async def ask(self, method: str, cluster: str, request: Mapping[str, Any]) -> int:
        """How much fits into a cluster by its own estimator; UNKNOWN if there is no answer."""
        line = self._line(cluster)
        now = asyncio.get_running_loop().time()
        if line is None or now < line.not_before:
            return UNKNOWN
        try:
            call: UnaryUnaryMethod[bytes, bytes] = UnaryUnaryMethod(
                line.channel, path(method), bytes, bytes
            )
            content = write_request(method, {**request, "cluster": cluster})
            answer = read_answer(await call(content, timeout=self.timeout_s))
        except (GRPCError, ProtocolError, StreamTerminatedError, OSError, TimeoutError, Malformed):
            line.not_before = asyncio.get_running_loop().time() + line.pause_s
            line.pause_s = min(2 * line.pause_s, PAUSE_AT_MOST_S)
            return UNKNOWN
        line.pause_s = PAUSE_S
        return answer

    def _line(self, cluster: str) -> _Line | None:
        address, known = self.address(cluster), self._lines.get(cluster)
        if known is not None and known.address != address:
            self._lines.pop(cluster).channel.close()
            known = None
        if known is None and address is not None:
            host, port = address
            channel = Channel(host, port, codec=Bytes(), ssl=client_tls(self.trust))
            known = self._lines[cluster] = _Line(address, channel)
        return known

    def close(self) -> None:
        """Let go of all connections."""
        lines, self._lines = self._lines, {}
        for line in lines.values():
            line.channel.close()
