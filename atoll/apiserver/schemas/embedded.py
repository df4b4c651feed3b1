"""Whole Kubernetes objects inside custom resources (x-kubernetes-embedded-resource).

They have metadata like any object, so theirs is read as strictly as that of the object around them.
In: a Schema and an object. Out: the object with embedded metadata in canonical form, and what was
dropped; or the rules that embedded objects break. Copies only what changes.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError, shown
from atoll.apiserver.schemas.mismatch import Mismatch
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import object_meta
from atoll.apiserver.schemas.typed import read_typed
from atoll.dialects.kubernetes.names import (
    label_value_faults,
    path_segment_faults,
    qualified_faults,
    rfc1035_faults,
)
from atoll.wire import Wire


@lru_cache(maxsize=1024)
def has_embedded(schema: Schema) -> bool:
    """Whether values of this shape can hold objects other than the root."""
    return any(child.embedded or has_embedded(child) for child in _children(schema))


def _children(schema: Schema) -> Iterator[Schema]:
    for key, child in schema.fields.items():
        if not (schema.embedded and key == "metadata"):
            yield child
    if schema.element is not None:
        yield schema.element


def read_embedded(schema: Schema, value: Any, dropped: list[str]) -> Any:
    """The value with the metadata of embedded objects read; `dropped` is told the paths, sorted."""
    found: list[str] = []
    read = _read_inside(schema, value, "", found)
    dropped.extend(sorted(found))
    return read


def _read(schema: Schema, value: Any, path: str, dropped: list[str]) -> Any:
    if schema.embedded and value.__class__ is dict:
        value = _read_object(value, path, dropped)
    return _read_inside(schema, value, path, dropped)


def _read_inside(schema: Schema, value: Any, path: str, dropped: list[str]) -> Any:
    if value.__class__ is dict:
        changed = {}
        for key, item in value.items():
            child = None if schema.embedded and key == "metadata" else schema.child(key)
            if child is not None:
                inner = _read(child, item, f"{path}.{key}" if path else key, dropped)
                if inner is not item:
                    changed[key] = inner
        return {**value, **changed} if changed else value
    if value.__class__ is list and schema.type == "list" and schema.element is not None:
        element = schema.element
        items = [_read(element, v, f"{path}[{i}]", dropped) for i, v in enumerate(value)]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value


def _read_object(value: Wire, path: str, dropped: list[str]) -> Wire:
    for key in ("apiVersion", "kind"):
        if key in value and not isinstance(value[key], str):
            sentence = f"{path}.{key}: Invalid value: {shown(value[key])}: must be a string"
            raise Mismatch(sentence)
    if "metadata" not in value:
        return value
    metadata = value["metadata"]
    try:
        read, complaints = read_typed(object_meta(), {} if metadata is None else metadata)
    except Mismatch as mismatch:
        sentence = f"{path}.metadata: Invalid value: {shown(metadata)}: {mismatch.message()}"
        raise Mismatch(sentence) from None
    dropped.extend(f"{path}.metadata.{complaint.path}" for complaint in complaints)
    return {**value, "metadata": read}


def embedded_errors(schema: Schema, value: Any, path: str = "") -> list[FieldError]:
    """The rules that objects inside the value break."""
    errors: list[FieldError] = []
    if value.__class__ is dict:
        for key, item in value.items():
            child = None if schema.embedded and key == "metadata" else schema.child(key)
            if child is not None:
                errors += _errors(child, item, f"{path}.{key}" if path else key)
    elif value.__class__ is list and schema.type == "list" and schema.element is not None:
        for index, item in enumerate(value):
            errors += _errors(schema.element, item, f"{path}[{index}]")
    return errors


def _errors(schema: Schema, value: Any, path: str) -> list[FieldError]:
    own = _object_errors(value, path) if schema.embedded and value.__class__ is dict else []
    return own + embedded_errors(schema, value, path)


def _object_errors(value: Wire, path: str) -> list[FieldError]:
    missing = [key for key in ("apiVersion", "kind") if key not in value]
    errors = [fields.required(f"{path}.{key}") for key in missing]
    for key, fault in (("apiVersion", _version_fault), ("kind", _kind_fault)):
        sentence = fault(value[key]) if key in value else None
        if sentence is not None:
            errors.append(fields.invalid(f"{path}.{key}", value[key], sentence))
    if value.get("metadata") is None:
        return errors
    try:
        metadata, _ = read_typed(object_meta(), value["metadata"])
    except Mismatch as mismatch:
        where = f"{path}.metadata"
        return [*errors, fields.invalid(where, value["metadata"], mismatch.message())]
    return errors + _metadata_errors(metadata, f"{path}.metadata")


def _version_fault(version: Any) -> str | None:
    if not isinstance(version, str):
        return "must be a string"
    if not version:
        return "must not be empty"
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else None


def _kind_fault(kind: Any) -> str | None:
    if not isinstance(kind, str):
        return "must be a string"
    if not kind:
        return "must not be empty"
    reasons = rfc1035_faults(kind.lower())
    if not reasons:
        return None
    return "may have mixed case, but should otherwise match: " + ",".join(reasons)


def _metadata_errors(metadata: Wire, path: str) -> list[FieldError]:
    name = metadata.get("name", "")
    found = [("name", name, reason) for reason in path_segment_faults(name)]
    for key, value in metadata.get("labels", {}).items():
        found += [("labels", key, reason) for reason in qualified_faults(key)]
        found += [("labels", value, reason) for reason in label_value_faults(value)]
    for key in metadata.get("annotations", {}):
        found += [("annotations", key, reason) for reason in qualified_faults(key.lower())]
    return [fields.invalid(f"{path}.{field}", value, reason) for field, value, reason in found]
