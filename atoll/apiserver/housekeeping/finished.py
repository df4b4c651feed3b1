"""Jobs that say how long they are kept go that long after they finished, with what is theirs.

`plan` sees one Job and says purely what is to be done about it; the service follows Jobs.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import orjson

from atoll.apiserver.housekeeping.acting import delete_one
from atoll.apiserver.housekeeping.graph import node_of
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.times import parse_rfc3339
from atoll.apiserver.verbs.call import Api
from atoll.runtime.worklist import Worklist
from atoll.store.record import Event, Record
from atoll.wire import Object

Plan = timedelta | Literal["delete"] | None
"""How long to wait, or that its time is up; nothing for one that is to stay."""

COLLECTION = "jobs.batch"
_FINISHED = ("Complete", "Failed")
_KEPT = b'"ttlSecondsAfterFinished"'


def plan(job: Object, now: datetime) -> Plan:
    """What is to be done about a Job."""
    kept_s = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if not isinstance(kept_s, int) or metadata(job).get("deletionTimestamp"):
        return None
    finished = _finished_at(job)
    if finished is None:
        return None
    left = finished + timedelta(seconds=kept_s) - now
    return left if left > timedelta(0) else "delete"


def _finished_at(job: Object) -> datetime | None:
    for one in (job.get("status") or {}).get("conditions") or ():
        if one.get("type") in _FINISHED and one.get("status") == "True":
            return parse_rfc3339(one.get("lastTransitionTime") or "")
    return None


class Finished:
    """Follows Jobs and removes those whose time is up."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._work: Worklist[str] = Worklist("finished jobs")

    def load(self) -> None:
        for record in self._api.store.page(COLLECTION).records:
            self._note(record)

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == COLLECTION and not event.removed:
                self._note(event.after)

    def _note(self, record: Record) -> None:
        if _KEPT in record.value:
            self._work.add(record.name)

    async def run(self) -> None:
        await self._work.run(self._look)

    async def _look(self, name: str) -> None:
        record = self._api.store.get(COLLECTION, name)
        if record is None:
            return
        planned = plan(orjson.loads(record.value), self._api.now())
        if planned == "delete":
            await delete_one(self._api, node_of(record), "Foreground")
        elif planned is not None:
            self._work.add_later(name, planned.total_seconds())
