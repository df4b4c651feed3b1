"""Metadata as every object carries it, read from the wire.

The API server holds metadata to one form, so what is not there is simply none.
"""

from typing import Any

from atoll.dialects.wire import instant, text
from atoll.model.action import Ref
from atoll.model.metadata import Metadata, Owner
from atoll.wire import Object

_NANOSECONDS = 1_000_000_000


def decode(wire: Object) -> Metadata:
    """Who an object is, in which version, and whose."""
    metadata = wire.get("metadata") or {}
    going = metadata.get("deletionTimestamp")
    return Metadata(
        ref=Ref.of(wire),
        uid=metadata.get("uid") or "",
        version=metadata.get("resourceVersion") or "",
        generation=metadata.get("generation"),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        finalizers=tuple(metadata.get("finalizers") or ()),
        owners=tuple(map(_owner, metadata.get("ownerReferences") or ())),
        created=moment(metadata, "creationTimestamp", "metadata"),
        deleted=moment(metadata, "deletionTimestamp", "metadata") if going else None,
    )


def _owner(wire: Any) -> Owner:
    return Owner(wire.get("kind", ""), wire.get("uid", ""), bool(wire.get("controller")))


def named_ref(wire: Object, path: str) -> Ref:
    """The object that four fields of another name."""
    return Ref(*(text(wire, key, path) for key in ("apiVersion", "kind", "namespace", "name")))


def moment(wire: Object, key: str, path: str) -> float | None:
    """A time in seconds since the epoch; None if absent."""
    found = instant(wire, key, path)
    return None if found is None else found / _NANOSECONDS
