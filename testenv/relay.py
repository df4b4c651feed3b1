"""A stretch of network between a client and a cluster, which can be cut, frozen and slowed down.

In: a running cluster. Out: a kubeconfig whose address is a port of ours; what arrives there goes on
to the cluster byte by byte, in a thread of our own. It does not know what the bytes mean.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from testenv.cluster import Cluster

CHUNK = 64 * 1024


@dataclass(slots=True, eq=False)
class Relay:
    """The network's state; changes take effect at once, also for connections that are open."""

    kubeconfig: Path
    _host: str
    _port: int
    _loop: asyncio.AbstractEventLoop
    _flowing: asyncio.Event
    _delay_s: float = 0.0
    _is_cut: bool = False
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    held: int = 0  # bytes that clients have sent and that do not go on for now

    def cut(self) -> None:
        """Breaks all connections, and refuses new ones."""
        self._become(is_cut=True, flows=True)

    def freeze(self) -> None:
        """Nothing arrives any more, and nobody is told: what a lost network looks like."""
        self._become(is_cut=False, flows=False)

    def delay(self, seconds: float) -> None:
        """Every piece of data arrives so much later, in both directions."""
        self._become(is_cut=False, flows=True, delay_s=seconds)

    def restore(self) -> None:
        """All is well again; what was frozen arrives."""
        self._become(is_cut=False, flows=True)

    def _become(self, *, is_cut: bool, flows: bool, delay_s: float = 0.0) -> None:
        async def change() -> None:
            self._is_cut, self._delay_s = is_cut, delay_s
            (self._flowing.set if flows else self._flowing.clear)()
            if is_cut:
                for writer in self._open:
                    writer.transport.abort()

        asyncio.run_coroutine_threadsafe(change(), self._loop).result()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            if not self._is_cut:
                await self._connect(reader, writer)
        finally:
            self._open.discard(writer)
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        except OSError:
            return
        self._open.add(far_writer)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(reader, far_writer, is_request=True))
                both.create_task(self._pump(far_reader, writer))
        finally:
            self._open.discard(far_writer)
            far_writer.transport.abort()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        is_request: bool = False,
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                counted = len(data) if is_request else 0
                await asyncio.sleep(self._delay_s)
                self.held += counted
                try:
                    await self._flowing.wait()
                finally:
                    self.held -= counted
                writer.write(data)
                await writer.drain()
        with suppress(OSError, RuntimeError):
            writer.write_eof()


@contextmanager
def relaying(cluster: Cluster, name: str = "relayed") -> Iterator[Relay]:
    """A way to this cluster that tests can cut."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"relay {name}", daemon=True)
    thread.start()
    try:
        opened = asyncio.run_coroutine_threadsafe(_listen(cluster, name, loop), loop)
        server, relay = opened.result()
        try:
            yield relay
        finally:
            relay.cut()
            asyncio.run_coroutine_threadsafe(_close(server), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(
    cluster: Cluster, name: str, loop: asyncio.AbstractEventLoop
) -> tuple[asyncio.Server, Relay]:
    flowing = asyncio.Event()
    flowing.set()
    far = urlsplit(cluster.url)
    relay = Relay(cluster.kubeconfig, str(far.hostname), far.port or 443, loop, flowing)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    relay.kubeconfig = cluster.kubeconfig_by(f"https://127.0.0.1:{port}", name)
    return server, relay


async def _close(server: asyncio.Server) -> None:
    """Waits until the last connection has ended, so that no task is left when the loop stops."""
    server.close()
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
