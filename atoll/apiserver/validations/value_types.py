"""What a CRD's schema is in CEL: the types its rules are checked with, and values as they see them.

In: a structural schema as JSON. Out: a Type, or None where rules cannot see the value at all; and a
function from JSON to CEL's values (moments, spans, bytes, lists that are sets), None where both are
the same.
"""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from atoll.apiserver.cel import kinds
from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.library.times import read_duration, read_timestamp
from atoll.apiserver.cel.names import is_reserved
from atoll.apiserver.cel.values import KeyedList
from atoll.apiserver.validations.rules import Convert
from atoll.wire import Wire

_escaped = re.compile(r"__|[-./]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_escapable = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*")
_STRINGS = {
    "byte": kinds.BYTES,
    "duration": kinds.DURATION,
    "date": kinds.TIMESTAMP,
    "date-time": kinds.TIMESTAMP,
}
_META = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}
_WHOLE = {"kind": {"type": "string"}, "apiVersion": {"type": "string"}, "metadata": _META}


def escaped(name: str) -> str | None:
    """A property's name as expressions must write it; None if they cannot."""
    if is_reserved(name):
        return f"__{name}__"
    if _escapable.fullmatch(name) is None:
        return None
    return _escaped.sub(lambda found: _ESCAPES[found.group()], name)


def expression_type(schema: Wire, name: str, *, whole: bool = False) -> kinds.Type | None:
    """The type of a value; `name` is what messages call it, `whole` says it is a whole object."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return kinds.DYN
    match schema.get("type"):
        case "array":
            items = schema.get("items")
            item = _inner(items, f"{name}.@idx") if isinstance(items, dict) else None
            return None if item is None else kinds.list_of(item)
        case "object":
            return _object(schema, name, whole=whole)
        case "string":
            return _STRINGS.get(schema.get("format", ""), kinds.STRING)
        case "boolean":
            return kinds.BOOL
        case "number":
            return kinds.DOUBLE
        case "integer":
            return kinds.INT
    return _object(schema, name, whole=True) if whole else None


def _inner(schema: Wire, name: str) -> kinds.Type | None:
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    return expression_type(schema, name, whole=embedded)


def _object(schema: Wire, name: str, *, whole: bool) -> kinds.Type | None:
    rest = schema.get("additionalProperties")
    if isinstance(rest, dict) and not whole:
        values = _inner(rest, f"{name}.@elem")
        return None if values is None else kinds.map_of(kinds.STRING, values)
    found: dict[str, kinds.Field] = {}
    for key, child in _properties(schema, whole=whole).items():
        kind, written = _inner(child, f"{name}.{key}"), escaped(key)
        if kind is not None and written is not None:
            found[written] = kinds.Field(kind, key)
    return kinds.Type(name, fields=found)


def _properties(schema: Wire, *, whole: bool) -> Wire:
    said = schema.get("properties") or {}
    if not whole:
        return said
    inside = (said.get("metadata") or {}).get("properties") or {}
    if {"name", "generateName"} <= inside.keys() and {"kind", "apiVersion"} <= said.keys():
        return said
    return {**said, **_WHOLE}


def converter(schema: Wire) -> Convert | None:
    """What makes CEL's value of a value in JSON; None if they are the same."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return None
    match schema.get("type"):
        case "number":
            return lambda value: float(value) if value.__class__ is int else value
        case "string":
            return _CONVERSIONS.get(schema.get("format", ""))
        case "array":
            return _list_converter(schema)
        case "object":
            return _object_converter(schema)
    return None


def _list_converter(schema: Wire) -> Convert | None:
    items = schema.get("items")
    inner = converter(items) if isinstance(items, dict) else None
    keyed = schema.get("x-kubernetes-list-type") in ("set", "map")
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if inner is None and not keyed:
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        converted = value if inner is None else [inner(item) for item in value]
        return KeyedList.of(converted, keys) if keyed else converted

    return convert


def _object_converter(schema: Wire) -> Convert | None:
    properties = schema.get("properties") or {}
    found = {key: converter(child) for key, child in properties.items()}
    inner = {key: convert for key, convert in found.items() if convert is not None}
    rest = schema.get("additionalProperties")
    others = converter(rest) if isinstance(rest, dict) else None
    if not inner and others is None:
        return None

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        changed = {key: inner[key](item) for key, item in value.items() if key in inner}
        if others is not None:
            changed |= {key: others(item) for key, item in value.items() if key not in properties}
        return {**value, **changed}

    return convert


def _read_by(read: Callable[[str], Any]) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except (Failed, binascii.Error, ValueError):
            return value

    return convert


_CONVERSIONS: dict[str, Convert] = {
    "byte": _read_by(base64.b64decode),
    "duration": _read_by(read_duration),
    "date-time": _read_by(read_timestamp),
    "date": _read_by(lambda text: read_timestamp(f"{text}T00:00:00Z")),
}
