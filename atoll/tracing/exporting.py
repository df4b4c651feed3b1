"""Sends spans to a collector, in batches, by OTLP over HTTP; whoever makes them never waits.

Ended spans come in, requests go out. There is room for so many spans; what comes when it is full,
what the collector refuses, and what it cannot be brought to take in time is dropped and counted.
A collector that is away or busy is asked again, ever less often, or when it says. At the end what
is left is sent once, within a short time.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import msgspec

from atoll import __version__
from atoll.client.endpoint import Endpoint
from atoll.client.https import Https, Patience
from atoll.client.transport import Transport, Unreachable
from atoll.config import TracingChoice
from atoll.effects import Chance
from atoll.errors import AtollError
from atoll.exchange import Request, Response
from atoll.instruments.counting import Counter
from atoll.instruments.families import Family
from atoll.runtime.children import Children
from atoll.tracing.encoding import encode
from atoll.tracing.span import Attributes, Span

log = logging.getLogger("atoll.tracing")

EXPORTED, DROPPED, REFUSED, LOST = "exported", "dropped", "refused", "lost"
ROOM = 8192
BATCH = 512
TRIES = 6
_GATHER_S = 1.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0
_FLUSH_WITHIN_S = 2.0
_PATIENCE = Patience(connect_s=5.0, answer_s=10.0, connections_max=1, bytes_max=1 << 20)
_ASKED_AGAIN = (429, 502, 503, 504)  # all other refusals are for good, by the protocol
_HEADERS = {"content-type": "application/json", "user-agent": f"atoll/{__version__}"}


class _Partial(msgspec.Struct, rename="camel"):
    rejected_spans: str | int = 0
    error_message: str = ""


class _Answer(msgspec.Struct, rename="camel"):
    partial_success: _Partial | None = None


_answer = msgspec.json.Decoder(_Answer)


class _TryLater(AtollError):
    """The collector may take the batch later; `pause_s` is when it said so, if it did."""

    def __init__(self, why: str, pause_s: float | None = None) -> None:
        super().__init__(why)
        self.pause_s = pause_s


class Exporter:
    """What is to be sent to one collector; `resource` describes this process to it."""

    def __init__(self, way: Transport, path: str, resource: Attributes) -> None:
        self._way = way
        self._path = path
        self._resource = resource
        self._waiting: deque[Span] = deque()
        self._some = asyncio.Event()
        self._many = asyncio.Event()
        self._is_told = False
        self._spans = Counter(
            "atoll_trace_spans_total",
            "Spans of traces, by what became of them: exported, dropped, refused or lost.",
            "result",
        )

    def keep(self, span: Span) -> None:
        """Have a span sent, unless too many wait already."""
        if len(self._waiting) >= ROOM:
            self._spans.add(DROPPED)
            return
        self._waiting.append(span)
        self._some.set()
        if len(self._waiting) >= BATCH:
            self._many.set()

    def numbers(self) -> Iterator[Family]:
        told = "Spans that wait to be exported."
        yield self._spans.family()
        yield "atoll_trace_spans_waiting", "gauge", told, [("", (), len(self._waiting))]

    async def run(self) -> None:
        """Send what is kept, for ever."""
        while True:
            self._some.clear()
            if not self._waiting:
                await self._some.wait()
            if len(self._waiting) < BATCH:
                self._many.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_GATHER_S):
                        await self._many.wait()
            await self._send_patiently()

    async def flush(self, within_s: float = _FLUSH_WITHIN_S) -> None:
        """Send what is left, if the collector takes it at once; the rest is lost."""
        with suppress(TimeoutError, _TryLater):
            async with asyncio.timeout(within_s):
                while self._waiting:
                    await self._send(self._next())
        self._count(LOST, len(self._waiting))
        self._waiting.clear()

    async def _send_patiently(self) -> None:
        """Send a batch, again and again if need be, but not for ever: newer ones wait behind it."""
        batch, pause_s = self._next(), _FIRST_PAUSE_S
        for left in reversed(range(TRIES)):
            try:
                await self._send(batch)
            except _TryLater as later:
                self._tell(str(later))
                if left:
                    await asyncio.sleep(min(later.pause_s or pause_s, _LONGEST_PAUSE_S))
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return
        for _ in batch:
            self._waiting.popleft()
        self._count(LOST, len(batch))

    def _next(self) -> list[Span]:
        """The spans to send next; they wait until they are done with, whatever happens."""
        return [self._waiting[each] for each in range(min(BATCH, len(self._waiting)))]

    async def _send(self, batch: list[Span]) -> None:
        """Have a batch done with, for better or worse; _TryLater if it is not."""
        body = encode(self._resource, batch)
        try:
            answer = await self._way.send(Request("POST", self._path, "", _HEADERS, body))
        except Unreachable as failed:
            raise _TryLater(str(failed)) from failed
        if answer.status in _ASKED_AGAIN:
            raise _TryLater(f"it answers {answer.status}", _asked_pause_s(answer))
        for _ in batch:
            self._waiting.popleft()
        if answer.status >= 300:
            self._count(REFUSED, len(batch))
            said = answer.body[:200].decode(errors="replace").strip()
            self._tell(f"it answers {answer.status}: {said}")
            return
        rejected = self._rejected(answer, len(batch))
        self._count(REFUSED, rejected)
        self._count(EXPORTED, len(batch) - rejected)
        if self._is_told and not rejected:
            self._is_told = False
            log.info("The collector of traces takes them again")

    def _rejected(self, answer: Response, most: int) -> int:
        """How many spans of a batch the collector did not want, though it took the rest."""
        try:
            found = _answer.decode(answer.body).partial_success if answer.body else None
            count = 0 if found is None else min(max(int(found.rejected_spans), 0), most)
        except ValueError:  # others answer otherwise, and mean the same: it is taken
            return 0
        if found is not None and count:
            self._tell(f"it rejects {count} spans: {found.error_message[:200]}")
        return count

    def _count(self, result: str, spans: int) -> None:
        for _ in range(spans):
            self._spans.add(result)

    def _tell(self, why: str) -> None:
        """Say once that traces do not arrive, until they do."""
        if not self._is_told:
            self._is_told = True
            log.warning("The collector of traces does not take them: %(err)s", {"err": why})


def _asked_pause_s(answer: Response) -> float | None:
    written = answer.headers.get("retry-after", "").strip()
    return float(written) if written.isascii() and written.isdigit() else None


@asynccontextmanager
async def exporting(choice: TracingChoice, chance: Chance) -> AsyncIterator[Exporter]:
    """Send spans where the user wants them for the length of the block, and the last at its end."""
    url = urlsplit(choice.endpoint)
    way = Https(Endpoint(f"{url.scheme}://{url.netloc}"), _PATIENCE)
    resource = {
        "service.name": choice.service,
        "service.version": __version__,
        "service.instance.id": chance.uuid("traces"),
    }
    exporter = Exporter(way, url.path, resource)
    try:
        async with Children("traces") as children:
            children.spawn(exporter.run(), "export")
            yield exporter
    finally:
        await exporter.flush()
        await way.close()
