"""What has had its time: Events an hour after their last writing, Jobs as long as they say."""

import asyncio
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import orjson

from atoll.apiserver.housekeeping.acting import Upkeep, delete_one
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.apiserver.objects.view import metadata_of
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Event, Record
from atoll.wire import Wire

EVENTS = "events"
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
        waiting = [(now + self._left_s(one), one) for one in self._api.store.page(EVENTS).records]
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
            if event.after.collection == EVENTS and not event.removed:
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
            record = self._api.store.get(EVENTS, name)
            if record is not None and record.revision == revision:
                await delete_one(self._api, node_of(record), "Background")


Plan = timedelta | Literal["delete"] | None
"""How long to wait, or that its time is up; nothing for one that is to stay."""

JOBS = "jobs.batch"
_FINISHED = ("Complete", "Failed")
_KEPT = b'"ttlSecondsAfterFinished"'


def plan(job: Wire, now: datetime) -> Plan:
    """What is to be done about a Job."""
    kept_s = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if not isinstance(kept_s, int) or metadata(job).get("deletionTimestamp"):
        return None
    finished = _finished_at(job)
    if finished is None:
        return None
    left = finished + timedelta(seconds=kept_s) - now
    return left if left > timedelta(0) else "delete"


def _finished_at(job: Wire) -> datetime | None:
    for one in (job.get("status") or {}).get("conditions") or ():
        if one.get("type") in _FINISHED and one.get("status") == "True":
            return parse_rfc3339(one.get("lastTransitionTime") or "")
    return None


class Finished(Upkeep):
    """Follows Jobs and removes those whose time is up."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "finished jobs")

    def load(self) -> None:
        for record in self._api.store.page(JOBS).records:
            self._note(record)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == JOBS and not event.removed:
                self._note(event.after)

    def _note(self, record: Record) -> None:
        if _KEPT in record.value:
            self._work.add(record.name)

    async def _look(self, name: str) -> None:
        record = self._api.store.get(JOBS, name)
        if record is None:
            return
        planned = plan(orjson.loads(record.value), self._api.now())
        if planned == "delete":
            await delete_one(self._api, node_of(record), "Foreground")
        elif planned is not None:
            self._work.add_later(name, planned.total_seconds())
