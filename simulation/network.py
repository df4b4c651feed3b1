"""A bad network between a caller and an API server, as a transport around another one.

Weather and draws come in. Requests get lost, answers get lost after their request took effect,
both take time; someone else writes to an object just before we do; watches lag, end and break off.
In calm weather everything passes untouched. What is sent is not known here.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from random import Random

from atoll.client.transport import Transport, Unreachable, closing, whole
from atoll.exchange import Request, Response
from simulation.world import World

_TOUCH = b'{"metadata":{"annotations":{"simulation/touched":"%d"}}}'


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad it is: probabilities, each for one request or one piece of a stream, and delays."""

    lost_request: float = 0.0
    lost_answer: float = 0.0
    touched: float = 0.0
    ended_watch: float = 0.0
    delay_s: float = 0.0
    lag_s: float = 0.0


CALM = Weather()


@dataclass
class Tally:
    """What went wrong so far, by kind."""

    lost_requests: int = 0
    lost_answers: int = 0
    touched: int = 0
    ended_watches: int = 0


@dataclass
class Sky:
    """The weather of now, the same for all who are under it, and what it did so far."""

    world: World
    weather: Weather = CALM
    tally: Tally = field(default_factory=Tally)

    def worsen(self, draws: Random) -> None:
        """Draw one of many kinds of bad weather."""
        self.weather = Weather(
            lost_request=draws.choice((0.0, 0.01, 0.05)),
            lost_answer=draws.choice((0.0, 0.01, 0.05)),
            touched=draws.choice((0.0, 0.05, 0.2)),
            ended_watch=draws.choice((0.0, 0.02, 0.1)),
            delay_s=draws.choice((0.0, 0.01, 0.3)),
            lag_s=draws.choice((0.0, 0.05, 2.0)),
        )

    def clear(self) -> None:
        """From now on everything passes."""
        self.weather = CALM


class Network:
    """A transport that does to requests what the weather wants."""

    def __init__(self, name: str, inner: Transport, sky: Sky, draws: Random) -> None:
        self._name = name
        self._inner = inner
        self._sky = sky
        self._draws = draws

    async def send(self, request: Request) -> Response:
        weather, draws = self._sky.weather, self._draws
        if weather.delay_s:
            await asyncio.sleep(draws.expovariate(1 / weather.delay_s))
        if draws.random() < weather.lost_request:
            self._sky.tally.lost_requests += 1
            raise self._lost(request, "was lost")
        if request.method == "PUT" and draws.random() < weather.touched:
            await self._touch(request)
        response = await self._inner.send(request)
        if draws.random() < weather.lost_answer:
            await whole_or_closed(response)
            self._sky.tally.lost_answers += 1
            raise self._lost(request, f"was answered {response.status}, and nobody heard it")
        if response.stream is None:
            return response
        return replace(response, stream=_Stream(self, response.stream))

    async def close(self) -> None:
        await self._inner.close()

    def breaks(self) -> bool:
        """Whether a stream ends at this piece."""
        ends = self._draws.random() < self._sky.weather.ended_watch
        self._sky.tally.ended_watches += ends
        return ends

    def is_rude(self) -> bool:
        """Whether what ends breaks off, rather than ending in good order."""
        return self._draws.random() < 0.5

    async def lag(self) -> None:
        """Take the time a piece of a stream takes."""
        if self._sky.weather.lag_s:
            await asyncio.sleep(self._draws.uniform(0.0, self._sky.weather.lag_s))

    def lost(self) -> Unreachable:
        return Unreachable(f"the stream from {self._name} broke off")

    async def _touch(self, request: Request) -> None:
        """Be someone else, who writes to the same object first."""
        self._sky.tally.touched += 1
        path = request.path.removesuffix("/status")
        headers = {"content-type": "application/merge-patch+json", "accept": "application/json"}
        body = _TOUCH % self._sky.tally.touched
        touched = await whole(await self._inner.send(Request("PATCH", path, "", headers, body)))
        self._sky.world.note(f"{self._name}: another wrote {path}: {touched.status}")

    def _lost(self, request: Request, how: str) -> Unreachable:
        told = f"{self._name}: {request.method} {request.path} {how}"
        self._sky.world.note(told)
        return Unreachable(told)


async def whole_or_closed(response: Response) -> None:
    """Let go of an answer that nobody will read."""
    if response.stream is not None:
        async with closing(response.stream):
            pass


class _Stream:
    """A stream through the network: late, and not always to its end."""

    def __init__(self, network: Network, inner: AsyncIterator[bytes]) -> None:
        self._network = network
        self._inner = inner

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> bytes:
        if self._network.breaks():
            if self._network.is_rude():
                raise self._network.lost()
            raise StopAsyncIteration
        piece = await anext(self._inner, None)
        await self._network.lag()
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        async with closing(self._inner):
            pass
