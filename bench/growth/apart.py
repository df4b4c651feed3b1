"""Planes in processes of their own, each doing what it is told when it is told.

Of several planes one works at a time, and CPU is that of its process alone: so neither another
plane's heap nor its work is in anybody's figures.
"""

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import Any

import uvloop

from atoll.runtime.memory import settle_memory
from bench.growth.plane import Bench, plane

Work = Callable[[Bench], Awaitable[float]]
"""What is done in a plane, and the figure that comes of it; it must be importable by name."""


class Apart:
    """A plane in another process."""

    def __init__(self, way: "Connection[Any, Any]") -> None:
        self._way = way

    def begin(self, work: Work) -> None:
        """Have something done there; `result` tells what came of it."""
        self._way.send(work)

    def result(self) -> float:
        found = self._way.recv()
        if isinstance(found, BaseException):
            raise found
        return float(found)

    def do(self, work: Work) -> float:
        self.begin(work)
        return self.result()


@contextmanager
def planes(count: int) -> Iterator[list[Apart]]:
    """So many planes, each empty and in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as ended:
        found = []
        for _ in range(count):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            ended.callback(process.join)
            ended.callback(ours.close)
            found.append(Apart(ours))
        yield found


def _serve(way: "Connection[Any, Any]") -> None:
    """On the event loop, and with the care for memory, that the product has."""
    settle_memory()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_obey(way))


async def _obey(way: "Connection[Any, Any]") -> None:
    async with plane() as bench:
        while True:
            try:
                work: Work = await asyncio.to_thread(way.recv)
            except EOFError:
                return
            try:
                way.send(await work(bench))
            except Exception as problem:  # noqa: BLE001 - it is raised where it was asked for
                way.send(problem)
