"""The process in which the simulated members of a plane live; it ends when the plane does.

An instance's directory comes in; its members run, each behind a door of its own, and one more door
takes requests for faults. The plane holds the other end of a pipe, `life`: whatever becomes of the
plane, that end closes, and everything here is put away in good order. It prints nothing.
"""

import asyncio
import fcntl
import gc
import json
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from atoll.apiserver.door import Door
from atoll.apiserver.http.serving import HttpServer
from atoll.client.private_file import write_private
from atoll.config import Config
from atoll.effects import Effects
from atoll.errors import UsageError
from atoll.runtime.files import raise_file_limit
from atoll.runtime.memory import settle_memory
from atoll.runtime.supervisor import Supervisor, TaskFailed
from atoll.simulated.choosing_fleet import remembered_fleet
from atoll.simulated.faults import FaultRequests
from atoll.simulated.hosting import hosting

log = logging.getLogger("atoll.simulated")

TAKE_OVER_WITHIN_S = 30.0
LOOK_EVERY_S = 0.05
END_WITHIN_S = 20.0

OnReady = Callable[[dict[str, Any]], None]


def run_process(config: Config, effects: Effects, life: int, on_ready: OnReady) -> None:
    """Be the fleet of this instance until the plane is gone, or a signal says stop."""
    raise_file_limit()
    gc.disable()  # starting makes many objects and no garbage; `settle_memory` ends this
    asyncio.run(_serve(config, effects, life, on_ready))
    log.info("The fleet has stopped in good order")


async def _serve(config: Config, effects: Effects, life: int, on_ready: OnReady) -> None:
    try:
        async with Supervisor("process", effects.chance, stop_within_s=END_WITHIN_S) as services:
            _end_with(life, services)
            services.start("members", lambda: _host(config, effects, on_ready))
            await services.until_stopped()
    except TaskFailed as failed:
        raise failed.__cause__ or failed from failed


async def _host(config: Config, effects: Effects, on_ready: OnReady) -> None:
    """Run the members, and take requests for faults, for ever."""
    fleet = remembered_fleet(config)
    if fleet is None:
        raise UsageError(f"there is no fleet in {config.data_dir}")
    async with _sole(config), hosting(fleet.clusters, config, effects) as gates:
        config.faults.data_dir.mkdir(mode=0o700, exist_ok=True)
        with Door("fleet", config.faults, effects.now) as door:
            facts = {"pid": os.getpid(), "fleet": fleet.name}
            server = HttpServer(FaultRequests(gates, facts).handle, effects.now)
            await door.open(server)
            note = {"pid": os.getpid(), "url": door.url}
            write_private(config.fleet_note, json.dumps(note).encode())
            settle_memory()
            said = {"members": len(gates), "plane": os.getppid()}
            log.info("%(members)d members run, for process %(plane)d", said)
            on_ready({**note, "members": {name: gate.door.url for name, gate in gates.items()}})
            try:
                await asyncio.Event().wait()
            finally:
                config.fleet_note.unlink(missing_ok=True)
                await server.stop()


def _end_with(life: int, services: Supervisor) -> None:
    """Stop when the plane is gone or a signal comes; if that hangs, end all the same."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(life)
        loop.remove_signal_handler(signal.SIGTERM)
        at_last = threading.Timer(END_WITHIN_S, os._exit, (1,))
        at_last.daemon = True
        at_last.start()
        services.stop()

    loop.add_reader(life, stop)  # nothing is ever written to it, so this is its end
    loop.add_signal_handler(signal.SIGTERM, stop)


@asynccontextmanager
async def _sole(config: Config) -> AsyncIterator[None]:
    """Be the one fleet in this directory, after the one of a plane that was killed has ended."""
    descriptor = os.open(config.fleet_lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        await _take(descriptor, config)
        yield
    finally:
        os.close(descriptor)


async def _take(descriptor: int, config: Config) -> None:
    try:
        async with asyncio.timeout(TAKE_OVER_WITHIN_S):
            while not _try_lock(descriptor):
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError as error:
        raise UsageError(
            f"the members in {config.members_dir} are still run by another process; "
            "try: atoll down --force"
        ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
