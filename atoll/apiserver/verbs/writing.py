"""How every write happens: read the newest state, decide purely, hand the result to the store.

A decision is a plain function from the object as it is to what shall become of it. It runs inside
the store's own step, so nothing can change between what it saw and what it writes, and there is
nothing to retry. Only a decision that has to wait for others (`write_admitted`) is made before that
step, and made anew if the object has changed meanwhile. A dry run is the same decision, not handed
on.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from atoll.apiserver.admission import Settle
from atoll.apiserver.objects.metadata import metadata
from atoll.apiserver.objects.unread import kept_bytes
from atoll.apiserver.objects.view import view_written
from atoll.apiserver.options import LONGEST_S
from atoll.apiserver.resource import Resource, unconverted
from atoll.apiserver.status import ApiError, timed_out
from atoll.apiserver.verbs.call import Api
from atoll.apiserver.verbs.converting import as_stored, have_converted
from atoll.apiserver.verbs.matching import served
from atoll.store.record import Record
from atoll.store.store import KEEP, Keep, Put, Remove
from atoll.wire import Wire


@dataclass(slots=True)
class Save:
    """Store this object. `settle` is to be asked once more, just before.

    `encoded` gives its bytes at a revision, where those have been made ready already.
    """

    object: Wire
    settle: Settle | None = None
    encoded: Callable[[int], bytes] | None = None


@dataclass(slots=True)
class Drop:
    """Remove the object; this is what its remover is told. Watchers are told what was stored."""

    object: Wire
    settle: Settle | None = None


@dataclass(slots=True)
class Leave:
    """Nothing has changed; write nothing."""

    object: Wire


Verdict = Save | Drop | Leave
Decision = Callable[[Wire | None], Verdict]
Deciding = Callable[[Wire | None], Coroutine[Any, Any, Verdict]]


@dataclass(slots=True)
class Written:
    """What came of a write: the object as served, and whether it was removed or newly made."""

    object: Wire
    removed: bool = False
    created: bool = False
    value: bytes | None = None  # the object as bytes, if it is served as it is stored


def stored_object(resource: Resource, record: Record | None) -> Wire | None:
    """The object in this record, as this resource serves it."""
    if record is None:
        return None
    if resource.conversion is not None:
        shown: Wire = orjson.loads(served(resource, record))
        return shown
    obj: Wire = orjson.loads(record.value)
    return resource.from_stored(obj)


def same(new: Wire, old: Wire) -> bool:
    """Whether two objects are equal as JSON; Python alone would take 1 for true."""
    if new != old:
        return False
    sort = orjson.OPT_SORT_KEYS
    return orjson.dumps(new, option=sort) == orjson.dumps(old, option=sort)


def with_revision(obj: Wire, revision: int) -> Wire:
    return {**obj, "metadata": {**metadata(obj), "resourceVersion": str(revision)}}


async def write(
    api: Api, resource: Resource, key: str, decide: Decision, *, dry_run: bool = False
) -> Written:
    """Carry out a decision on one object, durably; or only find out what it would be."""
    if dry_run:
        return _tried(resource, api.store.latest(resource.collection, key), decide)
    return await _carried_out(api, resource, key, lambda _, old: decide(old))


async def write_admitted(
    api: Api, resource: Resource, key: str, decide: Deciding, *, dry_run: bool = False
) -> Written:
    """Carry out a decision that may have to wait for others; most are made at once."""
    if resource.conversion is None:
        try:
            return await write(
                api, resource, key, lambda old: _at_once(decide(old)), dry_run=dry_run
            )
        except _MustWait:
            pass
    try:
        async with asyncio.timeout(LONGEST_S):
            while True:
                with suppress(_Overtaken):
                    return await _write_waiting(api, resource, key, decide, dry_run=dry_run)
    except TimeoutError:
        raise timed_out() from None


async def _write_waiting(
    api: Api, resource: Resource, key: str, decide: Deciding, *, dry_run: bool
) -> Written:
    seen = api.store.latest(resource.collection, key)
    verdict: Verdict | ApiError
    await have_converted(api, resource, [seen])
    try:
        verdict = await decide(stored_object(resource, seen))
    except ApiError as error:
        if api.store.get(resource.collection, key) is seen:
            raise
        verdict = error  # about what is not durable yet: the store says when it is

    def settled(current: Record | None, _: Wire | None) -> Verdict:
        if current is not seen:
            raise _Overtaken
        if isinstance(verdict, ApiError):
            raise verdict
        if not isinstance(verdict, Leave) and verdict.settle is not None:
            verdict.settle()
        return verdict

    if dry_run:
        return _tried(resource, seen, lambda old: settled(seen, old))
    if resource.conversion is None or isinstance(verdict, ApiError | Leave):
        return await _carried_out(api, resource, key, settled)
    stored = await as_stored(api, verdict.object, resource)

    def keep(obj: Wire) -> Wire:
        return with_revision(stored, int(metadata(obj)["resourceVersion"]))

    return await _carried_out(api, resource, key, settled, to_stored=keep)


def _at_once(decision: Coroutine[Any, Any, Verdict]) -> Verdict:
    """The outcome of a decision that waits for nobody."""
    try:
        decision.send(None)
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict
    decision.close()
    raise _MustWait


class _MustWait(Exception):
    """The decision cannot be made in the store's step."""


class _Overtaken(Exception):
    """Somebody else has written meanwhile; the decision was about what is no more."""


async def _carried_out(
    api: Api,
    resource: Resource,
    key: str,
    decide: Callable[[Record | None, Wire | None], Verdict],
    *,
    to_stored: Callable[[Wire], Wire] | None = None,
) -> Written:
    done: Written | None = None
    keep = to_stored or resource.to_stored

    def decide_record(current: Record | None, revision: int) -> Put | Remove | Keep:
        nonlocal done
        old = stored_object(resource, current) if to_stored is None else None
        verdict = decide(current, old)
        if isinstance(verdict, Leave):
            done = Written(verdict.object)
            return KEEP
        if isinstance(verdict, Save) and verdict.encoded is not None:
            value = verdict.encoded(revision)
            done = Written(verdict.object, created=current is None, value=value)
            return Put(value)
        obj = with_revision(verdict.object, revision)
        value = kept_bytes(keep(obj))
        as_served = value if resource.serves_as_stored else None
        told = _as_read(resource, obj)
        if isinstance(verdict, Drop):
            done = Written(told, removed=True, value=as_served)
            return Remove(_last(resource, current, old, revision))
        done = Written(told, created=current is None, value=as_served)
        return Put(value, None if resource.custom else view_written(obj["metadata"]))

    await api.store.write(resource.collection, key, decide_record)
    assert done is not None, "the store has called the decision"
    return done


def _as_read(resource: Resource, obj: Wire) -> Wire:
    """An object as it will be read: what the stored version has no words for is gone."""
    if resource.to_stored is unconverted or resource.conversion is not None:
        return obj
    return resource.from_stored(resource.to_stored(obj))


def _last(resource: Resource, current: Record | None, old: Wire | None, revision: int) -> bytes:
    """What watchers are told of an object that is gone: what was stored."""
    assert current is not None, "there is nothing to remove"
    last = orjson.loads(current.value) if old is None else resource.to_stored(old)
    return kept_bytes(with_revision(last, revision))


def _tried(resource: Resource, current: Record | None, decide: Decision) -> Written:
    """What a decision comes to, with the revision it was made on."""
    verdict = decide(stored_object(resource, current))
    removed, told = isinstance(verdict, Drop), _as_read(resource, verdict.object)
    if current is None:
        return Written(told, removed, created=True)
    return Written(with_revision(told, current.revision), removed)
