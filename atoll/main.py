"""The composition root: the only module that knows all the parts, and the life of a server process.

`build` puts a plane together over any log, for the process as well as for the simulation. `serve`
is that process: store, plane, HTTPS and files, from the first byte read to the last one synced. It
prints nothing and reads no flags; whoever starts it is told when it is ready.
"""

import asyncio
import errno
import gc
import logging
import resource
import shutil
import signal
import socket
import ssl
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from atoll.apiserver.administration import Administration
from atoll.apiserver.assembly import Assembly, assemble
from atoll.apiserver.authentication import MASTERS, Identity, Tokens
from atoll.apiserver.certificates import ADMIN, Credentials, ensure_credentials, write_private
from atoll.apiserver.http.limits import Limits
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.apiserver.karmada.kinds import karmada_kinds
from atoll.client.kubeconfig import Endpoint, write_kubeconfig
from atoll.config import DEFAULT_PORT, Config
from atoll.effects import Effects
from atoll.errors import UsageError
from atoll.runtime.supervisor import Supervisor
from atoll.store.log import Log
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store

log = logging.getLogger("atoll")

RENEWAL_CHECK_S = 12 * 3600.0
STOP_WITHIN_S = 10.0
FILES_OF_OUR_OWN = 64
FILES_ENOUGH = 1_000_000


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


def build(effects: Effects, data: Log, tokens: Tokens | None = None) -> Plane:
    """Open the store and put the API server on it. Nothing runs yet."""
    store = Store.open(data)
    return Plane(store, assemble(store, effects, tokens, karmada_kinds(effects)))


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
    listener, busy_port = _listen(config)
    with listener:
        port = listener.getsockname()[1]
        url = f"https://{config.address}:{port}"
        credentials = ensure_credentials(
            config.pki_dir, effects.now(), more_names=[config.address.strip("[]")]
        )
        tokens = Tokens({credentials.token.read_text().strip(): Identity(ADMIN, (MASTERS,))})
        plane = build(effects, SqliteLog(config.store_file), tokens)
        _prepare_files(config, credentials, url, port)
        started = effects.now().isoformat(timespec="seconds")
        async with AsyncExitStack() as stack:
            services = await run(plane, effects, stack)
            server = _http_server(config, effects, plane, tokens, url=url, started=started)
            context = server_context(credentials.server, credentials.server_key, credentials.ca)
            services.start("certificates", lambda: _keep_fresh(config, effects, context, url))
            await server.start(listener, context)
            stack.push_async_callback(server.stop)
            _stop_on_signals(services)
            _settle_memory()
            log.info("Serving at %s, with %s", url, plane.store.found)
            on_ready(Ready(url, str(plane.store.found), started, busy_port))
            await services.until_stopped()
            log.info("Stopping")
    log.info("Stopped in good order")


def _http_server(
    config: Config, effects: Effects, plane: Plane, tokens: Tokens, *, url: str, started: str
) -> HttpServer:
    administration = Administration(
        api=plane.server.handle,
        store=plane.store,
        tokens=tokens,
        passing_dir=config.passing_dir,
        url=url,
        started=started,
        connection_count=lambda: server.connection_count,
    )
    connections_max = min(Limits().connections_max, _raise_file_limit() - FILES_OF_OUR_OWN)
    limits = Limits(connections_max=connections_max)
    server = HttpServer(administration.handle, effects.now, limits=limits)
    return server


def _listen(config: Config) -> tuple[socket.socket, int | None]:
    """Listen where the user insists, else at the last port, else at any free one."""
    if config.port is not None:
        try:
            return listen(config.host, config.port), None
        except OSError as error:
            raise UsageError(
                f"cannot listen on {config.host}:{config.port}; {_why(error)}; "
                "try: another --port, or none, for any that is free"
            ) from error
    wanted = _last_port(config)
    try:
        return listen(config.host, wanted), None
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise UsageError(f"cannot listen on {config.host}; {_why(error)}") from error
    return listen(config.host, 0), wanted


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _last_port(config: Config) -> int:
    try:
        port = int(config.port_file.read_text())
    except (OSError, ValueError):
        return DEFAULT_PORT
    return port if 0 < port <= 65535 else DEFAULT_PORT


def _prepare_files(config: Config, credentials: Credentials, url: str, port: int) -> None:
    shutil.rmtree(config.passing_dir, ignore_errors=True)
    config.passing_dir.mkdir(mode=0o700)
    write_private(config.port_file, f"{port}\n".encode())
    _write_kubeconfig(config, credentials, url)


def _write_kubeconfig(config: Config, credentials: Credentials, url: str) -> None:
    endpoint = Endpoint(
        url,
        ca=credentials.ca.read_bytes(),
        certificate=credentials.admin.read_bytes(),
        key=credentials.admin_key.read_bytes(),
    )
    write_kubeconfig(config.kubeconfig, "atoll", endpoint)


async def _keep_fresh(config: Config, effects: Effects, context: ssl.SSLContext, url: str) -> None:
    """Renew certificates in time, also in a server that runs for years."""
    while True:
        await asyncio.sleep(RENEWAL_CHECK_S)
        credentials = ensure_credentials(
            config.pki_dir, effects.now(), more_names=[config.address.strip("[]")]
        )
        context.load_cert_chain(credentials.server, credentials.server_key)
        _write_kubeconfig(config, credentials, url)


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


def _settle_memory() -> None:
    """What is loaded by now stays: it need not be looked through again and again."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


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
    gc.disable()  # starting makes many objects and no garbage; `_settle_memory` ends this
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(config, effects, on_ready))
