"""The open watches of each collection, so that they end when it is no longer served.

And of each user, so that nobody takes up what is there for all.
"""

from typing import Protocol

from atoll.apiserver.status import too_many_requests
from atoll.config import USUAL_REQUESTS


class Endable(Protocol):
    """A watch that can be told to end."""

    def end(self) -> None:
        """End cleanly, soon."""


class OpenWatches:
    """All open watches; dicts keep them in order."""

    def __init__(self) -> None:
        self.per_user_max = USUAL_REQUESTS.max_watches_per_user
        self._by_collection: dict[str, dict[Endable, None]] = {}
        self._by_user: dict[str, int] = {}

    def check(self, user: str) -> None:
        """ApiError 429 if this user watches as much as one may; "" is whom nothing limits."""
        if user and self._by_user.get(user, 0) >= self.per_user_max:
            raise too_many_requests()

    def add(self, collection: str, watch: Endable, user: str) -> None:
        self._by_collection.setdefault(collection, {})[watch] = None
        self._by_user[user] = self._by_user.get(user, 0) + 1

    def discard(self, collection: str, watch: Endable, user: str) -> None:
        left = self._by_user.get(user, 0) - 1
        if left > 0:
            self._by_user[user] = left
        else:
            self._by_user.pop(user, None)
        watches = self._by_collection.get(collection, {})
        watches.pop(watch, None)
        if not watches:
            self._by_collection.pop(collection, None)

    def counts(self) -> dict[str, int]:
        """How many there are of each collection."""
        return {name: len(watches) for name, watches in self._by_collection.items()}

    def end(self, collection: str) -> None:
        """Let every watch of this collection end: its resource is no longer served."""
        for watch in list(self._by_collection.get(collection, {})):
            watch.end()
