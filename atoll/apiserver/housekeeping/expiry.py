"""Events do not last: each is removed an hour after it was last written, as Kubernetes does.

Nothing is polled: writes come in the order of time, so the next to expire is the first in line.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import timedelta

from atoll.apiserver.housekeeping.acting import delete_one
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event, Record

COLLECTION = "events"
LIFE_S = 3600.0


class Expiry:
    """Removes events whose time is up."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._line: deque[tuple[float, str, int]] = deque()  # (due, name, revision), due rising
        self._more = asyncio.Event()

    def load(self) -> None:
        """Queue what is there; how long each has left is taken from when it was made."""
        now = asyncio.get_running_loop().time()
        waiting = [
            (now + self._left_s(one), one) for one in self._api.store.page(COLLECTION).records
        ]
        for due, record in sorted(waiting, key=lambda pair: (pair[0], pair[1].name)):
            self._queue(due, record)

    def _left_s(self, record: Record) -> float:
        made = parse_rfc3339(metadata_of(record).creation_timestamp or "")
        if made is None:
            return LIFE_S
        age = self._api.now() - made
        return max(0.0, min(LIFE_S, LIFE_S - age / timedelta(seconds=1)))

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == COLLECTION and not event.removed:
                self._queue(asyncio.get_running_loop().time() + LIFE_S, event.after)

    def _queue(self, due: float, record: Record) -> None:
        self._line.append((due, record.name, record.revision))
        self._more.set()

    async def run(self) -> None:
        while True:
            await self._more.wait()
            due, name, revision = self._line[0]
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            self._line.popleft()
            if not self._line:
                self._more.clear()
            record = self._api.store.get(COLLECTION, name)
            if record is not None and record.revision == revision:
                await delete_one(self._api, node_of(record), "Background")
