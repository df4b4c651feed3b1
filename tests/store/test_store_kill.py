"""A real process, writing at full speed, killed with -9 at any moment, many times over one store.

What it was told is durable, it says on a pipe; what is in the file afterwards is compared with it.
"""

import asyncio
import random
import signal
import subprocess
import sys
import time

from disks import opened, shown

from atoll.store.sqlite import SqliteLog

WRITER = """
import asyncio, os, sys
from pathlib import Path
from atoll.store.sqlite import SqliteLog
from atoll.store.store import Put, Remove, Store

async def writer(store, number):
    name = f"ns/w{number}"
    for step in range(10**9):
        # An even step removes what the odd one before it wrote; both say who and when.
        value = b"%d/%d " % (number, step) + bytes(400)
        decision = Remove(value) if step % 7 == 6 else Put(value)
        record = await store.write("pods", name, lambda current, revision: decision)
        os.write(1, b"%d %d %d %d\\n" % (number, step, record.revision, step % 7 == 6))

async def watcher(store):
    watch = store.watch("pods", store.revision)
    while True:
        await watch.wait()
        for event in watch.take():
            os.write(1, b"seen %d\\n" % event.revision)

async def main():
    store = Store.open(SqliteLog(Path(sys.argv[1])))
    os.write(1, b"from %d\\n" % store.revision)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.run())
        tasks.create_task(watcher(store))
        for number in range(8):
            tasks.create_task(writer(store, number))

asyncio.run(main())
"""
ROUNDS = 12


def written_until_killed(path, after_s):
    """Let the writer run for this long, kill it, and give the lines it had sent by then."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        assert first.startswith(b"from "), process.stderr.read()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        lines = process.stdout.read()
    # What follows the last line end was being said when the process died.
    complete = lines[: lines.rfind(b"\n") + 1]
    return int(first.split()[1]), [line.split() for line in complete.splitlines()]


def state_and_history(path):
    async def main():
        async with opened(SqliteLog(path)) as store:
            objects = {one.name: one.value for one in store.page("pods").records}
            events = [shown(event) for event in store.watch("pods", store.oldest).take(10**6)]
            return objects, events, store.revision, store.found

    return asyncio.run(main())


def test_every_acknowledged_write_survives_kill_9(tmp_path):
    path = tmp_path / "atoll.db"
    dice = random.Random(11)
    acknowledged_in_all = 0
    for _ in range(ROUNDS):
        start, lines = written_until_killed(path, dice.uniform(0.0, 0.4))
        acks = [tuple(map(int, line)) for line in lines if line[0] != b"seen"]
        seen = [int(line[1]) for line in lines if line[0] == b"seen"]
        acknowledged_in_all += len(acks)
        objects, events, revision, found = state_and_history(path)
        revisions = [event[1] for event in events]
        assert revisions == sorted(set(revisions)), "one change for each revision, in order"
        assert {ack[2] for ack in acks} <= set(revisions), "what was acknowledged is there"
        assert set(seen) <= set(revisions), "nobody saw what was not durable"
        assert seen == sorted(set(seen)), "no watcher saw anything twice or out of order"
        assert all(one > start for one in seen)
        assert revision >= max((ack[2] for ack in acks), default=start)
        check_objects(objects, acks)
        assert not found.new
    assert acknowledged_in_all > ROUNDS * 10, "the writer got to write"


def check_objects(objects, acks):
    """Each writer's object is its last acknowledged step or a later one, whole."""
    last = {number: (step, removed) for number, step, _, removed in acks}
    for number, (step, removed) in last.items():
        value = objects.get(f"ns/w{number}")
        if value is None:
            assert removed or (step + 1) % 7 == 6, "only a removal leaves nothing behind"
            continue
        said, _, padding = value.partition(b" ")
        assert padding == bytes(400), "a write is there as a whole"
        writer, found = map(int, said.split(b"/"))
        assert writer == number
        assert found in (step, step + 1) or removed, "at most the one write in flight is newer"
