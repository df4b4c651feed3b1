"""ResourceQuotas: how much of what a namespace uses, and whether one more object still fits.

Follows the store and keeps the books of every quota there is: what is stored counts, and so does
what is about to be, so that two who come at once are not both given the last of something. In a
namespace without quotas there is nothing to do, which is found out in one look-up.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson

from atoll.apiserver.admission import Admission
from atoll.apiserver.admitting.sums import Sum
from atoll.apiserver.admitting.usage import (
    PODS,
    UNCOUNTED,
    collection_of,
    counted,
    is_limited,
    is_plain,
    is_within,
    missing,
    scopes_of,
    used_by,
)
from atoll.apiserver.kinds.reading import part
from atoll.apiserver.status import ApiError, forbidden
from atoll.store.record import Event, Record
from atoll.store.store import Store
from atoll.wire import Wire

Place = tuple[str, str]  # a collection, and a name in it

COLLECTION = "resourcequotas"
_CHANGING = ("services", "persistentvolumeclaims")


@dataclass(slots=True)
class Book:
    """One quota: what it allows, of whom, and what is used of that."""

    name: str
    hard: Sum
    scopes: Sequence[Wire]
    by_collection: Mapping[str, frozenset[str]]
    used: Sum = field(default_factory=Sum)

    @classmethod
    def of(cls, name: str, quota: Wire) -> "Book":
        hard = Sum(part(quota, "spec", "hard"))
        found: dict[str, set[str]] = {}
        for each in hard:
            found.setdefault(collection_of(each), set()).add(each)
        frozen = {key: frozenset(names) for key, names in found.items()}
        return cls(name, hard, scopes_of(quota), frozen)

    def usage(self, collection: str, obj: Wire, now: datetime) -> Sum:
        """What an object uses of what is limited here; nothing, if this is not about it."""
        names = self.by_collection.get(collection)
        if names is None or not is_within(collection, obj, self.scopes):
            return Sum()
        return _only(used_by(collection, obj, now), names)

    def usage_of_record(self, record: Record | None, now: datetime) -> Sum:
        """The same of what is stored, which need not be read where only its number counts."""
        if record is None:
            return Sum()
        names = self.by_collection.get(record.collection)
        if names is None:
            return Sum()
        if not self.scopes and is_plain(names):
            return _only(counted(record.collection), names)
        return self.usage(record.collection, orjson.loads(record.value), now)


class Quotas:
    """The books of all quotas, by namespace and name."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._books: dict[str, dict[str, Book]] = {}
        self._promised: dict[str, dict[Place, Mapping[str, Sum]]] = {}

    def book(self, key: str) -> Book | None:
        """The book of a quota."""
        namespace, _, name = key.partition("/")
        return self._books.get(namespace, {}).get(name)

    def load(self) -> list[str]:
        """Open the books of all quotas there are; gives their keys."""
        keys = [record.name for record in self._store.page(COLLECTION).records]
        for key in keys:
            self._open(key)
        return keys

    def follow(self, events: Sequence[Event]) -> set[str]:
        """Book what has happened; gives the keys of the quotas that are concerned."""
        concerned: set[str] = set()
        opened: dict[str, None] = {}
        for event in events:
            collection, key = event.after.collection, event.after.name
            if collection == COLLECTION:
                opened[key] = None
            namespace = key.partition("/")[0]
            if namespace in self._books and collection != UNCOUNTED:
                concerned |= self._note(namespace, event)
        for key in opened:
            # What has happened together with it is there, too, and must not be booked twice.
            self._open(key)
        return concerned | set(opened)

    def _open(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        record = self._store.get(COLLECTION, key)
        if record is None:
            self._books.get(namespace, {}).pop(name, None)
            if not self._books.get(namespace, True):
                del self._books[namespace]
                self._promised.pop(namespace, None)
            return
        book = Book.of(name, orjson.loads(record.value))
        now = self._now()
        for collection in book.by_collection:
            for one in self._store.page(collection, f"{namespace}/").records:
                book.used.add(book.usage_of_record(one, now))
        self._books.setdefault(namespace, {})[name] = book

    def _note(self, namespace: str, event: Event) -> set[str]:
        collection, key = event.after.collection, event.after.name
        self._promised.get(namespace, {}).pop((collection, key), None)
        now, found = self._now(), set()
        for name, book in self._books[namespace].items():
            if collection in book.by_collection:
                book.used.take(book.usage_of_record(event.before, now))
                book.used.add(book.usage_of_record(None if event.removed else event.after, now))
                found.add(f"{namespace}/{name}")
        return found

    def check(self, seen: Admission) -> None:
        """ApiError if a quota does not allow the write; else what it uses is held for it."""
        books = self._books.get(seen.namespace)
        if books is None or seen.object is None or not _counts(seen):
            return
        held: dict[str, Sum] = {}
        for name in sorted(books):
            more = self._more(seen, seen.object, books[name])
            if more:
                self._check_fits(seen, books[name], more)
                held[name] = more
        if held and not seen.dry_run:
            place = (seen.resource.collection, f"{seen.namespace}/{seen.name}")
            self._promised.setdefault(seen.namespace, {})[place] = held

    def _more(self, seen: Admission, obj: Wire, book: Book) -> Sum:
        """What a write uses up of this quota, beyond what the old object did."""
        collection, now = seen.resource.collection, self._now()
        names = book.by_collection.get(collection)
        if names is None or not is_within(collection, obj, book.scopes):
            return Sum()
        if collection == PODS and (lacking := missing(obj, names)):
            raise _refusal(seen, f"failed quota: {book.name}: {lacking}")
        more = book.usage(collection, obj, now)
        if seen.old is not None:
            more.take(book.usage(collection, seen.old, now))
        return _only(more, [name for name, amount in more.items() if amount > 0])

    def _check_fits(self, seen: Admission, book: Book, more: Sum) -> None:
        used = Sum()
        used.add(book.used)
        place = (seen.resource.collection, f"{seen.namespace}/{seen.name}")
        for promised in self._still_promised(seen.namespace, besides=place):
            used.add(promised.get(book.name, Sum()))
        after = Sum()
        after.add(used)
        after.add(more)
        names = sorted(name for name in more if after[name] > book.hard[name])
        if names:
            told = ", ".join(
                f"{said}: {','.join(f'{name}={amounts.shown(name)}' for name in names)}"
                for said, amounts in (("requested", more), ("used", used), ("limited", book.hard))
            )
            raise _refusal(seen, f"exceeded quota: {book.name}, {told}")

    def _still_promised(self, namespace: str, besides: Place) -> list[Mapping[str, Sum]]:
        """What is held for writes under way; one that came to nothing is forgotten."""
        held = self._promised.get(namespace, {})
        for place in list(held):
            if self._store.latest(*place) is self._store.get(*place):
                del held[place]
        return [promised for place, promised in held.items() if place != besides]


def _counts(seen: Admission) -> bool:
    """Whether a write can use up more than there was."""
    collection = seen.resource.collection
    if seen.old is None:
        return not seen.subresource and collection != UNCOUNTED
    if collection == PODS:
        limited = is_limited(seen.old) != is_limited(seen.object or {})
        return seen.subresource == "resize" or (not seen.subresource and limited)
    return not seen.subresource and collection in _CHANGING


def _only(amounts: Sum, names: Iterable[str]) -> Sum:
    kept = Sum()
    for name in names:
        if name in amounts:
            kept.put(name, amounts, name)
    return kept


def _refusal(seen: Admission, why: str) -> ApiError:
    return forbidden(seen.resource.plural, seen.resource.group, seen.name, why)
