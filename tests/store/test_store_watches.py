"""Watches: every event once, in order, from any revision still kept; never silently less."""

import asyncio
import gc

import pytest
from disks import HeldLog, opened, put, remove, running, shown

from atoll.errors import Gone
from atoll.store.history import SLEPT_MAX
from atoll.store.memory import MemoryLog
from atoll.store.store import Store


async def some_changes(store):
    await store.write("pods", "a", put("1"))
    await store.write("nodes", "n", put("x"))
    await store.write("pods", "a", put("2"))
    await store.write("pods", "b", put("3"))
    await store.write("pods", "a", remove)
    await store.write("nodes", "n", put("y"))


PODS = [
    ("added", 2, "a", None, "1"),
    ("changed", 4, "a", "1", "2"),
    ("added", 5, "b", None, "3"),
    ("removed", 6, "a", "2", "2 removed"),
]


@pytest.mark.parametrize("after", range(1, 8))
def test_a_watch_gives_what_came_after_its_revision(disk, after):
    async def main():
        async with opened(disk.log()) as store:
            await some_changes(store)
            watch = store.watch("pods", after)
            assert [shown(e) for e in watch.take()] == [line for line in PODS if line[1] > after]
            assert watch.take() == []

    asyncio.run(main())


def test_history_survives_a_restart(disk):
    async def main():
        async with opened(disk.log()) as store:
            await some_changes(store)
        async with opened(disk.log()) as store:
            assert [shown(e) for e in store.watch("pods", 1).take()] == PODS
            assert store.page("pods", revision=4).records[0].value == b"2"

    asyncio.run(main())


def test_an_older_revision_than_the_history_is_gone_from_the_start(disk):
    async def main():
        async with opened(disk.log()) as store:
            with pytest.raises(Gone):
                store.watch("pods", 0)

    asyncio.run(main())


def test_a_watch_from_the_future_gives_nothing_until_it_is_past(disk):
    async def main():
        async with opened(disk.log()) as store:
            watch = store.watch("pods", 4)
            waiting = asyncio.create_task(watch.wait())
            for n in range(3):
                await store.write("pods", "a", put(f"{n}"))
            assert (watch.take(), watch.revision) == ([], 4)
            assert not waiting.done()
            await store.write("pods", "a", put("past"))
            await asyncio.wait_for(waiting, 120)
            assert [event.revision for event in watch.take()] == [5]

    asyncio.run(main())


def test_the_revision_of_a_watch_follows_the_store_only_when_all_was_taken(disk):
    async def main():
        async with opened(disk.log()) as store:
            watch = store.watch("pods", 1)
            await store.write("nodes", "n", put("x"))
            assert watch.revision == 2
            await store.write("pods", "a", put("1"))
            await store.write("pods", "a", put("2"))
            await store.write("nodes", "n", put("y"))
            assert watch.revision < 3
            assert [event.revision for event in watch.take(1)] == [3]
            assert watch.revision == 3
            watch.take()
            assert watch.revision == store.revision == 5

    asyncio.run(main())


def test_a_watcher_that_falls_behind_the_history_is_cut_off(disk):
    async def main():
        async with opened(disk.log(), history_events=5, slice_events=2) as store:
            slow, steady = store.watch("pods", 1), store.watch("pods", 1)
            quiet = store.watch("nodes", 1)
            seen = []
            for n in range(20):
                await store.write("pods", "a", put(f"{n}"))
                seen += [event.revision for event in steady.take()]
            assert seen == list(range(2, 22))
            with pytest.raises(Gone):
                slow.take()
            await asyncio.wait_for(slow.wait(), 120)
            assert slow.revision == 1
            assert (quiet.take(), quiet.revision) == ([], 21)

    asyncio.run(main())


class Follower:
    """Takes the events of a namespace, and counts how often it is woken for them."""

    def __init__(self, store, prefix):
        self.seen = []
        self.woken = 0
        self._watch = store.watch("pods", store.revision, prefix)
        self._prefix = prefix

    async def follow(self):
        while True:
            await self._watch.wait()
            self.woken += 1
            names = [event.after.name for event in self._watch.take()]
            self.seen += [name for name in names if name.startswith(self._prefix)]


def test_who_follows_a_namespace_is_not_woken_for_others_but_now_and_then(disk):
    async def main():
        async with opened(disk.log(), group_rows=1) as store, asyncio.TaskGroup() as group:
            own, other, every = (Follower(store, prefix) for prefix in ("a/", "b/", ""))
            tasks = [group.create_task(each.follow()) for each in (own, other, every)]
            await asyncio.sleep(0)
            names = [f"a/{n}" for n in range(2 * SLEPT_MAX + 10)] + ["b/last"]
            await asyncio.gather(*(store.write("pods", name, put("x")) for name in names))
            await asyncio.sleep(0)
            assert (own.seen, other.seen, every.seen) == (names[:-1], ["b/last"], names)
            assert other.woken <= 3
            for task in tasks:
                task.cancel()

    asyncio.run(main())


def test_who_was_not_woken_does_not_fall_behind_the_history(disk):
    async def main():
        limits = {"history_events": 20, "slice_events": 5, "group_rows": 1}
        async with opened(disk.log(), **limits) as store, asyncio.TaskGroup() as group:
            quiet = Follower(store, "b/")
            task = group.create_task(quiet.follow())
            await asyncio.sleep(0)
            for n in range(200):
                await store.write("pods", f"a/{n}", put("x"))
            await store.write("pods", "b/last", put("x"))
            await asyncio.sleep(0)
            assert quiet.seen == ["b/last"], "and it was never told that its place is gone"
            task.cancel()

    asyncio.run(main())


def test_all_watchers_wake_once_per_group_and_cancelling_one_leaves_the_others(disk):
    async def main():
        log = HeldLog(disk.log())
        async with running(Store.open(log)) as store:
            batches = {n: [] for n in range(20)}

            async def follow(n):
                watch = store.watch("pods", 1)
                while len(batches[n]) < 2:
                    await watch.wait()
                    batches[n].append([event.revision for event in watch.take()])

            followers = [asyncio.create_task(follow(n)) for n in batches]
            first = asyncio.create_task(store.write("pods", "first", put("x")))
            for _ in range(5):
                await asyncio.sleep(0)
            rest = [asyncio.create_task(store.write("pods", f"{n}", put("x"))) for n in range(9)]
            for _ in range(5):
                await asyncio.sleep(0)
            followers.pop().cancel()
            log.let_through()
            await asyncio.wait_for(asyncio.gather(first, *rest, *followers), 120)
            assert [batches[n] for n in range(19)] == [[[2], list(range(3, 12))]] * 19

    asyncio.run(main())


def test_a_wait_that_was_given_up_leaves_nothing_behind():
    def futures():
        gc.collect()
        return sum(isinstance(one, asyncio.Future) for one in gc.get_objects())

    async def main():
        async with opened(MemoryLog()) as store:
            watch = store.watch("pods", 1)
            await asyncio.sleep(0)
            before = futures()
            for _ in range(50):
                waiting = [asyncio.create_task(watch.wait()), asyncio.create_task(store.reached(9))]
                await asyncio.sleep(0)
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
            del waiting, task
            # A hundred waits were given up; a few futures of the loop come and go by themselves.
            assert futures() <= before + 40

    asyncio.run(main())


def test_an_event_is_encoded_once_for_all_watchers_and_not_kept_for_ever():
    async def main():
        async with opened(MemoryLog()) as store:
            first, second = store.watch("pods", 1), store.watch("pods", 1)
            await store.write("pods", "a", put("1", view={"decoded": 1}))
            event = first.take()[0]
            event.frames["json"] = b"{}"
            assert second.take()[0].frames == {"json": b"{}"}
            assert event.after.view == {"decoded": 1}
            for n in range(1_000):
                await store.write("pods", "a", put(f"{n}"))
            assert event.frames == {}

    asyncio.run(main())
