"""A watch: a cursor into the shared history of one collection.

It has no buffer, so a slow watcher costs nothing; one that falls behind the history kept is told
(Gone), and never skips. Registering fixes the place in one synchronous step: whatever commits later
is behind the cursor's place, whatever committed earlier is before it.
"""

from asyncio import Future

from atoll.errors import Gone
from atoll.store.history import History, Track
from atoll.store.record import Event


class Watch:
    """Every event of one collection after a revision: once each, in order.

    Who waits with a prefix, a namespace, is woken for its names only; for the others now and then,
    so that the cursor does not fall behind the history.
    """

    __slots__ = ("_after", "_history", "_position", "_prefix", "_track")

    def __init__(self, history: History, track: Track, after: int, prefix: str = "") -> None:
        history.check_kept(after)
        self._history = history
        self._track = track
        self._prefix = prefix
        self._after = after
        self._position = track.position_after(after)

    @property
    def revision(self) -> int:
        """The revision up to which every event of the collection was taken: safe to resume from.

        It follows the whole store while the collection is quiet, which is what bookmarks tell.
        """
        if self._position == self._track.end:
            return max(self._after, self._history.revision)
        return self._after

    def take(self, limit: int = 1_000) -> list[Event]:
        """Take what has been committed since, at most `limit` events; empty if nothing has.

        Raises Gone if the next event is no longer kept: the watcher has to list again.
        """
        self._skip_awaited()
        start = self._position - self._track.first
        if start < 0:
            raise Gone(self._after, self._history.compacted)
        taken = self._track.events[start : start + limit]
        if taken:
            self._position += len(taken)
            self._after = taken[-1].revision
        return taken

    async def wait(self) -> None:
        """Wait until `take` has something to give, or to raise."""
        while not self.has_more:
            waiter = self.waiter()
            try:
                await waiter
            finally:
                self.forget(waiter)

    @property
    def has_more(self) -> bool:
        """Whether `take` has something to give, or to raise."""
        self._skip_awaited()
        return self._position != self._track.end

    def waiter(self) -> Future[None]:
        """What is done when there may be more of what begins with the prefix; to be forgotten."""
        return self._track.waiter(self._prefix)

    def forget(self, waiter: Future[None]) -> None:
        self._track.forget(waiter, self._prefix)

    def _skip_awaited(self) -> None:
        """Pass over what is not after the revision asked for, where that was still to come."""
        events, index = self._track.events, self._position - self._track.first
        while 0 <= index < len(events) and events[index].revision <= self._after:
            index += 1
            self._position += 1
