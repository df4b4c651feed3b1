"""A real process, killed while it writes at full speed: nothing acknowledged is lost."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import flood
import pytest

from atoll.store.sqlite import SqliteLog
from atoll.store.store import Store


def flooded(path: Path, history_events: int, acknowledged: int, delay_s: float):
    """Run a flood, kill it some time after so many acknowledgements, and give what it told."""
    command = [sys.executable, flood.__file__, str(path), str(history_events)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        lines = [process.stdout.readline() for _ in range(acknowledged)]
        try:
            process.wait(delay_s)
        except subprocess.TimeoutExpired:
            process.kill()
        lines += process.stdout.readlines()
    told = [line.split() for line in lines if line.endswith(b"\n")]
    return [(int(revision), name.decode(), int(count)) for revision, name, count in told]


def reopened(path: Path) -> Store:
    async def main():
        store = Store.open(SqliteLog(path))
        await store.close()
        return store

    return asyncio.run(main())


def check_revision_order(told):
    per_name = {}
    for revision, name, _ in told:
        assert revision > per_name.get(name, 0)
        per_name[name] = revision
    assert len({revision for revision, _, _ in told}) == len(told)


def test_whatever_was_acknowledged_before_a_kill_is_there_exactly(tmp_path):
    path, chance = tmp_path / "atoll.db", random.Random("kill")
    everything, newest = {}, 1
    for _ in range(12):
        told = flooded(path, 10**9, chance.randrange(1, 400), chance.random() * 0.02)
        check_revision_order(told)
        assert min(revision for revision, _, _ in told) > newest
        store = reopened(path)
        assert not store.found.clean
        events = {event.revision: event for event in store.watch("flood", 1).take(10**9)}
        assert list(events) == list(range(2, store.revision + 1)), "no revision is missing"
        everything |= {revision: (name, count) for revision, name, count in told}
        for revision, (name, count) in everything.items():
            event = events[revision]
            assert (event.after.name, event.after.value) == (name, flood.value_of(name, count))
        for event in events.values():
            # Also what nobody was told of is whole.
            count = int(event.after.value.split()[1])
            assert event.after.value == flood.value_of(event.after.name, count)
            assert event.removed == (count % 10 == 9)
        newest = store.revision


@pytest.mark.parametrize("history_events", [20, 300])
def test_a_kill_in_the_middle_of_compaction_loses_no_object(tmp_path, history_events):
    path, chance = tmp_path / "atoll.db", random.Random(f"compact {history_events}")
    last, newest = {}, 1
    for _ in range(5):
        told = flooded(path, history_events, chance.randrange(500, 1500), chance.random() * 0.02)
        check_revision_order(told)
        assert min(revision for revision, _, _ in told) > newest
        last |= {name: (revision, count) for revision, name, count in sorted(told)}
        store = reopened(path)
        assert store.revision >= max(revision for revision, _ in last.values())
        assert store.revision - store.oldest < history_events + 600
        for name, (revision, count) in last.items():
            record = store.get("flood", name)
            if record is None or record.revision != revision:
                # Removed as the last acknowledged act, or by one nobody was told of, or rewritten.
                changed = store.watch("flood", store.oldest).take(10**9)
                later = [e for e in changed if e.after.name == name and e.revision > revision]
                assert later or (record is None and count % 10 == 9), (name, revision)
            else:
                assert record.value == flood.value_of(name, count)
        newest = store.revision
