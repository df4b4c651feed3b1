"""Lists: one snapshot, in byte order, now or as it was."""

import asyncio

import pytest
from disks import opened, put, remove
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import Gone
from atoll.store.memory import MemoryLog


def names(page):
    return [record.name for record in page.records]


def test_names_come_in_byte_order_within_their_prefix(disk):
    async def main():
        async with opened(disk.log()) as store:
            for name in ("b/1", "a/2", "a-b/1", "a/1", "a/10", "a"):
                await store.write("pods", name, put("x"))
            await store.write("nodes", "a/other", put("x"))
            assert names(store.page("pods")) == ["a", "a-b/1", "a/1", "a/10", "a/2", "b/1"]
            assert names(store.page("pods", "a/")) == ["a/1", "a/10", "a/2"]
            assert names(store.page("pods", "c/")) == []
            assert names(store.page("none")) == []

    asyncio.run(main())


def test_the_second_page_belongs_to_the_snapshot_of_the_first(disk):
    async def main():
        async with opened(disk.log()) as store:
            for name in "abcdef":
                await store.write("pods", name, put(f"{name} old"))
            first = store.page("pods", limit=2)
            assert (names(first), first.more, first.remaining) == (["a", "b"], True, 4)
            await store.write("pods", "c", put("c new"))
            await store.write("pods", "d", remove)
            await store.write("pods", "bb", put("added"))
            await store.write("pods", "a", remove)
            second = store.page("pods", revision=first.revision, after="b", limit=3)
            assert [r.value for r in second.records] == [b"c old", b"d old", b"e old"]
            assert (second.revision, second.more, second.remaining) == (first.revision, True, 1)
            third = store.page("pods", revision=first.revision, after="e", limit=3)
            assert (names(third), third.more, third.remaining) == (["f"], False, 0)

    asyncio.run(main())


def test_a_snapshot_older_than_the_history_is_gone(disk):
    async def main():
        async with opened(disk.log(), history_events=2, slice_events=1) as store:
            for n in range(10):
                await store.write("pods", "a", put(f"{n}"))
            await store.close()
            assert store.oldest == 9
            assert store.page("pods", revision=9).records[0].value == b"7"
            with pytest.raises(Gone) as told:
                store.page("pods", revision=8)
            assert (told.value.revision, told.value.oldest) == (8, 9)

    asyncio.run(main())


few_names = st.sampled_from(["a", "a/", "a/b", "a/c", "ab", "b", "\U0010ffff", "ä/x"])
from_anywhere = st.just("") | few_names
changes = st.lists(st.tuples(few_names, st.booleans()), max_size=25)


@settings(max_examples=150)
@given(changes, from_anywhere, from_anywhere, st.integers(0, 4))
def test_every_page_of_every_revision_is_what_was_there(changes, prefix, after, limit):
    async def main():
        async with opened(MemoryLog()) as store:
            states = [{}]
            for name, gone in changes:
                state = dict(states[-1])
                if gone and name not in state:
                    continue
                record = await store.write("c", name, remove if gone else put(f"{len(states)}"))
                if gone:
                    del state[name]
                else:
                    state[name] = record
                states.append(state)
            for revision, state in enumerate(states, start=1):
                expected = [
                    state[name]
                    for name in sorted(state)
                    if name.startswith(prefix) and name > after
                ]
                page = store.page("c", prefix, revision=revision, after=after, limit=limit)
                cut = expected[:limit] if limit else expected
                assert page.records == cut
                assert page.remaining == len(expected) - len(cut)
                assert page.more == (page.remaining > 0)

    asyncio.run(main())
