"""The composition root: the only module that knows all the parts, and the life of a server process.

`build` puts a plane together over any log, for the process as well as for the simulation. `serve`
is that process: store, plane, HTTPS and files, from the first byte read to the last one synced. It
prints nothing and reads no flags; whoever starts it is told when it is ready.
"""

import asyncio
import gc
import importlib
import logging
import resource
import shutil
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.administration import Administration
from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.authentication import MASTERS, Identity, Tokens
from atoll.apiserver.certificates import ADMIN
from atoll.apiserver.door import Door
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.serving import HttpServer
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.inprocess import InProcess
from atoll.config import DEFAULT_PORT, Config
from atoll.effects import Effects
from atoll.exchange import Peer
from atoll.runtime.memory import settle_memory
from atoll.runtime.supervisor import Restart, Supervisor
from atoll.scheduling.features import PLANE_USUAL, Features
from atoll.store.log import Log
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store

if TYPE_CHECKING:
    from atoll.controllers.hub import Hub
    from atoll.simulated.hosting import Hosted

log = logging.getLogger("atoll")

STOP_WITHIN_S = 10.0
JOIN_WITHIN_S = 10.0
FILES_OF_OUR_OWN = 64
FILES_ENOUGH = 1_000_000
CONTROLLERS = Peer("system:atoll:controllers", (MASTERS,))
# What the controllers are made of, in pieces that each load in a tenth of a second.
CONTROLLING = (
    "atoll.scheduling.fleet",
    "atoll.scheduling.cycle",
    "atoll.planning.placing.plan",
    "atoll.planning.detecting.plan",
    "atoll.planning.works",
    "atoll.controllers.running",
)


@dataclass(frozen=True, slots=True)
class Plane:
    """A store, and the API server over it."""

    store: Store
    server: Assembly


@dataclass(frozen=True, slots=True)
class Ready:
    """What is known once the server can be used."""

    url: str
    found: str
    started: str
    busy_port: int | None  # the port that was wanted and could not be had
    members: tuple[str, ...]  # the simulated ones


def build(
    effects: Effects, data: Log, tokens: Tokens | None = None, signing: Signing | None = None
) -> Plane:
    """Open the store and put the API server on it. Nothing runs yet."""
    store = Store.open(data)
    server = assemble(store, effects, tokens, plane_kinds(effects), signing=signing)
    return Plane(store, server)


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
    with Door("atoll", config, effects.now, first_port=DEFAULT_PORT) as door:
        secret = door.credentials.token.read_text().strip()
        tokens = Tokens({secret: Identity(ADMIN, (MASTERS,))})
        plane = build(effects, SqliteLog(config.store_file), tokens, door.signing)
        _prepare_files(config, door)
        control = Control(plane, effects, Features.of(config.feature_gates, PLANE_USUAL))
        started = effects.now().isoformat(timespec="seconds")
        async with AsyncExitStack() as stack:
            services = await run(plane, effects, stack)
            control.members = await _members(config, effects, stack)
            facts = {"url": door.url, "started": started}
            server = _http_server(config, control, tokens, facts)
            services.start("certificates", door.keep_fresh)
            await door.open(server)
            stack.push_async_callback(server.stop)
            _stop_on_signals(services)
            settle_memory()
            log.info("Serving at %s, with %s", door.url, plane.store.found)
            found = str(plane.store.found)
            ready = Ready(door.url, found, started, door.busy_port, control.member_names)
            if not ready.members:
                on_ready(ready)
            controllers = Supervisor("plane", effects.chance, stop_within_s=STOP_WITHIN_S)
            await stack.enter_async_context(controllers)
            controllers.start("controllers", control.run, restart=Restart())
            if ready.members:
                await control.until_joined()
                on_ready(ready)
            await services.until_stopped()
            log.info("Stopping")
    log.info("Stopped in good order")


@dataclass(slots=True)
class Control:
    """The controllers of a plane, and the simulated members that come with it.

    They are loaded once the server answers: nobody has to wait for them in order to use it. With
    members it is another matter: what is applied before they joined would go to the first.
    """

    plane: Plane
    effects: Effects
    features: Features = PLANE_USUAL
    members: "list[Hosted]" = field(default_factory=list)
    hub: "Hub | None" = None
    _joined: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def member_names(self) -> tuple[str, ...]:
        return tuple(each.description.name for each in self.members)

    async def until_joined(self) -> None:
        """Wait until all members are ready, or for so long: one that cannot join is no reason."""
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_WITHIN_S):
                await self._joined.wait()

    async def run(self) -> None:
        """Run the controllers, for ever."""
        for module in CONTROLLING:
            importlib.import_module(module)
            await asyncio.sleep(0)  # others have their turn between two of them
        from atoll.controllers.running import controlling

        transport = InProcess(self.plane.server.handle, CONTROLLERS)
        try:
            async with controlling(transport, self.effects, features=self.features) as self.hub:
                self._join()
                settle_memory()
                log.info("The controllers run")
                await asyncio.Event().wait()
        finally:
            self.hub = None

    def _join(self) -> None:
        if self.members and self.hub is not None:
            from atoll.simulated.hosting import join

            self.hub.hear("Cluster", self._note_joined)
            for each in self.members:
                self.hub.children.spawn(join(self.hub, each), f"join {each.description.name}")
            self._note_joined()

    def _note_joined(self, *_: object) -> None:
        known = self.hub.clusters if self.hub is not None else {}
        if all(name in known and known[name].ready for name in self.member_names):
            self._joined.set()

    def status(self) -> dict[str, object]:
        """Whether they run, and how many clusters there are and are ready."""
        if self.hub is None:
            return {"controllers": "starting"}
        clusters = self.hub.fleet.clusters
        ready = sum(bool(each.ready) for each in clusters)
        return {"controllers": "running", "clusters": len(clusters), "clustersReady": ready}


async def _members(config: Config, effects: Effects, stack: AsyncExitStack) -> "list[Hosted]":
    """Run the simulated members that this instance shall have, or has had; mostly none."""
    if config.fleet is None and not config.fleet_file.exists():
        return []
    from atoll.simulated.choosing_fleet import chosen_fleet
    from atoll.simulated.hosting import hosting

    fleet = chosen_fleet(config)
    assert fleet is not None, "one is asked for or remembered"
    return await stack.enter_async_context(hosting(fleet.clusters, config, effects))


def _http_server(
    config: Config, control: Control, tokens: Tokens, facts: dict[str, str]
) -> HttpServer:
    plane = control.plane
    administration = Administration(
        api=plane.server.handle,
        store=plane.store,
        tokens=tokens,
        passing_dir=config.passing_dir,
        facts=lambda: {**facts, "connections": server.connection_count, **control.status()},
    )
    connections_max = min(Limits().connections_max, _raise_file_limit() - FILES_OF_OUR_OWN)
    limits = Limits(connections_max=connections_max)
    server = HttpServer(administration.handle, control.effects.now, limits=limits)
    return server


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


def _raise_file_limit() -> int:
    """Take as many open files as the system grants, for every connection is one; say how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # macOS reports a limit that it does not grant
        return soft
    return hard if hard != resource.RLIM_INFINITY else FILES_ENOUGH


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def run_process(config: Config, effects: Effects, on_ready: Callable[[Ready], None]) -> None:
    """Serve on the fastest event loop there is."""
    gc.disable()  # starting makes many objects and no garbage; `settle_memory` ends this
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(config, effects, on_ready))
