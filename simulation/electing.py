"""Several who would lead, on a bad network: no two of them ever write in turns.

A world comes in; the tally of what happened goes out. Each candidate counts in an object of its
own API server while it leads; its requests are late, lost, or cut off, it is killed, stopped in
good order, or fails. What is stored must be one leader's counting after the other's, never mixed,
and somebody must lead soon after the last one could not go on.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import orjson

from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient, Missing, Refused, Stale, Taken
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable
from atoll.errors import AtollError
from atoll.exchange import Peer, Request, Response
from atoll.hosting.electing import SEAT, Term, lead
from atoll.hosting.leading import LeaseTimes
from atoll.runtime.children import Children
from atoll.runtime.supervisor import Supervisor
from atoll.store.memory import MemoryLog
from atoll.store.record import Event
from atoll.store.store import Store
from simulation.objects import CONFIGMAPS, DEFAULT, NAMESPACES
from simulation.world import World

ADMIN = Peer("admin", (MASTERS,))
TIMES = LeaseTimes()
CANDIDATES = 3
COUNT_EVERY_S = 0.3
COUNTED = "counted"
_NAMESPACE = {"metadata": {"name": SEAT.namespace}}
_LATE_S = 40.0


class Fell(AtollError):
    """The work of a leader failed, as work may."""


@dataclass
class Tally:
    """What happened; `term` is the one whose counting was stored last, `late` came after it."""

    terms: int = 0
    counted: int = 0
    refused: int = 0
    late: int = 0
    stopped: int = 0
    killed: int = 0
    failed: int = 0
    cut: int = 0
    term: int = 0
    open: dict[int, Term] = field(default_factory=dict)

    def committed(self, events: Sequence[Event]) -> None:
        """Whoever counted before another did never counts again."""
        for event in events:
            if event.after.name != f"{DEFAULT}/{COUNTED}":
                continue
            data = orjson.loads(event.after.value)["data"]
            term = int(data["term"])
            assert term >= self.term, f"term {term} wrote after term {self.term} did"
            self.term = term
            self.counted += 1

    def answered(self, request: Request, response: Response) -> None:
        """A write of a leader that has a successor came at last, and was refused."""
        if response.status == 409 and request.path.endswith(COUNTED):
            self.late += int(orjson.loads(request.body)["data"]["term"]) < self.term

    def decides(self, number: int) -> None:
        """Whoever decides is the only one who believes that it leads."""
        self.open = {each: term for each, term in self.open.items() if term.left_s}
        assert self.open.keys() <= {number}, f"terms {[*self.open]} last, and {number} decides"


Answered = Callable[[Request, Response], None]


class Road:
    """One candidate's way to the server: requests are late, lost, and sometimes cut off.

    A write that is on its way arrives, even when nobody waits for its answer any more.
    """

    def __init__(
        self, inner: Transport, draws: Random, on_the_way: Children, answered: Answered
    ) -> None:
        self._inner = inner
        self._answered = answered
        self._draws = draws
        self._on_the_way = on_the_way
        self.is_cut = False
        self.is_bad = True

    async def send(self, request: Request) -> Response:
        if request.method == "GET":
            return await self._carry(request)
        return await asyncio.shield(self._on_the_way.spawn(self._carry(request), request.path))

    async def _carry(self, request: Request) -> Response:
        await self._travel()
        response = await self._inner.send(request)
        if response.stream is None:
            self._answered(request, response)
            await self._travel()
        return response

    async def _travel(self) -> None:
        if self.is_bad:
            draw = self._draws.random()
            await asyncio.sleep(draw * _LATE_S if draw < 0.01 else draw * 0.2)
            if draw > 0.97:
                raise Unreachable("it was lost")
        while self.is_cut:
            await asyncio.sleep(1.0)

    async def close(self) -> None:
        await self._inner.close()


async def electing(world: World, virtual_s: float = 600.0) -> Tally:
    """Let candidates come and go for so long, then let them be: one leads, and goes on."""
    effects, tally = world.effects("host"), Tally()
    store = Store.open(MemoryLog())
    store.listen(tally.committed)
    async with Supervisor("host", effects.chance) as host:
        host.start("store", store.run)
        server = assemble(store, effects, kinds=plane_kinds(effects))
        await server.start()
        for name, service in server.services.items():
            host.start(name, service)
        await _prepare(ApiClient(InProcess(server.handle, ADMIN)))
        async with (
            Children("on the way") as on_the_way,
            Supervisor("candidates", effects.chance, stop_within_s=60.0) as all_of_them,
        ):
            for number in range(CANDIDATES):
                name = f"candidate-{number}"
                one = Contender(world, name, server, tally, on_the_way)
                all_of_them.start(name, partial(one.live, virtual_s))
            await asyncio.sleep(virtual_s)
            world.note("all is calm")
            await asyncio.sleep(4 * TIMES.duration_s)
            before, term = tally.counted, tally.term
            await asyncio.sleep(2 * TIMES.duration_s)
            assert tally.counted > before, "nobody leads in calm weather"
            assert tally.term == term, "another leads although nothing happened"
    await store.close()
    return tally


async def _prepare(api: ApiClient) -> None:
    await api.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", **_NAMESPACE})


@dataclass
class Contender:
    """One who would lead: lives short lives while it is stormy, and counts while it leads."""

    world: World
    name: str
    server: Assembly
    tally: Tally
    on_the_way: Children
    lives: int = 0

    async def live(self, virtual_s: float) -> None:
        """Live short lives while it is stormy, and then one that lasts."""
        draws = self.world.effects(self.name).chance.of("lives")
        clock = asyncio.get_running_loop().time
        while clock() < virtual_s:
            road = self._road(draws)
            for_s = min(draws.expovariate(1 / 60), virtual_s - clock())
            with suppress(Fell):
                await self._live_once(road, draws, for_s)
            await asyncio.sleep(draws.uniform(0.0, 5.0))
        road = self._road(draws)
        road.is_bad = False
        await self._lead(road, draws)

    def _road(self, draws: Random) -> Road:
        return Road(
            InProcess(self.server.handle, ADMIN), draws, self.on_the_way, self.tally.answered
        )

    async def _live_once(self, road: Road, draws: Random, for_s: float) -> None:
        life = asyncio.create_task(self._lead(road, draws), name=f"{self.name} lives")
        cutting = asyncio.create_task(self._cut(road, draws), name=f"{self.name}'s road")
        try:
            await asyncio.wait((life,), timeout=for_s)
            if draws.random() < 0.5 and not life.done():
                # Dead at once: nothing of it is heard any more.
                self.tally.killed += 1
                road.is_cut = True
                await asyncio.sleep(2 * TIMES.duration_s)
        finally:
            cutting.cancel()
            self.tally.stopped += life.cancel()
            await asyncio.wait((life, cutting))
        if not life.cancelled():
            life.result()

    async def _cut(self, road: Road, draws: Random) -> None:
        while True:
            await asyncio.sleep(draws.expovariate(1 / 40))
            road.is_cut = True
            self.tally.cut += 1
            await asyncio.sleep(draws.expovariate(1 / 10))
            road.is_cut = False

    async def _lead(self, road: Road, draws: Random) -> None:
        self.lives += 1
        effects = self.world.effects(self.name, skew_s=draws.uniform(-1e6, 1e6))
        work = partial(self.work, road, draws)
        await lead(ApiClient(road), f"{self.name}_{self.lives}", TIMES, work, effects)

    async def work(self, road: Road, draws: Random, term: Term) -> None:
        """Count up what is there, on what was last seen of it; several writes are on their way."""
        self.tally.terms += 1
        number, api = self.tally.terms, ApiClient(term.guard(road))
        self.world.note(f"{self.name} leads: term {number}")
        known: dict[str, Any] = {}
        self.tally.open[number] = term
        while True:
            if road.is_bad and draws.random() < 0.002:
                self.tally.failed += 1
                raise Fell(self.name)
            if term.left_s:
                self.tally.decides(number)
            try:
                known = await self._write(api, known, number)
            except (Stale, Taken):
                self.tally.refused += 1
                known = {}
            except (Refused, Unreachable):
                pass
            await asyncio.sleep(COUNT_EVERY_S)

    async def _write(self, api: ApiClient, known: dict[str, Any], term: int) -> dict[str, Any]:
        if not known:
            with suppress(Missing):
                return await api.get(CONFIGMAPS.path(DEFAULT, COUNTED))
        fresh = {"metadata": {"namespace": DEFAULT, "name": COUNTED}, "data": {"count": "0"}}
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        wire = {**kind, **(known or fresh)}
        count = int(wire["data"]["count"]) + 1
        wire = {**wire, "data": {"term": str(term), "count": str(count)}}
        return await (api.replace if known else api.create)(CONFIGMAPS, wire)
