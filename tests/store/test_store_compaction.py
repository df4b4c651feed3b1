"""Compaction: bounded by count, bytes and age; nothing alive is lost, also across a restart."""

import asyncio

import pytest
from disks import opened, put, remove
from hypothesis import given
from hypothesis import strategies as st

from atoll.store.history import EVENT_OVERHEAD, History, Limits, Track
from atoll.store.memory import MemoryLog
from atoll.store.record import Event, Record
from simulation.loop import SimLoop


def make_event(revision, size=0, before=None, *, removed=False):
    return Event(revision, before, Record("c", "n", revision, b"x" * size), removed)


def test_only_live_rows_and_recent_history_stay_on_the_disk(disk):
    async def main():
        async with opened(disk.log(), history_events=10, slice_events=5) as store:
            for n in range(100):
                await store.write("pods", f"p{n % 3}", put(f"{n}"))
            await store.write("pods", "p0", remove)
            for n in range(20):
                await store.write("nodes", "n", put(f"{n}"))
        rows = disk.log().load().rows
        # Ten of history, and the rows those ten changed: at most as many again, plus the living.
        assert len(rows) <= 10 + 1 + 3
        assert [row for row in rows if row.name == "p0"] == []

    asyncio.run(main())


def test_a_compacted_store_opens_at_the_same_revision_with_the_same_objects(disk):
    async def main():
        async with opened(disk.log(), history_events=1, slice_events=50) as store:
            for n in range(30):
                await store.write("pods", f"p{n % 4}", put(f"{n}"))
            for n in range(4):
                await store.write("pods", f"p{n}", remove)
        oldest, revision = store.oldest, store.revision
        assert oldest > 25
        async with opened(disk.log()) as store:
            assert (store.oldest, store.revision) == (oldest, revision)
            assert store.page("pods").records == []
            assert (await store.write("pods", "new", put("x"))).revision == revision + 1

    asyncio.run(main())


def test_the_counter_does_not_fall_back_when_the_last_rows_are_removals(disk):
    async def main():
        async with opened(disk.log(), history_events=0) as store:
            await store.write("pods", "a", put("x"))
            await store.write("pods", "a", remove)
        # The last removal's own row may go with the history; its revision may not.
        async with opened(disk.log(), history_events=0) as store:
            assert store.revision == 3
            assert (await store.write("pods", "a", put("y"))).revision == 4

    asyncio.run(main())


def test_a_disk_that_refuses_to_compact_loses_nothing_and_is_asked_again():
    loop = SimLoop()

    async def main():
        log = MemoryLog()
        async with opened(log, history_events=1_000, history_s=10) as store:
            await store.write("pods", "a", put("1"))
            await store.write("pods", "a", put("2"))
            log.refusal = "no space left"
            await asyncio.sleep(60)
            assert store.oldest == 1
            log.refusal = ""
            await asyncio.sleep(2)
            assert store.oldest == 3
            assert store.get("pods", "a").value == b"2"

    loop.run_until_complete(main())
    loop.close()


def test_events_are_kept_for_their_time_and_no_longer_than_a_second_more():
    loop = SimLoop()

    async def main():
        async with opened(MemoryLog()) as store:
            for n in range(4):
                await store.write("pods", "a", put(f"{n}"))
                await asyncio.sleep(100)
            # Written at 0, 100, 200 and 300.
            await asyncio.sleep(2)
            assert store.oldest == 3
            await asyncio.sleep(97)
            assert store.oldest == 3
            await asyncio.sleep(3)
            assert store.oldest == 4
            await asyncio.sleep(1_000)
            assert store.oldest == store.revision == 5
            assert store.page("pods").records[0].value == b"3"

    loop.run_until_complete(main())
    loop.close()


def test_history_of_an_earlier_life_is_kept_for_its_time_from_the_start_on():
    loop = SimLoop()

    async def main():
        log = MemoryLog()
        async with opened(log) as store:
            await store.write("pods", "a", put("1"))
            await asyncio.sleep(200)
        async with opened(log) as store:
            await asyncio.sleep(299)
            assert store.oldest == 1
            await asyncio.sleep(3)
            assert store.oldest == 2

    loop.run_until_complete(main())
    loop.close()


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        pytest.param(Limits(history_events=7, slice_events=3), 7, id="by-count"),
        pytest.param(
            Limits(history_bytes=4 * (100 + EVENT_OVERHEAD), slice_events=3), 4, id="by-bytes"
        ),
        pytest.param(Limits(history_s=0, slice_events=3), 0, id="by-age"),
        pytest.param(Limits(), 20, id="not-at-all"),
    ],
)
def test_each_bound_holds(limits, kept):
    history, track = History(1), Track()
    for revision in range(2, 22):
        history.add(track, make_event(revision, size=100))
    history.note_time(50.0)
    while (due := history.due(limits)) is not None and due <= 60.0:
        history.drop(history.oldest(limits, 60.0))
    assert len(history) == len(track.events) == kept
    assert history.compacted == 21 - kept
    assert track.end == 20


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 400)), max_size=40),
    st.integers(0, 60),
    st.integers(1, 5),
)
def test_nothing_younger_than_promised_goes_unless_there_is_too_much(steps, events_max, slice_max):
    limits = Limits(history_s=100, history_events=events_max, slice_events=slice_max)
    history, track, times, now = History(1), Track(), {}, 0.0
    for revision, (wait_s, size) in enumerate(steps, start=2):
        now += wait_s / 3
        history.add(track, make_event(revision, size))
        history.note_time(now)
        times[revision] = now
        while (due := history.due(limits)) is not None and due <= now:
            gone = history.oldest(limits, now)
            assert 0 < gone.count <= slice_max
            for event in track.events[: gone.count]:
                over = len(history) > events_max
                assert now - times[event.revision] >= 100 or over
            history.drop(gone)
        assert len(history) <= events_max
        assert all(now - times[event.revision] <= 101 for event in track.events)


def test_the_rows_that_die_are_the_superseded_ones_and_the_removals():
    history, track = History(1), Track()
    first = make_event(2)
    second = make_event(3, before=first.after)
    removal = make_event(4, before=second.after, removed=True)
    fourth = make_event(5)
    for event in (first, second, removal, fourth):
        history.add(track, event)
    gone = history.oldest(Limits(history_events=0), 0.0)
    assert (gone.revision, gone.count, sorted(gone.dead)) == (5, 4, [2, 3, 4])
