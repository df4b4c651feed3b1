"""The load generator: many clients at once against one server, and what came of it.

In: a target and one coroutine per client. Out: a Sample: how many per second, how many per second
of the server's CPU, how long each took, and how busy this process was itself while it asked.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.arithmetic import percentile, rate
from bench.connection import Answer, Connection, Failed, connect
from bench.servers import Target

_CONNECTING_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one workload against one server."""

    per_s: float
    per_cpu_s: float  # per second of the server's CPU, all its processes taken together
    p50_ms: float
    p99_ms: float
    client_share: float  # of one core; near 1 the numbers are the client's, not the server's


@dataclass(slots=True)
class Tally:
    """What the clients of one round count: things done, and seconds that each step took."""

    count: int = 0
    seconds: list[float] = field(default_factory=list)


async def connections(
    target: Target,
    count: int,
    on_body: Callable[[bytes], None] | None = None,
    on_failure: Callable[[Failed], None] | None = None,
    *,
    as_administrator: bool = False,
) -> list[Connection]:
    """So many connections, TLS and all; a few at a time, so that no handshake times out."""
    tls = target.administrator if as_administrator else target.user
    opened: list[Connection] = []
    while len(opened) < count:
        at_once = min(_CONNECTING_AT_ONCE, count - len(opened))
        connecting = (connect(target.url, tls, on_body, on_failure) for _ in range(at_once))
        opened += await asyncio.gather(*connecting)
    return opened


def close_all(opened: Iterable[Connection]) -> None:
    for connection in opened:
        connection.close()


async def measured(
    target: Target, tally: Tally, clients: Sequence[Coroutine[Any, Any, None]]
) -> Sample:
    """Run the clients to their end, all at once, and weigh what it took; Failed if one fails."""
    failure: Exception | None = None
    cpu_s = target.usage().cpu_s
    own_s, begun = time.process_time(), time.perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client)
    except* Failed as failures:
        failure = failures.exceptions[0]
    if failure is not None:
        raise Failed(f"{target.name}: {failure}")
    wall_s, own_s = time.perf_counter() - begun, time.process_time() - own_s
    cpu_s = target.usage().cpu_s - cpu_s
    return Sample(
        per_s=rate(tally.count, wall_s),
        per_cpu_s=rate(tally.count, cpu_s),
        p50_ms=percentile(tally.seconds, 0.50) * 1e3,
        p99_ms=percentile(tally.seconds, 0.99) * 1e3,
        client_share=rate(own_s, wall_s),
    )


async def ask(connection: Connection, request: bytes, tally: Tally) -> Answer:
    """One exchange, timed; Failed unless the server did what it was asked for."""
    begun = time.perf_counter()
    answer = await connection.exchange(request)
    tally.seconds.append(time.perf_counter() - begun)
    _check(request, answer)
    return answer


def _check(request: bytes, answer: Answer) -> None:
    if answer.status not in (200, 201):
        line = request.partition(b"\r\n")[0].decode()
        raise Failed(f"{line}: {answer.status} {answer.beginning.decode(errors='replace')}")


async def send_all(connection: Connection, requests: Sequence[bytes], tally: Tally) -> None:
    """One client: one request after the other, each as soon as the last one is answered."""
    if not requests:
        return
    left = iter(requests)
    asked, begun = next(left), time.perf_counter()

    def following(answer: Answer) -> bytes | None:
        nonlocal asked, begun
        now = time.perf_counter()
        tally.seconds.append(now - begun)
        _check(asked, answer)
        tally.count += 1
        begun, asked = now, next(left, b"")
        return asked or None

    await connection.converse(asked, following)


def dealt(requests: Sequence[bytes], clients: int) -> list[Sequence[bytes]]:
    """Requests dealt out like cards: request n goes to client n modulo their number."""
    return [requests[n::clients] for n in range(clients)]
