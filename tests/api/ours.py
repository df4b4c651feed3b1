"""Our server, whole: store on disk, controllers, HTTPS; on an event loop in a thread of its own.

What a test gets is where it listens and the handler behind that, so that the same plane can be
asked in process and over the wire.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS, Identity, Tokens
from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import ADMIN, read_signing
from atoll.apiserver.gate.gates import Gates
from atoll.apiserver.http.serving import listen
from atoll.effects import system_effects
from atoll.exchange import Handler
from atoll.main import Plane, run
from atoll.store.history import Limits
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store

START_TIMEOUT_S = 120.0
CONNECTIONS_MAX = 4096
TOKEN = "the-administrator"


@dataclass(frozen=True)
class Ours:
    """A running server of ours."""

    url: str
    authority: Path
    pair: tuple[Path, Path]
    handler: Handler
    loop: asyncio.AbstractEventLoop


@contextmanager
def running(
    directory: Path, limits: Limits | None = None, *, furnishes: bool = False
) -> Iterator[Ours]:
    """Our server over an empty store in this directory, until the end of the block.

    The real one runs without the controller that puts a ConfigMap into every namespace; so does
    ours, unless it `furnishes` them.
    """
    started: list[Ours] = []
    failed: list[BaseException] = []
    ready = threading.Event()
    stop = asyncio.Event()

    async def live() -> None:
        async with AsyncExitStack() as stack:
            started.append(await _start(directory, limits, stack, furnishes=furnishes))
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(live())
        except Exception as error:  # noqa: BLE001 (told to whoever waits, in the other thread)
            failed.append(error)
        ready.set()

    thread = threading.Thread(target=work, name="ours")
    thread.start()
    ready.wait(START_TIMEOUT_S)
    if failed:
        raise failed[0]
    (ours,) = started
    try:
        yield ours
    finally:
        ours.loop.call_soon_threadsafe(stop.set)
        thread.join(START_TIMEOUT_S)
    if failed:
        raise failed[0]


async def _start(
    directory: Path, limits: Limits | None, stack: AsyncExitStack, *, furnishes: bool
) -> Ours:
    effects = system_effects()
    credentials = ensure_credentials(directory / "pki", effects.now())
    tokens = Tokens({TOKEN: Identity(ADMIN, (MASTERS,))})
    listener = listen("127.0.0.1", 0)
    url = f"https://127.0.0.1:{listener.getsockname()[1]}"
    signing = read_signing(credentials, url)
    store = Store.open(SqliteLog(directory / "store"), limits)
    assembly = assemble(store, effects, tokens, signing=signing)
    if not furnishes:
        del assembly.services["root CA"]
    plane = Plane(store, assembly)
    services = await run(plane, effects, stack)
    gates = Gates(plane.server.handle, 1, CONNECTIONS_MAX)
    known = credentials
    gates.open(listener, (known.server, known.server_key, known.ca, known.front_ca))
    services.start("gate", gates.run)
    stack.push_async_callback(gates.stop)
    await gates.started()
    return Ours(
        url=url,
        authority=credentials.ca,
        pair=(credentials.admin, credentials.admin_key),
        handler=plane.server.handle,
        loop=asyncio.get_running_loop(),
    )
