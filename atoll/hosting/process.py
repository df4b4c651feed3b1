"""The life of `atoll run`: a plane on a real API server, its host, until it is told to stop.

It connects, has certificates, serves, and waits to lead; who leads tells the host of us and runs
the controllers. A host that does not answer is waited for; what only a person can mend ends it,
with one line.
"""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from atoll import config
from atoll.apiserver.health import Health
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.karmada.proxy import ClusterProxy
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.api import ApiClient
from atoll.client.endpoint import Endpoint
from atoll.client.https import Https, Patience
from atoll.effects import Effects
from atoll.errors import UsageError
from atoll.hosting.admitting import Admitting
from atoll.hosting.callers import Callers
from atoll.hosting.electing import SEAT, Term, lead
from atoll.hosting.enrolling import Approving, Informing
from atoll.hosting.hosted import Hosted
from atoll.hosting.installing import Installing, patiently, prepare
from atoll.hosting.keeping import Keeping
from atoll.hosting.leading import USUAL_LEASE_TIMES, LeaseTimes
from atoll.hosting.place import Place
from atoll.hosting.registry import HostRegistry
from atoll.hosting.serving import Serving, documents_of, resources_in
from atoll.instruments.families import Family
from atoll.members.ways import over_network
from atoll.runtime.loops import fastest_loop
from atoll.runtime.memory import settle_memory
from atoll.runtime.supervisor import Restart, Supervisor
from atoll.runtime.watchdog import Watchdog

if TYPE_CHECKING:
    from atoll.control.hub import Hub
    from atoll.control.recording import Recording

log = logging.getLogger("atoll.hosting")

_PATIENCE = Patience(connections_max=1000)
# A review holds an object twice, and that of a conversion a whole list.
_LIMITS = Limits(body_bytes_max=32 * 1024 * 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """How a plane is to run on a host: by which way, where it is reached, and how it behaves.

    `lease` is None where nobody else may lead: then there is no election. One that is told to go
    still serves for `farewell_s`, until nobody looks for it any more.
    """

    host: Endpoint
    host_for_others: Endpoint | None  # by which clusters reach it that register, if that is known
    place: Place
    address: str
    port: int
    me: str
    farewell_s: float
    lease: LeaseTimes | None = USUAL_LEASE_TIMES
    feature_gates: str = ""
    plugins: str = config.ALL_PLUGINS
    times: config.Times = config.USUAL_TIMES
    estimators: config.EstimatorChoice = config.NO_ESTIMATORS
    tracing: config.TracingChoice = config.NO_TRACING
    record: Path | None = None


def run(hosting: Hosting, effects: Effects) -> None:
    """Be a replica of the plane until a signal says stop; UsageError if it cannot be one."""
    # Until the loop runs there is nothing to bring to an end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        refused = runner.run(_be(hosting, effects))
    if refused is not None:
        raise refused
    log.info("Stopped in good order")


async def _be(hosting: Hosting, effects: Effects) -> UsageError | None:
    """Be a replica until stopped, or until it is known what only a person can mend."""
    replica = Replica(hosting, effects)
    async with Supervisor("plane", effects.chance) as supervisor:
        loop = asyncio.get_running_loop()

        def leave() -> None:
            if not replica.leave():
                supervisor.stop()

        loop.add_signal_handler(signal.SIGTERM, leave)
        loop.add_signal_handler(signal.SIGINT, supervisor.stop)

        async def host() -> None:
            await replica.run()
            supervisor.stop()

        supervisor.start("hosting", host)
        await supervisor.until_stopped()
        log.info("Stopping")
    return replica.refused


class Replica:
    """One of those who serve a host, of whom one leads."""

    def __init__(self, hosting: Hosting, effects: Effects) -> None:
        self._hosting = hosting
        self.effects = effects
        self.refused: UsageError | None = None
        """What only a person can mend."""
        self._serves = asyncio.Event()
        self._stay: asyncio.Timeout | None = None
        """While we serve: how long we lead or wait for it, which is until we are told to leave."""
        self._leaves = False
        self._knows_all = asyncio.Event()
        """Unset from the begin of leading until the controllers know all that there is."""
        self._knows_all.set()
        self._leads = False
        self._hub: Hub | None = None
        self._recording: Recording | None = None

    def leave(self) -> bool:
        """Lead no more, and serve for a while yet; False if we do not serve, or leave already."""
        if self._stay is None or self._leaves:
            return False
        self._leaves = True
        self._stay.reschedule(asyncio.get_running_loop().time())
        return True

    async def run(self) -> None:
        """Serve and, whenever it is our turn, lead; for ever, unless something is `refused`."""
        host = Https(self._hosting.host, _PATIENCE)
        watchdog, record = Watchdog(), self._hosting.record
        try:
            with ExitStack() as stack:
                stack.enter_context(watchdog.stalls.watching())
                if record is not None:
                    from atoll.control.recording import recorded  # few want it

                    self._recording = stack.enter_context(recorded(record, self.effects))
                await self._run(host, watchdog)
        except UsageError as refused:
            self.refused = refused
        finally:
            await host.close()

    async def _run(self, host: Https, watchdog: Watchdog) -> None:
        hosting, api = self._hosting, ApiClient(host)
        await patiently("reaching the host", lambda: api.get("/version"))
        await prepare(api, hosting.place)
        keeping = Keeping(api, hosting.place, self.effects)
        await patiently("the serving certificate", keeping.ensure)
        tls = keeping.context()
        callers = Callers(api, tls)
        await patiently("whom to believe", callers.look)
        health = Health(
            {"event-loop": watchdog.stuck},
            {
                "serving": partial(_not_yet, self._serves),
                "shutdown": lambda: "process is shutting down" if self._leaves else "",
                "controllers": partial(_not_yet, self._knows_all),
            },
        )
        registry, kinds = HostRegistry(api), plane_kinds(self.effects)
        proxy = ClusterProxy(registry, over_network)
        documents = documents_of(
            self.effects, health, proxy.branch(), (watchdog.numbers, self._numbers)
        )
        serving = Serving(host, documents, callers.identity, Admitting(api, kinds), proxy.branch())
        server = HttpServer(serving.handle, self.effects.now, limits=_LIMITS)
        await server.start(self._listener(), tls)
        try:
            async with Supervisor("plane", self.effects.chance) as services:
                services.start("watchdog", watchdog.run)
                services.start("certificates", keeping.keep_fresh, restart=Restart())
                services.start("callers", callers.keep_fresh, restart=Restart())
                services.start("ways to clusters", proxy.keep)
                for name, service in (*kinds.services.items(), *registry.services.items()):
                    services.start(name, service, restart=Restart())
                self._serves.set()
                said = {"address": hosting.address, "port": hosting.port}
                log.info("Serving at %(address)s:%(port)d", said)
                await self._lead_until_leaving(api, keeping, resources_in(documents))
                if self._leaves:
                    server.take_leave()
                    log.info("Leaving; serving for %(for_s)g s more", {"for_s": hosting.farewell_s})
                    await asyncio.sleep(hosting.farewell_s)
        finally:
            self._serves.clear()
            await server.stop()

    def _listener(self) -> socket.socket:
        address, port = self._hosting.address, self._hosting.port
        try:
            return listen(address, port)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise UsageError(
                f"cannot listen on {address}:{port}; {why}; try: another --port"
            ) from error

    async def _lead_until_leaving(self, api: ApiClient, keeping: Keeping, resources: bytes) -> None:
        try:
            async with asyncio.timeout(None) as self._stay:
                await self._lead(api, keeping, resources)
        except TimeoutError:
            if not self._leaves:
                raise
        finally:
            self._stay = None

    async def _lead(self, api: ApiClient, keeping: Keeping, resources: bytes) -> None:
        async def work(term: Term) -> None:
            try:
                await self._work(term, keeping, resources)
            except UsageError as refused:
                self.refused = refused

        if self._hosting.lease is None:
            term = Term()
            term.last_until(float("inf"))
            await work(term)
        else:
            seat = SEAT._replace(namespace=self._hosting.place.namespace)
            await lead(api, self._hosting.me, self._hosting.lease, work, self.effects, seat=seat)

    async def _work(self, term: Term, keeping: Keeping, resources: bytes) -> None:
        """What whoever leads does: tell the host of us, and run the controllers; for ever."""
        hosting = self._hosting
        way = term.guard(Https(hosting.host, _PATIENCE))
        api = ApiClient(way)
        installing = Installing(api, hosting.place, lambda: keeping.bundle)
        approving = Approving(api, self.effects)
        informing = Informing(api, hosting.host_for_others, self.effects)
        self._knows_all.clear()
        self._leads = True
        try:
            await installing.install()
            async with Supervisor("leader", self.effects.chance) as services:
                services.start("registrations", installing.keep, restart=Restart())
                for name, service in (*approving.services.items(), *informing.services.items()):
                    services.start(name, service, restart=Restart())
                control = partial(self._control, term, resources)
                services.start("controllers", control, restart=Restart())
                await services.until_stopped()
        finally:
            self._leads = False
            self._knows_all.set()  # others lead, and this one need not know
            await way.close()

    async def _control(self, term: Term, resources: bytes) -> None:
        """Run the controllers, for ever."""
        from atoll.control.running import controlling  # half of all, and only one leads
        from atoll.extensions import scheduler_setting
        from atoll.tracing.opening import tracing

        hosting = self._hosting
        host = Hosted(Https(hosting.host, _PATIENCE), resources)
        async with (
            tracing(hosting.tracing, self.effects) as tracer,
            controlling(
                term.guard(host),
                self.effects,
                setting=scheduler_setting(hosting.feature_gates, hosting.plugins),
                reach=term.guard_reach(over_network),
                times=hosting.times,
                estimators=hosting.estimators,
                tracer=tracer,
                recording=self._recording,
            ) as self._hub,
        ):
            settle_memory()
            self._knows_all.set()
            log.info("The controllers run")
            try:
                await asyncio.Event().wait()
            finally:
                self._hub = None

    def _numbers(self) -> Iterator[Family]:
        """Whether this one leads, and what its controllers count if it does."""
        yield from election(leads=self._leads)
        if self._hub is not None:
            from atoll.control.states import families  # loaded by now

            yield from families(self._hub)


def election(*, leads: bool) -> list[Family]:
    """Whether a replica leads, as Kubernetes' own parts tell it."""
    told, seat = "Whether this replica leads (1) or not (0).", (("name", SEAT.name),)
    return [("leader_election_master_status", "gauge", told, [("", seat, float(leads))])]


def _not_yet(event: asyncio.Event) -> str:
    """A check that is passed once something has come to be."""
    return "" if event.is_set() else "not yet"
