"""Watch fan-out: some writers, many watchers, and the time until every watcher knows.

Writers write in bursts, one object each. A burst is over when every watcher has got all its events;
each event at each watcher counts once, and took the time since the burst began.
"""

import asyncio
import time
from collections.abc import Sequence

from bench.connection import Connection, Failed
from bench.load import Sample, Tally, ask, close_all, connections, measured
from bench.objects import get
from bench.servers import Target

_PATIENCE_S = 60


class Audience:
    """The watchers of one namespace's ConfigMaps, who are told events and count them."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._watchers: list[Connection] = []
        self._missing = 0
        self._begun = 0.0
        self._complete = asyncio.Event()
        self._failure: Failed | None = None

    async def assemble(self, target: Target, request: bytes, count: int) -> None:
        self._watchers = await connections(target, count, self._told, self._lost)
        for watcher in self._watchers:
            watcher.send(request)

    def expect(self, events: int) -> None:
        """Begin to wait for this many events at every watcher."""
        self._missing = events * len(self._watchers)
        if self._failure is None:
            self._complete.clear()
        self._begun = time.perf_counter()

    async def complete(self) -> None:
        """Wait until all that is expected has arrived; Failed if a watcher is lost before."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._complete.wait()
        except TimeoutError:
            raise Failed(f"{self._missing} watch events did not arrive") from None
        if self._failure is not None:
            raise self._failure

    def disperse(self) -> None:
        close_all(self._watchers)

    def _lost(self, failure: Failed) -> None:
        self._failure = failure
        self._complete.set()

    def _told(self, data: bytes) -> None:
        # An event is one line, and JSON has no line breaks inside.
        events = data.count(b"\n")
        if events:
            took = time.perf_counter() - self._begun
            self._tally.seconds += [took] * events
            self._missing -= events
            if self._missing <= 0:
                self._complete.set()


async def fan_out(
    target: Target,
    writers: Sequence[Connection],
    path: str,
    bursts: Sequence[Sequence[bytes]],
    *,
    watchers: int,
) -> Sample:
    """The events per second that reach watchers of this path; a burst is a write per writer."""
    tally = Tally()
    audience = Audience(tally)
    revision = await _revision(writers[0], path)
    try:
        await audience.assemble(
            target, get(f"{path}?watch=true&resourceVersion={revision}"), watchers
        )
        # Nobody is measured before everybody listens.
        await measured(target, Tally(seconds=[0.0]), [_burst(writers, bursts[0], audience)])
        tally.seconds.clear()
        return await measured(target, tally, [_all(writers, bursts[1:], audience, tally)])
    finally:
        audience.disperse()


async def _all(
    writers: Sequence[Connection],
    bursts: Sequence[Sequence[bytes]],
    audience: Audience,
    tally: Tally,
) -> None:
    for requests in bursts:
        await _burst(writers, requests, audience)
    tally.count = len(tally.seconds)


async def _burst(
    writers: Sequence[Connection], requests: Sequence[bytes], audience: Audience
) -> None:
    audience.expect(len(requests))
    writing = Tally()
    await asyncio.gather(
        *(ask(writer, one, writing) for writer, one in zip(writers, requests, strict=True))
    )
    await audience.complete()


async def _revision(connection: Connection, path: str) -> str:
    """The revision to watch from: that of a list."""
    answer = await connection.exchange(get(f"{path}?limit=1"))
    _, found, rest = answer.beginning.partition(b'"resourceVersion":"')
    if not found:
        raise Failed(f"a list without a revision: {answer.beginning[:300]!r}")
    return rest.partition(b'"')[0].decode()
