"""Simulated members whose way can be cut and slowed down, for as long as one likes.

A cut is what a caller sees of a cluster that is gone or unreachable: requests on the way and open
streams end with Unreachable, and whether a request on the way took effect is not told. The member
itself goes on behind the cut. Nobody waits for an answer for ever, as over the network.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from atoll.client.transport import Transport, Unreachable, closing
from atoll.effects import Effects
from atoll.exchange import Request, Response
from atoll.simulated import member
from atoll.simulated.member import Member

ANSWER_WITHIN_S = 60.0


class Link:
    """A transport around another one; `since` is when it was last cut or healed."""

    def __init__(self, name: str, inner: Transport, clock: Callable[[], datetime]) -> None:
        self._name = name
        self._inner = inner
        self._clock = clock
        self._open: dict[asyncio.Timeout, None] = {}
        self._delay_s = 0.0
        self._cuts = 0
        self.is_cut = False
        self.since = clock()

    def cut(self) -> None:
        """Let nothing through, and break off what is on the way."""
        self._turn(is_cut=True)
        self._cuts += 1
        broken, self._open = self._open, {}
        for one in broken:
            one.reschedule(asyncio.get_running_loop().time())

    def heal(self) -> None:
        """Let everything through again, at full speed. What was broken off stays so."""
        self._turn(is_cut=False)
        self._delay_s = 0.0

    def slow(self, seconds: float) -> None:
        """Let every answer, and every piece of a stream, take this much longer."""
        assert seconds >= 0, "nothing arrives before it was sent"
        self._delay_s = seconds

    async def send(self, request: Request) -> Response:
        async with self._on_the_way(self._cuts, ANSWER_WITHIN_S):
            await asyncio.sleep(self._delay_s)
            response = await self._inner.send(request)
        if response.stream is None:
            return response
        return replace(response, stream=_Stream(self, response.stream))

    async def close(self) -> None:
        """Whoever lets go of the link lets go of it alone: others come by it too."""

    def _turn(self, *, is_cut: bool) -> None:
        if is_cut != self.is_cut:
            self.is_cut, self.since = is_cut, self._clock()

    @asynccontextmanager
    async def _on_the_way(self, cuts: int, within_s: float | None = None) -> AsyncIterator[None]:
        """Something is on the way since the link had been cut so often: the next cut ends it."""
        gone = f"{self._name} is not reachable"
        if self.is_cut or cuts != self._cuts:
            raise Unreachable(gone)
        try:
            async with asyncio.timeout(within_s) as until_cut:
                self._open[until_cut] = None
                try:
                    yield
                finally:
                    self._open.pop(until_cut, None)
        except TimeoutError as error:
            if until_cut.expired():
                raise Unreachable(gone) from error
            raise


class _Stream:
    """A stream that comes through a link; closed even if nobody reads it."""

    def __init__(self, link: Link, inner: AsyncIterator[bytes]) -> None:
        self._link = link
        self._inner = inner
        self._cuts = link._cuts

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        async with self._link._on_the_way(self._cuts):
            piece = await anext(self._inner, None)
            await asyncio.sleep(self._link._delay_s)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        async with closing(self._inner):
            pass


@dataclass(frozen=True, slots=True)
class LinkedMember(Member):
    """A member that is reached by a link."""

    transport: Link

    def kill(self) -> None:
        """From now on nobody reaches it: requests and watches fail. It goes on by itself."""
        self.transport.cut()

    def heal(self) -> None:
        """It is reached again, at full speed."""
        self.transport.heal()

    def slow(self, seconds: float) -> None:
        """Every answer takes this much longer."""
        self.transport.slow(seconds)


def build(name: str, effects: Effects, **how: Any) -> LinkedMember:
    """Put a member together, as `atoll.simulated.member` does, with a link as the way to it."""
    made = member.build(name, effects, **how)
    parts = {each.name: getattr(made, each.name) for each in fields(made)}
    return LinkedMember(**{**parts, "transport": Link(name, made.transport, effects.now)})
