"""A process that writes as fast as it can and says what was acknowledged, until it is killed.

Run as a program with the path of a data file. Each line: revision, name, count, removed or not.
The bytes of a write follow from its name and count alone, so that the reader can tell them.
"""

import asyncio
import os
import sys
from pathlib import Path

from atoll.store.history import Limits
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Put, Remove, Store

WRITERS = 16


def value_of(name: str, count: int) -> bytes:
    line = f"{name} {count} ".encode()
    return line * (1 + (count * 7919) % 200)


def decide_next(name: str):
    def decide(current, revision):
        count = int(current.value.split()[1]) + 1 if current else 0
        value = value_of(name, count)
        return Remove(value) if current and count % 10 == 9 else Put(value)

    return decide


async def write_for_ever(store: Store, name: str) -> None:
    while True:
        record = await store.write("flood", name, decide_next(name))
        line = f"{record.revision} {name} {record.value.split()[1].decode()}\n"
        os.write(1, line.encode())


async def main(path: Path, history_events: int) -> None:
    store = Store.open(SqliteLog(path), Limits(history_events=history_events, slice_events=50))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.run())
        for writer in range(WRITERS):
            tasks.create_task(write_for_ever(store, f"w{writer}"))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
