"""The open watches of each collection, so that they end when it is no longer served."""

from typing import Protocol


class Endable(Protocol):
    """A watch that can be told to end."""

    def end(self) -> None:
        """End cleanly, soon."""


class OpenWatches:
    """All open watches; dicts keep them in order."""

    def __init__(self) -> None:
        self._by_collection: dict[str, dict[Endable, None]] = {}

    def add(self, collection: str, watch: Endable) -> None:
        self._by_collection.setdefault(collection, {})[watch] = None

    def discard(self, collection: str, watch: Endable) -> None:
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
