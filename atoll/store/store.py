"""The store: live objects and recent history in memory, every change durable before it is seen.

A write is decided by a plain function on the newest record, queued, made durable by `run` together
with whatever else waits (one group, one sync), and only then applied, published to watchers and
acknowledged, in the order of revisions. Between two awaits nobody else runs, so there are no locks.
It knows bytes, names and revisions; what the bytes mean, and who may write, is decided above.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from atoll.errors import NotDurable, StoreError
from atoll.store.collection import Collection, Page
from atoll.store.history import History, Limits
from atoll.store.log import Loaded, Log
from atoll.store.pending import Pending, Write
from atoll.store.record import Event, Record
from atoll.store.watching import Watch


@dataclass(slots=True)
class Put:
    """Decide to store these bytes."""

    value: bytes
    view: Any = None


@dataclass(slots=True)
class Remove:
    """Decide to remove the record; these are its final bytes, as the last event tells them."""

    value: bytes
    view: Any = None


class Keep:
    """Decide to leave the record as it is."""


KEEP: Final = Keep()

# Given the newest record (None if there is none) and the revision the write would get, say what
# to do, or raise. It may be called again if what it was shown turned out not to be durable.
Decide = Callable[[Record | None, int], Put | Remove | Keep]


# Told of every committed group, before watchers and before the writers are answered.
Listener = Callable[[Sequence[Event]], None]


@dataclass(frozen=True, slots=True)
class Found:
    """What was there when the store was opened."""

    objects: int
    revision: int
    history_from: int
    identity: str
    new: bool
    clean: bool
    recovered_pages: int

    def __str__(self) -> str:
        if self.new:
            return "a new store"
        left = "closed in good order" if self.clean else "not closed in good order"
        recovered = f", {self.recovered_pages} pages recovered" if self.recovered_pages else ""
        return (
            f"{self.objects} objects at revision {self.revision}, "
            f"history from {self.history_from}, {left}{recovered}"
        )


class Store:
    """All collections at one revision. `run` must be running for writes to finish."""

    def __init__(self, log: Log, limits: Limits, loaded: Loaded) -> None:
        self._log = log
        self._limits = limits
        self._collections: dict[str, Collection] = {}
        self._history = History(loaded.compacted)
        self._pending = Pending()
        self._fill(loaded)
        self._next_revision = self.revision + 1
        self._reached: dict[asyncio.Future[None], int] = {}
        self._wakeup: asyncio.Future[None] | None = None
        self._stopped: asyncio.Future[None] | None = None
        self._running = False
        self._closing = False
        self._compact_not_before = 0.0
        self._listeners: list[Listener] = []
        self.refusal = ""  # why the last write could not be made durable, if it could not
        self.found = Found(
            objects=sum(self.counts().values()),
            revision=self.revision,
            history_from=self._history.compacted,
            identity=loaded.identity,
            new=loaded.new,
            clean=loaded.clean,
            recovered_pages=loaded.recovered_pages,
        )

    @classmethod
    def open(cls, log: Log, limits: Limits | None = None) -> "Store":
        """Read the whole log into memory. Blocks, so it belongs before everything else."""
        return cls(log, limits or Limits(), log.load())

    @property
    def revision(self) -> int:
        """The newest committed revision."""
        return self._history.revision

    @property
    def oldest(self) -> int:
        """The oldest revision that can still be listed, and watched from."""
        return self._history.compacted

    def listen(self, listener: Listener) -> None:
        """Tell this listener of every event from now on, in order."""
        self._listeners.append(listener)

    def collections(self) -> list[str]:
        """Give the names of the collections that have held anything."""
        return list(self._collections)

    def counts(self) -> dict[str, int]:
        """How many objects each collection has."""
        return {name: len(each.objects) for name, each in self._collections.items()}

    def get(self, collection: str, name: str) -> Record | None:
        """Give the committed record."""
        return self._collection(collection).objects.get(name)

    def latest(self, collection: str, name: str) -> Record | None:
        """Give the newest record, durable or not: to decide on, not to show."""
        ahead = self._pending.newest(collection, name)
        if ahead is None:
            return self.get(collection, name)
        return None if ahead.event.removed else ahead.event.after

    def page(
        self,
        collection: str,
        prefix: str = "",
        *,
        revision: int | None = None,
        after: str = "",
        limit: int = 0,
    ) -> Page:
        """Give the records whose names begin with `prefix`, beyond `after`, as of one revision.

        Raises Gone if that revision is no longer kept; `reached` waits for one still to come.
        """
        if revision is None:
            revision = self.revision
        assert revision <= self.revision, "wait for a revision before reading at it"
        self._history.check_kept(revision)
        return self._collection(collection).page(prefix, after, limit, revision)

    def watch(self, collection: str, after: int, prefix: str = "") -> Watch:
        """Follow a collection from a revision on; raises Gone if that is no longer kept."""
        return Watch(self._history, self._collection(collection).track, after, prefix)

    async def reached(self, revision: int) -> None:
        """Wait until the committed revision is at least this."""
        if revision <= self.revision:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._reached[waiter] = revision
        try:
            await waiter
        finally:
            self._reached.pop(waiter, None)

    async def write(self, collection: str, name: str, decide: Decide) -> Record:
        """Carry out what `decide` says; return once it is durable, applied and published.

        A refusal, or keeping, is an answer about what `decide` saw. If that was not yet durable,
        the answer waits until it is; and is asked for anew if it never will be.
        Cancelling the caller does not take the write back.
        """
        while True:
            self._check_open()
            ahead = self._pending.newest(collection, name)
            current = self.latest(collection, name)
            try:
                decision = decide(current, self._next_revision)
            except Exception:
                if ahead is None or await ahead.settled() is None:
                    raise
                continue
            if not isinstance(decision, Keep):
                return await self._queue(collection, name, current, decision)
            assert current is not None, "there is nothing to keep"
            if ahead is None or await ahead.settled() is None:
                return current

    async def run(self) -> None:
        """Commit what is written and forget what is too old, until the store is closed."""
        assert not self._running, "a store has one committer"
        self._running = True
        self._history.note_time(asyncio.get_running_loop().time())
        try:
            while await self._has_work():
                await self._commit()
                await self._compact()
        finally:
            self._running = False
            self._closing = True
            # Cut off in the middle of a group, nobody can tell whether it is there.
            self._pending.fail(StoreError("the store stopped; the outcome of the write is unknown"))
            if self._stopped is not None and not self._stopped.done():
                self._stopped.set_result(None)

    async def backup(self, path: Path) -> None:
        """Copy the store to a file while it is in use."""
        await self._log.backup(path)

    async def close(self) -> None:
        """Let pending writes finish, take no new ones, and note that all ended in good order."""
        self._closing = True
        if self._running:
            self._stopped = asyncio.get_running_loop().create_future()
            self._wake()
            await self._stopped
        while self._pending:
            await self._commit()
        await self._log.close()

    def _fill(self, loaded: Loaded) -> None:
        """Replay the rows: up to the compacted revision they are objects, beyond it events too."""
        for revision, in_collection, name, removed, value in loaded.rows:
            collection = self._collection(in_collection)
            objects = collection.objects
            record = Record(collection.name, name, revision, value)
            if revision > loaded.compacted:
                event = Event(revision, objects.get(name), record, removed)
                self._history.add(collection.track, event)
            if removed:
                objects.pop(name, None)
            else:
                objects[name] = record
        for collection in self._collections.values():
            collection.names = sorted(collection.objects)

    def _collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(name)
        return found

    def _check_open(self) -> None:
        if self._closing:
            raise StoreError("the store is closed")

    async def _queue(
        self, collection: str, name: str, current: Record | None, decision: Put | Remove
    ) -> Record:
        removed = isinstance(decision, Remove)
        assert current is not None or not removed, "there is nothing to remove"
        revision = self._next_revision
        self._next_revision += 1
        after = Record(collection, name, revision, decision.value, decision.view)
        write = Write(Event(revision, current, after, removed))
        self._pending.add(write)
        self._wake()
        failure = await write.settled()
        if failure is not None:
            raise type(failure)(*failure.args)
        return after

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    async def _has_work(self) -> bool:
        """Wait for something to commit or to forget; False once closed and nothing is left."""
        loop = asyncio.get_running_loop()
        while not self._pending:
            if self._closing:
                return False
            due = self._compaction_due()
            if due is not None and due <= loop.time():
                return True
            self._wakeup = loop.create_future()
            timer = None if due is None else loop.call_at(due, self._wake)
            try:
                await self._wakeup
            finally:
                if timer is not None:
                    timer.cancel()
        return True

    async def _commit(self) -> None:
        """Make the next group durable, then show it, then acknowledge it."""
        group = self._pending.take(self._limits.group_rows, self._limits.group_bytes)
        if not group:
            return
        try:
            await self._log.append([write.row() for write in group])
        except NotDurable as refused:
            self._pending.fail(refused)
            self._next_revision = self.revision + 1
            self.refusal = str(refused)
        else:
            self.refusal = ""
            self._publish([write.event for write in group])
            self._pending.succeed()

    def _publish(self, events: list[Event]) -> None:
        touched: dict[Collection, int] = {}
        for event in events:
            collection = self._collection(event.after.collection)
            collection.apply(event)
            self._history.add(collection.track, event)
            touched[collection] = touched.get(collection, 0) + 1
        self._history.note_time(asyncio.get_running_loop().time())
        for listener in self._listeners:
            listener(events)
        for collection, count in touched.items():
            collection.track.wake(count)
        for waiter, revision in self._reached.items():
            if revision <= self.revision and not waiter.done():
                waiter.set_result(None)

    def _compaction_due(self) -> float | None:
        due = self._history.due(self._limits)
        return None if due is None else max(due, self._compact_not_before)

    async def _compact(self) -> None:
        """Forget one slice of history if it is time: on the disk first, then here."""
        now = asyncio.get_running_loop().time()
        due = self._compaction_due()
        if due is None or due > now:
            return
        gone = self._history.oldest(self._limits, now)
        if self._history.wake_before(gone):
            await asyncio.sleep(0)  # they pass over what is none of their business
        try:
            await self._log.compact(gone.revision, gone.dead)
        except NotDurable:
            # A disk that is full stays so for a while, and takes no new events meanwhile.
            self._compact_not_before = now + 1.0
        else:
            self._history.drop(gone)
