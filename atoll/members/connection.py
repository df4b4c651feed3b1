"""The one way over which everything speaks to a member: bounded, paced, and patient.

A transport comes in, and is one again. Requests go at a rate and only so many at once; those who
ask how the member is, and those who follow it, do not wait behind the others. A member that does
not answer is soon asked by one at a time only: others are told so at once, except those who follow
it, who wait until it answers. Streams end when it goes silent: whoever follows must look again.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from atoll.client.transport import Transport, Unreachable, closing, whole
from atoll.effects import Effects
from atoll.exchange import Request, Response
from atoll.members.pacing import Breaker, Bucket, asked_to_wait

log = logging.getLogger("atoll.members")

_PROBES = ("/readyz", "/healthz", "/livez", "/version")
_TRIES = 3
_NO_CODE = "<error>"  # as Kubernetes' clients count what was not answered
_SPREAD_S = 1.0
_IMPATIENT_S = 5.0
"""Whoever goes away after so long went because there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a member is asked; rate and burst are Karmada's cluster-api-qps and -burst.

    Karmada's own 40 and 60 are for members that cannot protect themselves, and are what makes it
    slow; API servers have shared out what they can do among those who ask for years now.
    """

    rate: float = 400.0
    burst: int = 600
    at_once: int = 32
    following_at_once: int = 8
    answer_s: float = 30.0
    silence_s: float = 900.0  # of a stream; servers say something more often


USUAL_LIMITS = Limits()


class Lane(Enum):
    """Who asks: one that finds out how the member is, one that follows it, or anybody."""

    PROBE = 0
    FOLLOW = 1
    USUAL = 2


def lane_of(request: Request) -> Lane:
    """In which lane a request goes."""
    if request.method != "GET":
        return Lane.USUAL
    if request.path.startswith(_PROBES):
        return Lane.PROBE
    asked = request.query.split("&")
    follows = "watch=1" in asked or "watch=true" in asked
    return Lane.FOLLOW if follows or "limit=" in request.query else Lane.USUAL


class Connection:
    """A transport to one member; `turned` is told when the member goes silent or answers again."""

    def __init__(
        self,
        name: str,
        inner: Transport,
        effects: Effects,
        *,
        limits: Limits = USUAL_LIMITS,
        turned: Callable[[], None] = lambda: None,
    ) -> None:
        self._name = name
        self._inner = inner
        self._effects = effects
        self._limits = limits
        self._turned = turned
        self._draws = effects.chance.of(f"connection {name}")
        self._bucket = Bucket.full(limits.rate, limits.burst, _clock())
        self._rooms = {
            Lane.FOLLOW: asyncio.Semaphore(limits.following_at_once),
            Lane.USUAL: asyncio.Semaphore(limits.at_once),
        }
        self._breaker = Breaker()
        self._heard_at: datetime | None = None
        self._news = asyncio.Event()
        self._streams: dict[asyncio.Timeout, None] = {}
        self.answers: dict[tuple[str, str], int] = {}
        """How often a method was answered with a code."""

    @property
    def is_silent(self) -> bool:
        """Whether the member did not answer when it was asked last, more than once."""
        return self._breaker.is_open

    async def send(self, request: Request) -> Response:
        lane = lane_of(request)
        tries = 1 if lane is Lane.PROBE else _TRIES
        while True:
            response = await self._once(request, lane)
            pause_s = asked_to_wait(response.status, response.headers)
            if pause_s is None:
                return response
            self._bucket = self._bucket.held(_clock(), pause_s)
            tries -= 1
            if not tries:
                return response
            await whole(response)  # so that its connection is free
            if lane is Lane.FOLLOW:  # others wait for their token
                await asyncio.sleep(pause_s)

    async def close(self) -> None:
        await self._inner.close()

    async def _once(self, request: Request, lane: Lane) -> Response:
        if lane is Lane.PROBE:
            self._bucket, _ = self._bucket.taken(_clock())
            return await self._attempt(request, lane, is_trial=False)
        if lane is Lane.USUAL and self._breaker.asked(_clock()) is None:
            raise Unreachable(self._silence(_clock()))
        async with self._rooms[lane]:
            await self._wait_for_token(lane)
            is_trial = await self._pass(lane)
            return await self._attempt(request, lane, is_trial=is_trial)

    async def _wait_for_token(self, lane: Lane) -> None:
        """Keep to the rate; only those who may bring much work wait for it."""
        self._bucket, wait_s = self._bucket.taken(_clock())
        if lane is Lane.USUAL and wait_s > 0:
            await asyncio.sleep(wait_s)

    async def _pass(self, lane: Lane) -> bool:
        """Go on if the member answers, or on trial; else followers wait, and others cannot."""
        while (asked := self._breaker.asked(_clock())) is None:
            if lane is not Lane.FOLLOW:
                raise Unreachable(self._silence(_clock()))
            await self._until_news(self._breaker.wait_s(_clock()))
            # Not all at once: there may be many.
            await asyncio.sleep(self._draws.uniform(0.0, _SPREAD_S))
        self._breaker = asked
        return asked.on_trial

    async def _until_news(self, at_most_s: float) -> None:
        """Wait until there is an answer, or it may be time for a trial."""
        self._news.clear()
        try:
            async with asyncio.timeout(at_most_s or None):
                await self._news.wait()
        except TimeoutError:
            return

    async def _attempt(self, request: Request, lane: Lane, *, is_trial: bool) -> Response:
        begun, is_told = _clock(), False
        try:
            async with asyncio.timeout(self._limits.answer_s):
                response = await self._inner.send(request)
            is_told = True
            self._count(request.method, str(response.status))
        except TimeoutError:
            is_told, why = True, f"no answer within {self._limits.answer_s:g} s"
            self._count(request.method, _NO_CODE)
            self._note_failure(why)
            raise Unreachable(f"cluster {self._name}: {why}") from None
        except Unreachable as failed:
            is_told = True
            self._count(request.method, _NO_CODE)
            self._note_failure(str(failed))
            raise
        finally:
            if not is_told:
                self._note_leaving(_clock() - begun, is_trial=is_trial)
        self._heard_at = self._effects.now()
        draw = self._draws.random()
        self._turn(self._breaker.answered(_clock(), _clock() - begun, draw))
        if response.stream is None:
            return response
        limit_s = self._limits.silence_s if lane is Lane.FOLLOW else self._limits.answer_s
        return replace(response, stream=_Stream(self, response.stream, limit_s))

    def _note_leaving(self, waited_s: float, *, is_trial: bool) -> None:
        """Somebody went away without having heard anything."""
        if waited_s >= _IMPATIENT_S:
            self._note_failure(f"no answer within {waited_s:.0f} s")
        elif is_trial:
            self._turn(self._breaker.given_up())

    def _count(self, method: str, code: str) -> None:
        self.answers[method, code] = self.answers.get((method, code), 0) + 1

    def _note_failure(self, why: str) -> None:
        self._turn(self._breaker.failed(_clock(), why, self._draws.random()))

    def _turn(self, after: Breaker) -> None:
        before, self._breaker = self._breaker, after
        if after.on_trial < before.on_trial or not after.is_open:
            self._news.set()
        if before.is_open == after.is_open:
            return
        if after.is_open:
            said = {"cluster": self._name, "err": after.why}
            log.warning("Cluster %(cluster)s does not answer: %(err)s", said)
            broken, self._streams = self._streams, {}
            for each in broken:
                each.reschedule(_clock())
        else:
            log.info("Cluster %(cluster)s answers again", {"cluster": self._name})
        self._turned()

    def _silence(self, now: float) -> str:
        known = self._heard_at
        since = f" since {known:%Y-%m-%dT%H:%M:%SZ}" if known is not None else ""
        why, wait_s = self._breaker.why, self._breaker.wait_s(now)
        then = f"next attempt in {wait_s:.0f} s" if wait_s > 0 else "it is being tried again"
        return f"cluster {self._name} has not answered{since} ({why}); {then}"

    @asynccontextmanager
    async def waiting(self, limit_s: float) -> AsyncIterator[None]:
        """A piece of a stream is waited for: not for ever, and not while the member is silent."""
        try:
            async with asyncio.timeout(limit_s) as until_silent:
                self._streams[until_silent] = None
                try:
                    yield
                finally:
                    self._streams.pop(until_silent, None)
        except TimeoutError:
            raise Unreachable(f"a stream from cluster {self._name} fell silent") from None


class _Stream:
    """A stream that comes over a connection; closed even if nobody reads it."""

    def __init__(self, connection: Connection, inner: AsyncIterator[bytes], limit_s: float) -> None:
        self._connection = connection
        self._inner = inner
        self._limit_s = limit_s

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        async with self._connection.waiting(self._limit_s):
            piece = await anext(self._inner, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        async with closing(self._inner):
            pass


def _clock() -> float:
    return asyncio.get_running_loop().time()
