"""How long a server takes from the command to being ready, with nothing and with much to load.

Our own store is filled through `atoll.store`, with objects as our server would have written them,
which takes seconds where clients would take minutes.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import orjson

from atoll.config import Config
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Put, Store
from atoll.wire import Wire
from bench.objects import MANAGER, configmap
from bench.report import Figure, Say
from bench.servers import OURS, Target, atoll, kubernetes_with_etcd
from bench.sizes import Sizes
from testenv.build import Binaries

SETTLE_S = 1.0  # until what a server does right after its start is over
_MIB = 1024 * 1024
_WRITERS = 500


def measure_starts(sizes: Sizes, binaries: Binaries | None, say: Say) -> list[Figure]:
    """Start every server several times, in turn, and ours with a full store too."""
    wall = Figure("start, empty", "s")
    cpu = Figure("start, empty, CPU", "s")
    for number in range(1, sizes.starts + 1):
        say(f"start {number} of {sizes.starts}, empty")
        with _fresh() as target:
            _note_start(target, wall, cpu)
        if binaries is not None:
            with kubernetes_with_etcd(binaries) as target:
                _note_start(target, wall, cpu)
    return [wall, cpu, *_full_starts(sizes, say)]


def _full_starts(sizes: Sizes, say: Say) -> list[Figure]:
    what = f"start, {sizes.stored:,} objects"
    wall, cpu = Figure(what, "s"), Figure(f"{what}, CPU", "s")
    memory = Figure(f"memory, {sizes.stored:,} objects", "MiB")
    with tempfile.TemporaryDirectory(prefix="atoll-bench-") as directory:
        with atoll(Path(directory)):
            pass
        say(f"filling a store with {sizes.stored:,} objects")
        asyncio.run(fill(Config(Path(directory) / "data").store_file, sizes.stored))
        for number in range(1, sizes.starts + 1):
            say(f"start {number} of {sizes.starts}, {sizes.stored:,} objects")
            with atoll(Path(directory)) as target:
                _note_start(target, wall, cpu)
                sleep(SETTLE_S)
                memory.note(OURS, target.usage().resident_bytes / _MIB)
    return [wall, cpu, memory]


def note_memory(figure: Figure, targets: list[Target]) -> None:
    for target in targets:
        figure.note(target.name, target.usage().resident_bytes / _MIB)


def _note_start(target: Target, wall: Figure, cpu: Figure) -> None:
    wall.note(target.name, target.started_s)
    cpu.note(target.name, target.usage().cpu_s)


@contextmanager
def _fresh() -> Iterator[Target]:
    with (
        tempfile.TemporaryDirectory(prefix="atoll-bench-") as directory,
        atoll(Path(directory)) as target,
    ):
        yield target


async def fill(path: Path, count: int) -> None:
    """Put so many ConfigMaps of 1 KB into a store that no server uses."""
    store = Store.open(SqliteLog(path))

    async def write(first: int) -> None:
        for number in range(first, count, _WRITERS):
            name = f"stored-{number:06}"

            def decide(_: object, revision: int, name: str = name, number: int = number) -> Put:
                return Put(orjson.dumps(_stored(name, number, revision)))

            await store.write("configmaps", f"default/{name}", decide)

    async with asyncio.TaskGroup() as group:
        committer = group.create_task(store.run())
        await asyncio.gather(*(write(first) for first in range(_WRITERS)))
        await store.close()
        await committer


def _stored(name: str, number: int, revision: int) -> Wire:
    """A ConfigMap as it is at rest: with what a server adds to it."""
    obj = configmap(name, number)
    owned: Wire = {f"f:{key}": {} for key in obj["data"]}
    labels: Wire = {f"f:{key}": {} for key in obj["metadata"]["labels"]}
    born = "2025-01-01T00:00:00Z"
    entry = {
        "manager": MANAGER,
        "operation": "Update",
        "apiVersion": "v1",
        "time": born,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {".": {}, **owned}, "f:metadata": {"f:labels": {".": {}, **labels}}},
    }
    obj["metadata"] |= {
        "namespace": "default",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "creationTimestamp": born,
        "resourceVersion": str(revision),
        "managedFields": [entry],
    }
    return obj
