"""The composition root: the only module that knows all the parts, and the life of a server process.

`build` puts a plane together over any log, for the process as well as for the simulation. `serve`
is that process: store, plane, HTTPS and files, from the first byte read to the last one synced. It
prints nothing and reads no flags; whoever starts it is told when it is ready.
"""

import asyncio
import gc
import importlib
import logging
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.administration import Administration, memory_bytes
from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.authentication import MASTERS, Identity, Tokens
from atoll.apiserver.credentials import ADMIN
from atoll.apiserver.door import Door
from atoll.apiserver.gate.gates import Gates, usual_gates
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.serving import HttpServer
from atoll.apiserver.karmada.proxy import with_proxy
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.apiserver.renewal import make_elsewhere
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport
from atoll.config import (
    DEFAULT_PORT,
    Config,
)
from atoll.effects import Effects
from atoll.exchange import Peer
from atoll.instruments.families import Family
from atoll.runtime.files import raise_file_limit
from atoll.runtime.loops import fastest_loop
from atoll.runtime.memory import settle_memory
from atoll.runtime.supervisor import Restart, Supervisor
from atoll.runtime.watchdog import Watchdog
from atoll.store.log import Log
from atoll.store.record import Event
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store
from atoll.wire import Object

if TYPE_CHECKING:
    from atoll.control.hub import Hub
    from atoll.control.recording import Recording
    from atoll.simulated.child import FleetProcess

log = logging.getLogger("atoll")

STOP_WITHIN_S = 10.0
READY_WITHIN_S = 30.0
READY_WITHIN_EACH_S = 1.0
FILES_OF_OUR_OWN = 64
GATE_AGAIN_S = 0.1
CONTROLLERS = Peer("system:atoll:controllers", (MASTERS,))
# What the controllers are made of, in pieces that each load in a tenth of a second.
CONTROLLING = (
    "atoll.scheduling.fleet",
    "atoll.scheduling.cycle",
    "atoll.control.scheduler.decide.plan",
    "atoll.control.detector.decide.plan",
    "atoll.control.works.decide.plan",
    "atoll.control.running",
)


@dataclass(frozen=True, slots=True)
class Plane:
    """A store, and the API server over it."""

    store: Store
    server: Assembly
    own: frozenset[str] = frozenset()  # the collections of the plane's own kinds


@dataclass(frozen=True, slots=True)
class Ready:
    """What is known once the server can be used."""

    url: str
    found: str
    started: str
    busy_port: int | None  # the port that was wanted and could not be had
    memory_bytes: int
    members: tuple[str, ...] = ()  # the simulated ones
    late: tuple[str, ...] = ()  # those of them that were not ready in time


def build(
    effects: Effects, data: Log, tokens: Tokens | None = None, signing: Signing | None = None
) -> Plane:
    """Open the store and put the API server on it. Nothing runs yet."""
    store = Store.open(data)
    kinds = with_proxy(plane_kinds(effects), store, _over_network)
    own = frozenset(each.collection for each in kinds.resources)
    return Plane(store, assemble(store, effects, tokens, kinds, signing=signing), own)


def _over_network(cluster: Object, secret: Object | None) -> Transport:
    from atoll.members.ways import over_network  # what it takes is loaded when it is first used

    return over_network(cluster, secret)


async def run(plane: Plane, effects: Effects, stack: AsyncExitStack) -> Supervisor:
    """Run a plane until the stack is unwound; then its services end first and its store last."""
    store_keeper = Supervisor("store", effects.chance, stop_within_s=STOP_WITHIN_S)
    await stack.enter_async_context(store_keeper)
    store_keeper.start("commits", plane.store.run)
    stack.push_async_callback(plane.store.close)
    services = Supervisor("plane", effects.chance, stop_within_s=STOP_WITHIN_S)
    await stack.enter_async_context(services)
    await plane.server.start()
    for name, service in plane.server.services.items():
        services.start(name, service)
    return services


async def serve(config: Config, effects: Effects, on_ready: Callable[[Ready], None]) -> None:
    """Be the server of this instance until a signal says stop."""
    port, make = DEFAULT_PORT, make_elsewhere
    with Door("atoll", config, effects.now, first_port=port, make=make) as door:
        secret = door.credentials.token.read_text().strip()
        tokens = Tokens({secret: Identity(ADMIN, (MASTERS,))})
        plane = build(effects, SqliteLog(config.store_file), tokens, door.signing)
        plane.server.limit(config.requests)
        _prepare_files(config, door)
        control = Control(plane, effects, config)
        started = effects.now().isoformat(timespec="seconds")
        async with AsyncExitStack() as stack:
            _begin_audit(config, plane, effects, stack)
            if config.record is not None:
                from atoll.control.recording import recorded  # few want it

                control.recording = stack.enter_context(recorded(config.record, effects))
            watchdog = Watchdog()
            stack.enter_context(watchdog.stalls.watching())
            services = await run(plane, effects, stack)
            plane.server.check("event-loop", watchdog.stuck)
            services.start("watchdog", watchdog.run)
            plane.server.count(control.numbers)
            plane.server.count(watchdog.numbers)
            control.fleet = fleet = _fleet(config)
            if fleet is not None:
                services.start("fleet", fleet.run, restart=Restart())
            facts = {"url": door.url, "started": started}
            way = _way_in(config, control, tokens, facts)
            services.start("certificates", door.keep_fresh)
            await _open(door, way, services, stack)
            _stop_on_signals(services)
            settle_memory()
            said = {"url": door.url, "found": plane.store.found}
            log.info("Serving at %(url)s, with %(found)s", said)
            found, memory = str(plane.store.found), _memory_bytes(way)
            ready = Ready(door.url, found, started, door.busy_port, memory)
            if fleet is None:
                on_ready(ready)
            controllers = Supervisor("plane", effects.chance, stop_within_s=STOP_WITHIN_S)
            await stack.enter_async_context(controllers)
            controllers.start("controllers", control.run, restart=Restart())
            if fleet is not None:
                await fleet.started()
                await control.until_ready(fleet.names)
                on_ready(replace(ready, members=fleet.names, late=control.late(fleet.names)))
            await services.until_stopped()
            log.info("Stopping")
    log.info("Stopped in good order")


def _begin_audit(config: Config, plane: Plane, effects: Effects, stack: AsyncExitStack) -> None:
    """Record who asks for what, if the user wants it, until the stack is unwound."""
    if config.audit.log is None:
        return
    from atoll.apiserver.audit.log_file import chosen_policy, numbers_of, open_log

    record = open_log(config.audit, effects.now)
    stack.callback(record.close)
    plane.server.audit(chosen_policy(config.audit), record.write, partial(numbers_of, record))


@dataclass(slots=True)
class Control:
    """The controllers of a plane.

    They are loaded with the first object of the plane's own kinds, a cluster or a policy: until
    then there is nothing to control. Nobody has to wait for them in order to use the server. With
    simulated members it is another matter: what is applied before all have joined would go to the
    first.
    """

    plane: Plane
    effects: Effects
    config: Config
    fleet: "FleetProcess | None" = None
    hub: "Hub | None" = None
    recording: "Recording | None" = None
    _clusters_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _needed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        counts = self.plane.store.counts()
        if any(counts.get(collection) for collection in self.plane.own):
            self._needed.set()
        else:
            self.plane.store.listen(self._look)

    def _look(self, events: Sequence[Event]) -> None:
        if any(event.after.collection in self.plane.own for event in events):
            self._needed.set()

    async def until_ready(self, names: tuple[str, ...]) -> None:
        """Wait until these clusters are ready, or for so long: one that is not is no reason."""
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_WITHIN_S + READY_WITHIN_EACH_S * len(names)):
                while self.late(names):
                    self._clusters_changed.clear()
                    await self._clusters_changed.wait()

    def late(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of these clusters that are not ready."""
        known = self.hub.clusters if self.hub is not None else {}
        return tuple(name for name in names if name not in known or not known[name].ready)

    async def run(self) -> None:
        """Run the controllers for ever, once they are needed."""
        if self.fleet is None:
            await self._needed.wait()
        for module in CONTROLLING:
            importlib.import_module(module)
            await asyncio.sleep(0)  # others have their turn between two of them
        from atoll.control.running import controlling
        from atoll.control.wakes import CLUSTER
        from atoll.extensions import scheduler_setting
        from atoll.tracing.opening import tracing

        config = self.config
        setting = scheduler_setting(config.feature_gates, config.plugins)

        if self.fleet is not None:
            await self.fleet.started()  # nobody is to be taken for lost who has not begun
        transport = InProcess(self.plane.server.handle, CONTROLLERS)
        try:
            async with (
                tracing(config.tracing, self.effects) as tracer,
                controlling(
                    transport,
                    self.effects,
                    setting=setting,
                    times=config.times,
                    estimators=config.estimators,
                    tracer=tracer,
                    recording=self.recording,
                ) as self.hub,
            ):
                changed = self._clusters_changed
                self.hub.hear("process", CLUSTER, lambda _before, _after: changed.set())
                self._clusters_changed.set()
                settle_memory()
                log.info("The controllers run")
                await asyncio.Event().wait()
        finally:
            self.hub = None

    async def ask(self, question: str, words: Mapping[str, str]) -> Mapping[str, object] | None:
        """What they answer to an administrator; nothing before they run."""
        if self.hub is None:
            return None
        from atoll.control.answering import answer

        return await answer(self.hub, question, words)

    def numbers(self) -> Iterable[Family]:
        """What they count; nothing before they run."""
        if self.hub is None:
            return ()
        from atoll.control.states import families

        return families(self.hub)

    def status(self) -> dict[str, object]:
        """Whether they run, and how many clusters there are and are ready."""
        fleet = {} if self.fleet is None else {"fleet": self.fleet.state()}
        if self.hub is None:
            is_needed = self.fleet is not None or self._needed.is_set()
            return {"controllers": "starting" if is_needed else "idle", **fleet}
        clusters = self.hub.fleet.clusters
        ready = sum(bool(each.ready) for each in clusters)
        return {
            "controllers": "running",
            "clusters": len(clusters),
            "clustersReady": ready,
            **fleet,
        }


def _fleet(config: Config) -> "FleetProcess | None":
    """The simulated members that this instance shall have, or has had; mostly none."""
    if config.fleet is None and not config.fleet_file.exists():
        return None
    from atoll.simulated.child import FleetProcess
    from atoll.simulated.choosing_fleet import chosen_fleet

    fleet = chosen_fleet(config)
    assert fleet is not None, "one is asked for or remembered"
    return FleetProcess(config, fleet)


def _way_in(
    config: Config, control: Control, tokens: Tokens, facts: dict[str, str]
) -> HttpServer | Gates:
    """Who speaks HTTP to clients: processes of their own, or this one."""
    plane = control.plane

    def known() -> dict[str, object]:
        seen = {"memoryBytes": _memory_bytes(way), "connections": way.connection_count}
        return {**facts, **seen, **control.status()}

    administration = Administration(
        api=plane.server.handle,
        store=plane.store,
        tokens=tokens,
        passing_dir=config.passing_dir,
        facts=known,
        ask=control.ask,
    )
    connections_max = min(Limits().connections_max, raise_file_limit() - FILES_OF_OUR_OWN)
    count = usual_gates() if config.gates is None else config.gates
    way: HttpServer | Gates
    if count:
        way = Gates(administration.handle, count, connections_max)
    else:
        limits = Limits(connections_max=connections_max)
        way = HttpServer(administration.handle, control.effects.now, limits=limits)
    return way


def _memory_bytes(way: HttpServer | Gates) -> int:
    """What this process holds, and those that are a part of the server."""
    return memory_bytes() + (way.memory_bytes if isinstance(way, Gates) else 0)


async def _open(
    door: Door, way: HttpServer | Gates, services: Supervisor, stack: AsyncExitStack
) -> None:
    """Let clients in, until the stack is unwound."""
    if isinstance(way, HttpServer):
        await door.open(way)
        stack.push_async_callback(way.stop)
        return
    door.open_through(way)
    stack.push_async_callback(way.stop)
    for number in range(way.count):
        services.start(f"gate {number + 1}", way.run, restart=Restart(first_s=GATE_AGAIN_S))
    await way.started()


def _prepare_files(config: Config, door: Door) -> None:
    shutil.rmtree(config.passing_dir, ignore_errors=True)
    config.passing_dir.mkdir(mode=0o700)
    door.write_files()


def _stop_on_signals(services: Supervisor) -> None:
    """The first signal stops in good order; a second one finds no handler, and ends us at once."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def stop() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)
        services.stop()

    for number in numbers:
        loop.add_signal_handler(number, stop)


def run_process(config: Config, effects: Effects, on_ready: Callable[[Ready], None]) -> None:
    """Serve on the fastest event loop there is."""
    gc.disable()  # starting makes many objects and no garbage; `settle_memory` ends this
    # The store's thread needs the interpreter for moments only, but often: not to wait 5 ms each
    # time lets the disk work while requests are answered.
    sys.setswitchinterval(0.0005)
    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.run(serve(config, effects, on_ready))
