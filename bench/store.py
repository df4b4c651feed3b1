"""What the store costs: CPU per write, time to open, and the price of waking many watchers.

CPU time rather than wall time, because it does not depend on who else uses the machine.
Run as `python -m bench.store`.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter, process_time

from atoll.store.log import Row
from atoll.store.record import Record
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Put, Store

VALUE = os.urandom(1024)


def put(current: Record | None, revision: int) -> Put:
    return Put(VALUE)


async def measured(store: Store, work: Callable[[], Awaitable[int]]) -> tuple[float, float]:
    """Give CPU and wall microseconds per operation of `work`, which says how many it did."""
    cpu, wall = process_time(), perf_counter()
    count = await work()
    return (process_time() - cpu) / count * 1e6, (perf_counter() - wall) / count * 1e6


async def writing(path: Path, writers: int, each: int, watchers: int) -> tuple[float, float]:
    store = Store.open(SqliteLog(path))

    async def write(writer: int) -> None:
        for n in range(each):
            await store.write("pods", f"ns/{writer}-{n % 100}", put)

    async def follow() -> None:
        watch = store.watch("pods", store.revision)
        while True:
            await watch.wait()
            watch.take()

    async def work() -> int:
        async with asyncio.TaskGroup() as group:
            for writer in range(writers):
                group.create_task(write(writer))
        return writers * each

    async with asyncio.TaskGroup() as group:
        committer = group.create_task(store.run())
        following = [group.create_task(follow()) for _ in range(watchers)]
        result = await measured(store, work)
        for task in following:
            task.cancel()
        await store.close()
        await committer
    return result


def opening(path: Path, objects: int) -> tuple[float, float]:
    """Give the CPU and wall seconds to open a store with so many objects of 1 KB."""

    async def fill() -> None:
        log = SqliteLog(path)
        log.load()
        revision = 1
        for start in range(0, objects, 1000):
            rows = [
                Row(revision + n + 1, "pods", f"ns-{n % 100}/pod-{n}", False, VALUE)
                for n in range(start, start + 1000)
            ]
            await log.append(rows)
        await log.compact(revision + objects, [])
        await log.close()

    async def open_and_close() -> tuple[float, float]:
        cpu, wall = process_time(), perf_counter()
        store = Store.open(SqliteLog(path))
        spent = process_time() - cpu, perf_counter() - wall
        assert store.found.objects == objects
        await store.close()
        return spent

    asyncio.run(fill())
    return asyncio.run(open_and_close())


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        for writers, watchers in ((1, 0), (64, 0), (64, 500)):
            each = 2000 if writers == 1 else 200
            path = folder / f"{writers}-{watchers}.db"
            cpu, wall = asyncio.run(writing(path, writers, each, watchers))
            print(
                f"write   {writers:3} writers {watchers:4} watchers "
                f"{cpu:8.1f} us CPU {wall:8.1f} us wall each"
            )
        cpu, wall = opening(folder / "open.db", 100_000)
        print(f"open    100000 objects of 1 KB {cpu:8.2f} s CPU {wall:8.2f} s wall")


if __name__ == "__main__":
    main()
