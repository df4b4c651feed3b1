"""Writes: decided on the newest record, durable before they are seen, in one order for all."""

import asyncio

import pytest
from disks import Conflict, HeldLog, opened, put, remove, running

from atoll.errors import NotDurable, StoreError
from atoll.store.store import KEEP, Put, Store


async def turns(count: int = 5) -> None:
    """Let everybody go on who can."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_write_is_there_when_it_returns_and_after_a_restart(disk):
    async def main():
        async with opened(disk.log()) as store:
            assert store.revision == 1
            record = await store.write("pods", "ns/a", put("one"))
            assert (record.revision, store.revision) == (2, 2)
            assert store.get("pods", "ns/a") is record
        async with opened(disk.log()) as store:
            again = store.get("pods", "ns/a")
            assert (again.collection, again.name, again.revision, again.value) == (
                "pods",
                "ns/a",
                2,
                b"one",
            )
            assert store.found.clean
            assert not store.found.new
            assert str(store.found).startswith("1 objects at revision 2, history from 1")

    asyncio.run(main())


def test_a_removed_record_is_gone_and_its_removal_has_a_revision(disk):
    async def main():
        async with opened(disk.log()) as store:
            await store.write("pods", "a", put("one"))
            last = await store.write("pods", "a", remove)
            assert (last.revision, last.value) == (3, b"one removed")
            assert store.get("pods", "a") is None
            assert store.page("pods").records == []
        async with opened(disk.log()) as store:
            assert store.get("pods", "a") is None
            assert store.revision == 3

    asyncio.run(main())


def test_keeping_uses_no_revision_and_returns_what_is_there(disk):
    async def main():
        async with opened(disk.log()) as store:
            first = await store.write("pods", "a", put("one"))
            kept = await store.write("pods", "a", lambda current, revision: KEEP)
            assert kept is first
            assert store.revision == 2

    asyncio.run(main())


def test_an_error_of_the_decision_writes_nothing(disk):
    def refuse(current, revision):
        raise Conflict("someone wrote first")

    async def main():
        async with opened(disk.log()) as store:
            with pytest.raises(Conflict):
                await store.write("pods", "a", refuse)
            assert store.revision == 1

    asyncio.run(main())


def test_the_decision_is_told_the_revision_its_write_gets(disk):
    async def main():
        async with opened(disk.log()) as store:
            records = await asyncio.gather(
                *(
                    store.write("pods", f"p{n}", lambda now, revision: Put(b"%d" % revision))
                    for n in range(50)
                )
            )
            assert [int(record.value) for record in records] == list(range(2, 52))
            assert [record.revision for record in records] == list(range(2, 52))

    asyncio.run(main())


def test_every_concurrent_increment_counts(disk):
    def increment(current, revision):
        return Put(b"%d" % (int(current.value) + 1 if current else 1))

    async def main():
        async with opened(disk.log()) as store:
            await asyncio.gather(*(store.write("counters", "c", increment) for _ in range(100)))
            assert store.get("counters", "c").value == b"100"

    asyncio.run(main())


def test_a_pending_write_is_decided_on_but_not_shown(disk):
    async def main():
        log = HeldLog(disk.log())
        async with running(Store.open(log)) as store:
            watch = store.watch("pods", store.revision)
            task = asyncio.create_task(store.write("pods", "a", put("one")))
            await turns()
            assert store.latest("pods", "a").value == b"one"
            assert store.get("pods", "a") is None
            assert (store.revision, watch.take(), watch.revision) == (1, [], 1)
            assert store.page("pods").records == []
            assert not task.done()
            log.let_through()
            record = await task
            assert store.get("pods", "a") is record
            assert [event.after for event in watch.take()] == [record]

    asyncio.run(main())


def test_a_refusal_that_rests_on_a_pending_write_waits_for_it(disk):
    def create(current, revision):
        if current is not None:
            raise Conflict(f"exists at {current.revision}")
        return Put(b"second")

    async def main():
        log = HeldLog(disk.log())
        async with running(Store.open(log)) as store:
            first = asyncio.create_task(store.write("pods", "a", put("first")))
            second = asyncio.create_task(store.write("pods", "a", create))
            kept = asyncio.create_task(store.write("pods", "a", lambda now, revision: KEEP))
            await turns()
            assert not second.done()
            assert not kept.done()
            log.let_through()
            record = await first
            with pytest.raises(Conflict, match="exists at 2"):
                await second
            assert await kept is record

    asyncio.run(main())


def test_a_refusal_that_rests_on_a_write_that_failed_is_decided_again(disk):
    def create(current, revision):
        if current is not None:
            raise Conflict(f"exists at {current.revision}")
        return Put(b"second")

    async def main():
        log = HeldLog(disk.log())
        async with running(Store.open(log)) as store:
            first = asyncio.create_task(store.write("pods", "a", put("first")))
            second = asyncio.create_task(store.write("pods", "a", create))
            await turns()
            with disk.full():
                log.let_through()
                with pytest.raises(NotDurable):
                    await first
                log.hold()
            log.let_through()
            assert (await second).value == b"second"
            assert store.get("pods", "a").revision == 2

    asyncio.run(main())


def test_a_full_disk_fails_everything_queued_and_leaves_no_trace(disk):
    async def main():
        log = HeldLog(disk.log())
        async with running(Store.open(log)) as store:
            log.let_through()
            await store.write("pods", "a", put("kept"))
            log.hold()
            watch = store.watch("pods", store.revision)
            tasks = []
            for name in ("a", "b", "a", "c"):
                tasks.append(asyncio.create_task(store.write("pods", name, put("lost" * 1000))))
                await turns()
            assert len(log.waiting) == 1, "the rest is queued behind the first group"
            with disk.full():
                log.let_through()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [NotDurable] * 4
            assert (store.revision, watch.take()) == (2, [])
            assert store.latest("pods", "a").value == b"kept"
            assert store.latest("pods", "b") is None
            record = await store.write("pods", "b", put("room again"))
            assert record.revision == 3
        async with opened(disk.log()) as store:
            assert [(r.name, r.value) for r in store.page("pods").records] == [
                ("a", b"kept"),
                ("b", b"room again"),
            ]

    asyncio.run(main())


def test_a_cancelled_writer_does_not_take_its_write_back_nor_hold_up_others(disk):
    async def main():
        log = HeldLog(disk.log())
        async with running(Store.open(log)) as store:
            gone = asyncio.create_task(store.write("pods", "a", put("one")))
            other = asyncio.create_task(store.write("pods", "b", put("two")))
            await turns()
            gone.cancel()
            log.let_through()
            await other
            assert store.get("pods", "a").value == b"one"

    asyncio.run(main())


def test_closing_lets_pending_writes_finish_and_takes_no_new_ones(disk):
    async def main():
        async with opened(disk.log()) as store:
            tasks = [asyncio.create_task(store.write("pods", f"{n}", put("x"))) for n in range(20)]
            await turns(1)
        assert [task.result().revision for task in tasks] == list(range(2, 22))
        with pytest.raises(StoreError, match="closed"):
            await store.write("pods", "late", put("x"))

    asyncio.run(main())


def test_pending_writes_finish_on_close_even_if_nothing_ever_ran(disk):
    async def main():
        store = Store.open(disk.log())
        task = asyncio.create_task(store.write("pods", "a", put("x")))
        await turns(1)
        await store.close()
        assert (await task).revision == 2

    asyncio.run(main())


def test_writers_are_told_when_the_committer_is_cut_off(disk):
    async def main():
        log = HeldLog(disk.log())
        store = Store.open(log)
        committer = asyncio.create_task(store.run())
        writer = asyncio.create_task(store.write("pods", "a", put("x")))
        behind = asyncio.create_task(store.write("pods", "a", lambda now, revision: KEEP))
        await turns()
        committer.cancel()
        for task in (writer, behind):
            with pytest.raises(StoreError) as told:
                await task
            assert not isinstance(told.value, NotDurable), "nobody knows that it is not there"
        await store.close()

    asyncio.run(main())


def test_large_groups_are_committed_in_bounded_parts(disk):
    async def main():
        log = HeldLog(disk.log())
        log.let_through()
        sizes = []

        class Counted(HeldLog):
            async def append(self, rows):
                sizes.append((len(rows), sum(len(row.value) for row in rows)))
                await super().append(rows)

        counted = Counted(log)
        counted.let_through()
        async with opened(counted, group_rows=10, group_bytes=5_000) as store:
            await asyncio.gather(
                *(store.write("pods", f"{n}", put(b"x" * 1000)) for n in range(30)),
                *(store.write("pods", f"small-{n}", put(b"x")) for n in range(30)),
            )
        assert max(count for count, _ in sizes) <= 10
        assert max(size for _, size in sizes) <= 5_000
        assert sum(count for count, _ in sizes) == 60

    asyncio.run(main())


def test_waiting_for_a_revision_ends_when_it_is_committed(disk):
    async def main():
        async with opened(disk.log()) as store:
            await store.reached(1)
            waiting = asyncio.create_task(store.reached(3))
            given_up = asyncio.create_task(store.reached(9))
            await store.write("pods", "a", put("one"))
            await turns()
            assert not waiting.done()
            given_up.cancel()
            await store.write("pods", "a", put("two"))
            await asyncio.wait_for(waiting, 120)

    asyncio.run(main())
