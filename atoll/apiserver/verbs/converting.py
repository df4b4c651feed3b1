"""Custom objects in another version than they are stored in, where a webhook converts them.

Whoever reads records of such a resource has them converted first, in batches; what came of it stays
with the record, and is served like any other form of it. All other resources cost one look here.
"""

from collections.abc import Iterable, Iterator

import orjson

from atoll.apiserver.objects.unread import kept_bytes
from atoll.apiserver.objects.view import view_of
from atoll.apiserver.resource import Resource
from atoll.apiserver.verbs.call import Api
from atoll.store.record import Record
from atoll.wire import Wire

BATCH_BYTES = 1 << 20


async def have_converted(api: Api, resource: Resource, records: Iterable[Record | None]) -> None:
    """Have what these records are in this resource's version at hand; ApiError if it cannot be."""
    if resource.conversion is None:
        return
    for batch in _batches(resource, records):
        objects = [orjson.loads(record.value) for record in batch]
        converted = await api.convert(resource, objects, resource.api_version)
        for record, obj in zip(batch, converted, strict=True):
            view_of(record).renditions[resource] = kept_bytes(resource.from_stored(obj))


def _batches(resource: Resource, records: Iterable[Record | None]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        if record is None or resource in view_of(record).renditions:
            continue
        batch.append(record)
        size += len(record.value)
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def as_version(api: Api, obj: Wire, old: Resource, new: Resource) -> Wire:
    """An object of one version of a resource in another."""
    if old is new:
        return obj
    if new.conversion is None:
        return new.from_stored(old.to_stored(obj))
    (converted,) = await api.convert(new, [obj], new.api_version)
    return new.from_stored(converted)


async def as_stored(api: Api, obj: Wire, resource: Resource) -> Wire:
    """An object as it is to be kept."""
    if resource.conversion is None or resource.version == resource.stored_version:
        return resource.to_stored(obj)
    stored_version = f"{resource.group}/{resource.stored_version}"
    (converted,) = await api.convert(resource, [obj], stored_version)
    return resource.to_stored(converted)
