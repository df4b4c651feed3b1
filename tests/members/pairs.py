"""A plane and a member to be: two API servers of ours over HTTPS, in a thread, without a disk."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from atoll.apiserver.certificates import ensure_credentials
from atoll.apiserver.credentials import read_signing
from atoll.apiserver.http.serving import HttpServer, listen
from atoll.apiserver.http.tls import server_context
from atoll.client.endpoint import Endpoint
from atoll.effects import system_effects, system_now
from atoll.main import build, run
from atoll.store.memory import MemoryLog


@dataclass(frozen=True)
class Pair:
    plane: Endpoint
    member: Endpoint


@contextmanager
def pair(directory: Path) -> Iterator[Pair]:
    """Both, as their administrators see them."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    stack = AsyncExitStack()
    try:
        started = [_served(directory / name, stack) for name in ("plane", "member")]
        yield Pair(*(asyncio.run_coroutine_threadsafe(each, loop).result(60) for each in started))
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


async def _served(directory: Path, stack: AsyncExitStack) -> Endpoint:
    directory.mkdir()
    files = ensure_credentials(directory, datetime.now(UTC))
    effects = system_effects()
    listener = listen("127.0.0.1", 0)
    url = f"https://127.0.0.1:{listener.getsockname()[1]}"
    built = build(effects, MemoryLog(), None, read_signing(files, url))
    await run(built, effects, stack)
    server = HttpServer(built.server.handle, system_now)
    await server.start(listener, server_context(files.server, files.server_key, files.ca))
    stack.push_async_callback(server.break_off)
    return Endpoint(
        url,
        files.ca.read_bytes(),
        files.admin.read_bytes(),
        files.admin_key.read_bytes(),
    )
