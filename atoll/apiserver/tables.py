"""What `kubectl get` prints: objects as rows of a Table; and objects cut down to their metadata.

In: a resource, its objects (in the resource's version) and the time, since ages are computed here.
Out: the document as a dict. Which of these a client wants is the business of negotiation.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from atoll.apiserver.kinds.columns.cells import INVALID, NAME, created_at, since
from atoll.apiserver.resource import Column, Resource
from atoll.wire import Wire

_META = "meta.k8s.io/"
_CUSTOM_AGE = Column("Age", created_at, type="date")


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """A custom resource's own columns come after its name; without any, its age does."""
    if not resource.custom:
        return resource.columns
    return (NAME, *(resource.columns or (_CUSTOM_AGE,)))


def table(
    resource: Resource,
    objects: Sequence[Wire],
    now: datetime,
    include: str = "Metadata",
    version: str = "v1",
) -> Wire:
    """The objects as a Table, of which each row shows None, Metadata or all of its Object."""
    columns = columns_of(resource)
    cells = (
        [_cell(column, obj, now, custom=resource.custom) for column in columns] for obj in objects
    )
    return {
        "kind": "Table",
        "apiVersion": _META + version,
        "metadata": _revision_of(objects[0]) if len(objects) == 1 else {},
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": [
            {"cells": row, **_shown(obj, include, version)}
            for row, obj in zip(cells, objects, strict=True)
        ],
    }


def _definition(column: Column) -> Wire:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _revision_of(obj: Wire) -> Wire:
    """A Table of one object is as old as the object; that of a list is told by the caller."""
    revision = (obj.get("metadata") or {}).get("resourceVersion")
    return {"resourceVersion": revision} if revision else {}


def _shown(obj: Wire, include: str, version: str) -> Wire:
    match include:
        case "None":
            return {"object": None}
        case "Object":
            return {"object": obj}
    return {"object": partial(obj, version)}


def _cell(column: Column, obj: Wire, now: datetime, *, custom: bool) -> Any:
    value = column.cell(obj)
    if custom and column is not NAME:
        value = _custom_value(column, value)
    return value(now) if callable(value) else value


def _custom_value(column: Column, value: Any) -> Any:
    """What a cell of a custom column shows: nothing, unless the value is of the column's type."""
    match column.type:
        case "string":
            return value
        case "date":
            return since(value, unreadable=INVALID) if isinstance(value, str) else None
        case "boolean":
            return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if column.type == "integer" else value


def partial(obj: Wire, version: str = "v1") -> Wire:
    """The object as PartialObjectMetadata: who it is, not what it says."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": _META + version,
        "metadata": obj.get("metadata") or {},
    }


def partial_list(objects: Sequence[Wire], version: str = "v1") -> Wire:
    """A list of objects as PartialObjectMetadataList; its metadata is for the caller to add."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": _META + version,
        "metadata": {},
        "items": [partial(obj, version) for obj in objects],
    }
