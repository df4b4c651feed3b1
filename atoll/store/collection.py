"""The live objects of one collection, by name and in byte order of their names.

Comes in: committed events, in order. Goes out: single records, and pages of a snapshot, now or as
it was at an earlier revision. It knows nothing of writes that are not yet durable.
"""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from atoll.store.history import Track
from atoll.store.record import Event, Record

_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the collection as it was at `revision`, in byte order of names."""

    records: list[Record]
    revision: int
    more: bool
    remaining: int


class Collection:
    """Objects by name, the sorted names, and the track of their recent changes."""

    __slots__ = ("name", "names", "objects", "track")

    def __init__(self, name: str) -> None:
        self.name = name
        self.objects: dict[str, Record] = {}
        self.names: list[str] = []
        self.track = Track()

    def apply(self, event: Event) -> None:
        name = event.after.name
        if event.removed:
            del self.objects[name]
            del self.names[bisect_left(self.names, name)]
            return
        if name not in self.objects:
            insort(self.names, name)
        self.objects[name] = event.after

    def page(self, prefix: str, after: str, limit: int, revision: int) -> Page:
        """Give the first `limit` records (0: all) with this prefix beyond `after`, as of then.

        The caller vouches that the history reaches back to the revision.
        """
        then = self.track.as_of(revision)
        start = max(bisect_left(self.names, prefix), bisect_right(self.names, after))
        stop = max(start, _end_of_prefix(self.names, prefix))
        if not then:
            return self._live_page(start, stop, limit, revision)
        changed = [name for name in then if name.startswith(prefix) and name > after]
        added = sorted(name for name in changed if then[name] is not None)
        total = stop - start - sum(name in self.objects for name in changed) + len(added)
        # Enough live names to fill the page even if every changed one has to be left out.
        enough = min(stop, start + limit + len(then)) if limit else stop
        live = (name for name in self.names[start:enough] if name not in then)
        names = islice(merge(live, added), limit or None)
        records = [then.get(name) or self.objects[name] for name in names]
        return _page(records, revision, total)

    def _live_page(self, start: int, stop: int, limit: int, revision: int) -> Page:
        end = min(stop, start + limit) if limit else stop
        objects = self.objects
        return _page([objects[name] for name in self.names[start:end]], revision, stop - start)


def _page(records: list[Record], revision: int, total: int) -> Page:
    remaining = total - len(records)
    return Page(records, revision, remaining > 0, remaining)


def _end_of_prefix(names: list[str], prefix: str) -> int:
    """The index behind the last name with this prefix."""
    # No character is greater than the last one, so trailing ones do not move the end.
    stem = prefix.rstrip(_LAST_CHARACTER)
    return bisect_left(names, stem[:-1] + chr(ord(stem[-1]) + 1)) if stem else len(names)
