"""The store against a simple model, step by step, over both disks.

The model is a list of all events ever committed, and a list of those pending. Writes are started
and held before the disk, so that every mixture of pending and committed is met; then they are let
through, refused, cut off by a crash before or after they were durable, or finished by closing.
Checked all along: one increasing revision, no event seen before it was durable, none missed, none
repeated; lists are snapshots; what was acknowledged is there.
"""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from disks import Conflict, FileDisk, HeldLog, MemoryDisk
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from atoll.errors import Gone, NotDurable, StoreError
from atoll.store.history import Limits
from atoll.store.store import KEEP, Put, Remove, Store
from atoll.store.watching import Watch

COLLECTIONS = ("pods", "nodes")
NAMES = ("a/1", "a/2", "b")
LIMITS = Limits(history_events=6, slice_events=3, group_rows=3)

wishes = st.lists(
    st.tuples(
        st.sampled_from(COLLECTIONS),
        st.sampled_from(NAMES),
        st.sampled_from(["put", "create", "update", "remove", "keep"]),
        st.sampled_from([3, 300, 9000]),
    ),
    min_size=1,
    max_size=6,
)


@dataclass(frozen=True)
class Change:
    revision: int
    collection: str
    name: str
    removed: bool
    value: bytes


@dataclass
class Started:
    """A write under way: what it decided last, and which pending change that rests on."""

    task: asyncio.Task | None = None
    decided: Change | str = ""
    rests_on: Change | None = None


@dataclass
class Follower:
    watch: Watch
    collection: str
    after: int


@dataclass
class Reading:
    """A list begun and not yet finished."""

    collection: str
    prefix: str
    revision: int
    after: str
    rest: list[tuple[str, int, bytes]]


def state_of(changes, collection):
    state = {}
    for change in changes:
        if change.collection == collection:
            if change.removed:
                del state[change.name]
            else:
                state[change.name] = change
    return state


class StoreModel(RuleBasedStateMachine):
    def new_disk(self):
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="store-model-"))
        self.runner = asyncio.Runner()
        self.disk = self.new_disk()
        self.committed: list[Change] = []
        self.pending: list[Change] = []
        self.started: list[Started] = []
        self.followers: list[Follower] = []
        self.readings: list[Reading] = []
        self.runner.run(self.start())

    async def start(self):
        self.log = HeldLog(self.disk.log())
        self.store = Store.open(self.log, LIMITS)
        self.committer = asyncio.create_task(self.store.run())
        await self.log.idle()

    @property
    def revision(self):
        return self.committed[-1].revision if self.committed else 1

    # Writing.

    @rule(wishes=wishes)
    def write(self, wishes):
        self.runner.run(self.begin(wishes))

    @rule(wishes=wishes)
    def write_and_let_through(self, wishes):
        self.runner.run(self.begin(wishes))
        self.let_through()

    async def begin(self, wishes):
        for wish in wishes:
            started = Started()
            decide = partial(self.decide, started, wish)
            started.task = asyncio.create_task(self.store.write(*wish[:2], decide))
            self.started.append(started)
            await asyncio.sleep(0)
        await self.log.idle()

    def decide(self, started, wish, current, revision):
        """Decide as a client of the API would, and check what the decision is based on."""
        collection, name, intent, size = wish
        same = [c for c in self.pending if (c.collection, c.name) == (collection, name)]
        started.rests_on = same[-1] if same else None
        latest = state_of([*self.committed, *self.pending], collection).get(name)
        assert (current.revision if current else None) == (latest.revision if latest else None)
        assert (current.value if current else None) == (latest.value if latest else None)
        assert revision == self.revision + len(self.pending) + 1
        if intent == "keep" and current is not None:
            started.decided = "keep"
            return KEEP
        exists = current is not None
        if intent != "put" and exists == (intent == "create"):
            started.decided = "conflict"
            raise Conflict("not as expected")
        value = (f"{collection}/{name}@{revision} " * size)[:size].encode()
        change = Change(revision, collection, name, intent == "remove", value)
        self.pending.append(change)
        started.decided = change
        return Remove(value) if change.removed else Put(value)

    def settle_model(self):
        """The pending changes have become durable."""
        self.committed += self.pending
        self.pending = []

    async def finish(self):
        self.log.let_through()
        outcomes = await asyncio.gather(*(s.task for s in self.started), return_exceptions=True)
        await self.log.idle()
        self.log.hold()
        started, self.started = self.started, []
        return list(zip(started, outcomes, strict=True))

    def check_outcome(self, started, outcome):
        decided = started.decided
        if decided == "conflict":
            assert isinstance(outcome, Conflict)
        elif decided == "keep":
            assert outcome.revision in {change.revision for change in self.committed}
        else:
            assert not isinstance(outcome, BaseException), outcome
            assert (outcome.revision, outcome.value) == (decided.revision, decided.value)
            assert decided in self.committed

    @rule()
    def let_through(self):
        outcomes = self.runner.run(self.finish())
        self.settle_model()
        for started, outcome in outcomes:
            self.check_outcome(started, outcome)

    @precondition(lambda self: self.pending)
    @rule()
    def let_one_group_through(self):
        group = [row.revision for row in self.log.waiting]

        async def one():
            self.log.let_through(only_one=True)
            await self.store.reached(group[-1])
            await self.log.idle()

        self.runner.run(one())
        assert group == [change.revision for change in self.pending[: len(group)]]
        self.committed += self.pending[: len(group)]
        self.pending = self.pending[len(group) :]
        for started in [s for s in self.started if s.decided in self.committed]:
            self.check_outcome(started, started.task.result())
            self.started.remove(started)

    @precondition(lambda self: self.pending)
    @rule()
    def fill_the_disk(self):
        """Everything pending fails; who only waited for it is asked again, and then it works."""
        before = len(self.committed)

        async def refused():
            tried, self.pending = self.pending, []
            doomed = [s for s in self.started if s.decided in tried]
            with self.disk.full():
                self.log.let_through(only_one=True)
                outcomes = await asyncio.gather(
                    *(started.task for started in doomed), return_exceptions=True
                )
            assert [type(outcome) for outcome in outcomes] == [NotDurable] * len(doomed)
            self.started = [s for s in self.started if s not in doomed]
            await self.log.idle()

        self.runner.run(refused())
        assert len(self.committed) == before

    # Ending.

    @rule(kept=st.booleans())
    def crash(self, kept):
        async def cut_off():
            group = list(self.log.waiting)
            if kept:
                self.log.before.set()
                while group and group[-1].revision not in self.log.durable:
                    await asyncio.sleep(0.0005)
            self.committer.cancel()
            await asyncio.gather(
                self.committer, *(s.task for s in self.started), return_exceptions=True
            )
            old = self.store
            self.disk.crash()
            await old.close()
            return len(group) if kept else 0

        survived = self.runner.run(cut_off())
        self.committed += self.pending[:survived]
        self.begin_again()

    @rule()
    def restart(self):
        async def end():
            closing = asyncio.create_task(self.store.close())
            await self.log.idle()
            finished = await self.finish()
            await closing
            return finished

        outcomes = self.runner.run(end())
        self.settle_model()
        for started, outcome in outcomes:
            # A write that was to be decided again finds the store closed; others finish.
            if type(outcome) is not StoreError:
                self.check_outcome(started, outcome)
        self.begin_again()
        assert self.store.found.clean

    def begin_again(self):
        """Open what is left. Clients resume their watches and lists from what they had."""
        followers, self.followers = self.followers, []
        self.pending, self.started = [], []
        self.runner.run(self.start())
        assert self.store.found.revision == self.revision
        for follower in followers:
            self.follow(follower.collection, follower.after)

    # Reading.

    @rule(collection=st.sampled_from(COLLECTIONS), back=st.integers(-2, 9))
    def watch(self, collection, back):
        self.follow(collection, max(0, self.revision - back))

    def follow(self, collection, after):
        try:
            watch = self.store.watch(collection, after)
        except Gone:
            assert after < self.store.oldest
        else:
            assert after >= self.store.oldest
            self.followers.append(Follower(watch, collection, after))

    @precondition(lambda self: self.followers)
    @rule(data=st.data(), limit=st.integers(1, 4))
    def take(self, data, limit):
        follower = data.draw(st.sampled_from(self.followers))
        missing = [
            change
            for change in self.committed
            if change.collection == follower.collection and change.revision > follower.after
        ]
        try:
            events = follower.watch.take(limit)
        except Gone:
            assert missing[0].revision <= self.store.oldest
            self.followers.remove(follower)
            return
        expected = missing[:limit]
        assert [
            Change(e.revision, e.after.collection, e.after.name, e.removed, e.after.value)
            for e in events
        ] == expected
        for event in events:
            assert event.revision in self.log.durable
            assert event.after.revision == event.revision
            before = [c for c in self.committed if c.revision < event.revision]
            old = state_of(before, follower.collection).get(event.after.name)
            assert (event.before and event.before.revision) == (old and old.revision)
            assert (event.before and event.before.value) == (old and old.value)
        if events:
            follower.after = events[-1].revision
        left = missing[len(expected) :]
        bookmark = follower.watch.revision
        assert bookmark >= follower.after
        assert (
            bookmark == max(follower.after, self.revision)
            if not left
            else (bookmark < left[0].revision)
        )

    @rule(
        collection=st.sampled_from(COLLECTIONS),
        prefix=st.sampled_from(["", "a/", "b/", "x"]),
        back=st.integers(0, 10),
    )
    def begin_list(self, collection, prefix, back):
        revision = max(1, self.revision - back)
        state = state_of([c for c in self.committed if c.revision <= revision], collection)
        rest = [
            (name, state[name].revision, state[name].value)
            for name in sorted(state)
            if name.startswith(prefix)
        ]
        if revision >= self.store.oldest:
            self.readings.append(Reading(collection, prefix, revision, "", rest))

    @precondition(lambda self: self.readings)
    @rule(data=st.data(), limit=st.integers(0, 3))
    def next_page(self, data, limit):
        reading = data.draw(st.sampled_from(self.readings))
        try:
            page = self.store.page(
                reading.collection,
                reading.prefix,
                revision=reading.revision,
                after=reading.after,
                limit=limit,
            )
        except Gone:
            assert reading.revision < self.store.oldest
            self.readings.remove(reading)
            return
        expected = reading.rest[: limit or None]
        reading.rest = reading.rest[len(expected) :]
        assert [(r.name, r.revision, r.value) for r in page.records] == expected
        assert (page.more, page.remaining) == (bool(reading.rest), len(reading.rest))
        assert page.revision == reading.revision
        if not reading.rest:
            self.readings.remove(reading)
        else:
            reading.after = expected[-1][0] if expected else reading.after

    # At every step.

    @invariant()
    def no_answer_rests_on_what_is_not_durable(self):
        for started in self.started:
            if started.task.done() and started.rests_on is not None:
                assert started.rests_on in self.committed

    @invariant()
    def readers_see_what_is_committed(self):
        assert self.store.revision == self.revision
        assert 1 <= self.store.oldest <= self.revision
        for collection in COLLECTIONS:
            state = state_of(self.committed, collection)
            newest = state_of([*self.committed, *self.pending], collection)
            for name in NAMES:
                for expected, record in (
                    (state.get(name), self.store.get(collection, name)),
                    (newest.get(name), self.store.latest(collection, name)),
                ):
                    assert (record.revision if record else None) == (
                        expected.revision if expected else None
                    )
                    assert (record.value if record else None) == (
                        expected.value if expected else None
                    )

    def teardown(self):
        self.runner.run(self.end())
        self.runner.close()
        shutil.rmtree(self.folder)

    async def end(self):
        closing = asyncio.create_task(self.store.close())
        await self.finish()
        self.log.let_through()
        await closing


class MemoryModel(StoreModel):
    def new_disk(self):
        return MemoryDisk()


class FileModel(StoreModel):
    def new_disk(self):
        return FileDisk(self.folder / "disk")


TestMemory = MemoryModel.TestCase
TestMemory.settings = settings(max_examples=100, stateful_step_count=60)
TestFile = FileModel.TestCase
TestFile.settings = settings(max_examples=15, stateful_step_count=60)
