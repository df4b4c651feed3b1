"""One address for several replicas, as a Service has: a connection goes to one that runs."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

CHUNK = 64 * 1024


@contextmanager
def balancing(ports: Sequence[int]) -> Iterator[int]:
    """A port that leads to the first of these at which somebody listens."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="balancer", daemon=True)
    thread.start()
    opening = asyncio.start_server(lambda *ends: _accept(ports, *ends), "127.0.0.1", 0)
    server = asyncio.run_coroutine_threadsafe(opening, loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_close(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _accept(
    ports: Sequence[int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        for port in ports:
            with suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    async with asyncio.TaskGroup() as both:
                        both.create_task(_pump(reader, far_writer))
                        both.create_task(_pump(far_reader, writer))
                finally:
                    far_writer.transport.abort()
                return
    finally:
        writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


async def _close(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)
