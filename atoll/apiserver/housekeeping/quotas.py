"""What quotas tell: their status says what is allowed, and how much of that is used.

The books are `admitting.quotas`; here they are written down, once for all that happened meanwhile.
"""

from collections.abc import Sequence
from decimal import Decimal

from atoll.apiserver.admitting.quotas import COLLECTION, Book, Quotas
from atoll.apiserver.housekeeping.acting import Upkeep, call_on, revise
from atoll.apiserver.kinds.reading import part
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event
from atoll.wire import Wire


def told(quota: Wire, book: Book) -> Wire:
    """The quota with what is used of it."""
    hard = part(quota, "spec", "hard")
    for name in hard:
        book.used.setdefault(name, Decimal(0))
    used = {name: book.used.shown(name) for name in hard}
    return {**quota, "status": {"hard": dict(hard), "used": used} if hard else {}}


class QuotaStatus(Upkeep):
    """Follows the store and keeps the status of every quota."""

    def __init__(self, api: Api, quotas: Quotas) -> None:
        super().__init__(api, "quotas")
        self._quotas = quotas

    def load(self) -> None:
        for key in self._quotas.load():
            self._work.add(key)

    def follow(self, events: Sequence[Event]) -> None:
        for key in self._quotas.follow(events):
            self._work.add(key)

    async def _look(self, key: str) -> None:
        namespace, _, name = key.partition("/")

        def fresh(quota: Wire) -> Wire:
            book = self._quotas.book(key)
            return quota if book is None else told(quota, book)

        await revise(self._api, call_on(self._api, COLLECTION, namespace, name).on("status"), fresh)
