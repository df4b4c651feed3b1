"""The few fields of a stored object that lists, watches and housekeeping look at, decoded once.

Reading only these costs a fraction of decoding the whole object, and a record keeps its view.
"""

from typing import Any

import msgspec

from atoll.store.record import Record


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """Who an object belongs to."""

    uid: str = ""
    kind: str = ""
    name: str = ""
    api_version: str = ""
    block_owner_deletion: bool | None = None


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an object's metadata that is needed without decoding the rest."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str | None = None
    creation_timestamp: str | None = None


class _Headed(msgspec.Struct, frozen=True):
    metadata: Metadata


class View:
    """What is known of one record so far; other forms of it are added as they are asked for."""

    __slots__ = ("metadata", "renditions")

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        # The object's bytes as served by a resource that does not serve them as stored.
        self.renditions: dict[Any, bytes] = {}


_decoder = msgspec.json.Decoder(_Headed)


def view_of(record: Record) -> View:
    """The record's view, decoded on first use."""
    view = record.view
    if not isinstance(view, View):
        view = record.view = View(_decoder.decode(record.value).metadata)
    return view


def view_written(metadata: dict[str, Any]) -> View:
    """The view of an object that is about to be written, whose metadata is well formed."""
    owners = metadata.get("ownerReferences") or ()
    return View(
        Metadata(
            metadata.get("name", ""),
            metadata.get("namespace", ""),
            metadata.get("uid", ""),
            metadata.get("labels"),
            tuple(_owner(owner) for owner in owners) if owners else (),
            tuple(metadata.get("finalizers") or ()),
            metadata.get("deletionTimestamp"),
            metadata.get("creationTimestamp"),
        )
    )


def _owner(owner: dict[str, Any]) -> OwnerReference:
    return OwnerReference(
        owner.get("uid", ""),
        owner.get("kind", ""),
        owner.get("name", ""),
        owner.get("apiVersion", ""),
        owner.get("blockOwnerDeletion"),
    )


def metadata_of(record: Record) -> Metadata:
    return view_of(record).metadata


class _Typed(msgspec.Struct, frozen=True):
    type: str = ""


_typed = msgspec.json.Decoder(_Typed)


def secret_type(record: Record) -> str:
    """What kind of Secret this is, without decoding what it holds."""
    return _typed.decode(record.value).type
