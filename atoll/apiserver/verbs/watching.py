"""Watch: the changes of a collection as they happen, one frame per event, without gap or repeat.

A watch is a cursor into the store's history. Each turn takes what is there, turns it into frames
and gives them as one chunk; a client that cannot keep up falls behind the history and is told so.
An event's frame is encoded once and shared by all watchers that want it in the same form.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import chain
from math import inf

import orjson

from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.options import ListOptions, list_options, parse_revision
from atoll.apiserver.shaping import Shaper
from atoll.apiserver.status import ApiError, expired
from atoll.apiserver.verbs.call import Api, Call
from atoll.apiserver.verbs.converting import have_converted
from atoll.apiserver.verbs.matching import Matcher, matcher, served
from atoll.apiserver.verbs.reading import have_selectable, reach
from atoll.errors import Gone
from atoll.store.record import Event, Record
from atoll.store.watching import Watch
from atoll.wire import Wire

BOOKMARK_EVERY_S = 60.0
LAST_BOOKMARK_S = 2.0  # before the end, so that the client can go on from there
_SHORTEST_S, _LONGEST_S = 1800.0, 3600.0  # a watch that names no timeout ends somewhere between
_BATCH = 500
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Watching:
    """One client's watch, from its first frame to its last."""

    def __init__(self, opening: "Opening", watch: Watch, initial: list[Record]) -> None:
        self._api = opening.api
        self._selection = opening.selection
        self._shaper = opening.shaper
        self._options = opening.options
        self._watch = watch
        self._initial = initial
        self._deadline = opening.deadline
        self._user = opening.user
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        resource = self._selection.resource
        self._may_share = self._shaper.shareable and resource.shared
        self._form = (resource, *self._shaper.key)

    async def frames(self) -> AsyncIterator[bytes]:
        """Chunks of whole frames, until the time is up or the client has fallen behind."""
        resource, loop = self._selection.resource, asyncio.get_running_loop()
        self._api.watches.add(resource.collection, self, self._user)
        try:
            await self._have_converted(self._initial)
            if chunk := self._initial_frames():
                yield chunk
            bookmark_due = min(loop.time() + BOOKMARK_EVERY_S, self._deadline - LAST_BOOKMARK_S)
            while True:
                if events := self._watch.take(_BATCH):
                    if resource.conversion is not None:
                        changed = chain.from_iterable((one.before, one.after) for one in events)
                        await self._have_converted(changed)
                    if chunk := b"".join(map(self._frame, events)):
                        yield chunk
                    continue
                now = loop.time()
                if now >= self._deadline:
                    return
                if now >= bookmark_due:
                    last = self._deadline - LAST_BOOKMARK_S
                    bookmark_due = min(now + BOOKMARK_EVERY_S, last) if now < last else inf
                    if self._options.bookmarks:
                        yield self._bookmark()
                    continue
                await self._wait_until(min(bookmark_due, self._deadline))
        except Gone as error:
            yield error_frame(expired(str(error)))
        except ApiError as error:  # of a webhook that does not convert
            yield error_frame(error)
        finally:
            if self._alarm is not None:
                self._alarm.cancel()
            self._api.watches.discard(resource.collection, self, self._user)

    def end(self) -> None:
        """Let the watch end at once, cleanly."""
        self._deadline = asyncio.get_running_loop().time()
        self._ring()

    async def _have_converted(self, records: Iterable[Record | None]) -> None:
        resource = self._selection.resource
        if resource.conversion is not None:
            await have_converted(self._api, resource, records)

    async def _wait_until(self, moment: float) -> None:
        """Wait for events, or for this moment. The alarm outlasts most waits: few are for it."""
        if self._alarm is None or self._alarm.when() > moment:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm = asyncio.get_running_loop().call_at(moment, self._rung)
        self._waiter = self._watch.waiter()
        try:
            await self._waiter
        finally:
            self._watch.forget(self._waiter)
            self._waiter = None

    def _rung(self) -> None:
        self._alarm = None
        self._ring()

    def _ring(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _initial_frames(self) -> bytes:
        """Everything there was at the start, and the mark that says so if marks are wanted."""
        frames = [self._encode("ADDED", record) for record in self._initial]
        self._initial = []
        if self._options.bookmarks and wants_initial(self._options):
            frames.append(self._bookmark({INITIAL_EVENTS_END: "true"}))
        return b"".join(frames)

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        head: Wire = {"resourceVersion": str(self._watch.revision)}
        if annotations:
            head["annotations"] = annotations
        empty = {
            "kind": self._selection.resource.kind,
            "apiVersion": self._selection.resource.api_version,
            "metadata": head,
        }
        return frame("BOOKMARK", self._shaper.event(orjson.dumps(empty)))

    def _frame(self, event: Event) -> bytes:
        """What this client is told of one event; nothing if it is none of its business."""
        selection = self._selection
        before, after = event.before, event.after
        if not after.name.startswith(selection.prefix):
            return b""
        was = before is not None and selection.matches(before)
        now = not event.removed and selection.matches(after)
        if now:
            return self._shared(event, "MODIFIED" if was else "ADDED", after)
        if not was:
            return b""
        if event.removed:
            return self._shared(event, "DELETED", after)
        assert before is not None
        return self._left(before, event.revision)

    def _shared(self, event: Event, change: str, record: Record) -> bytes:
        if not self._may_share:
            return self._encode(change, record)
        key = (change, self._form)
        encoded = event.frames.get(key)
        if encoded is None:
            encoded = event.frames[key] = self._encode(change, record)
        return encoded

    def _left(self, before: Record, revision: int) -> bytes:
        """An object that no longer matches: gone for this client, at the new revision."""
        obj = orjson.loads(served(self._selection.resource, before))
        obj["metadata"]["resourceVersion"] = str(revision)
        return frame("DELETED", self._shaper.event(orjson.dumps(obj)))

    def _encode(self, change: str, record: Record) -> bytes:
        return frame(change, self._shaper.event(served(self._selection.resource, record)))


def frame(change: str, value: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (change.encode(), value)


def error_frame(error: ApiError) -> bytes:
    return frame("ERROR", orjson.dumps(error.status()))


def wants_initial(options: ListOptions) -> bool:
    """Whether the watch begins with everything there is."""
    if options.initial_events is not None:
        return options.initial_events
    return parse_revision(options.revision) == 0


@dataclass(frozen=True, slots=True)
class Opening:
    """What a watch request asks for."""

    api: Api
    selection: Matcher
    shaper: Shaper
    options: ListOptions
    deadline: float
    user: str  # whose watches are counted; nobody's if they are not


async def watch(api: Api, call: Call, shaper: Shaper) -> AsyncIterator[bytes]:
    """Open the watch a request asks for; gives its chunks."""
    options = list_options(call.query)
    selection = matcher(call, options.labels, options.fields)
    deadline = asyncio.get_running_loop().time() + _timeout_s(api, options)
    user = "" if MASTERS in call.identity.groups else call.identity.name
    api.watches.check(user)
    opening = Opening(api, selection, shaper, options, deadline, user)
    revision = parse_revision(options.revision)
    if wants_initial(options):
        if revision:
            await reach(api, revision)
        await have_selectable(api, selection)
        page = api.store.page(call.resource.collection, selection.prefix)
        initial = [record for record in page.records if selection.matches(record)]
        return _opened(opening, page.revision, initial)
    return _opened(opening, revision or api.store.revision, [])


def _opened(opening: Opening, after: int, initial: list[Record]) -> AsyncIterator[bytes]:
    resource = opening.selection.resource
    try:
        cursor = opening.api.store.watch(resource.collection, after, opening.selection.prefix)
    except Gone as error:
        return _only(error_frame(expired(str(error))))
    return Watching(opening, cursor, initial).frames()


def _timeout_s(api: Api, options: ListOptions) -> float:
    if options.timeout_s:
        return float(options.timeout_s)
    return api.effects.chance.of("watch").uniform(_SHORTEST_S, _LONGEST_S)


async def _only(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk
