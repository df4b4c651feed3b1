"""What Kubernetes writes even where nobody said anything: the zero values of fields never absent.

Its objects are structs, so an empty `status: {}` or `replicas: 0` is there in every answer. Which
fields these are is in the schema (`default`, taken from OpenAPI).
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from atoll.apiserver.schemas.schema import ABSENT, Schema


def fill_zeros(schema: Schema, value: Any) -> None:
    """Put the zero values into a value of this schema, in place."""
    if schema.type == "object":
        _fill_objects(schema, (value,))
    elif schema.element is not None and isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        if schema.element.type == "object":
            _fill_objects(schema.element, inner)
        else:
            for item in inner:
                fill_zeros(schema.element, item)


def _fill_objects(schema: Schema, values: Iterable[Any]) -> None:
    zeros, nesting = _plan(schema)
    for value in values:
        if not isinstance(value, dict):
            continue
        for key, zero in zeros:
            if value.get(key) is None:
                value[key] = {} if zero == {} else zero
        if not nesting:
            continue
        for key, there in value.items():
            field = nesting.get(key)
            if field is not None:
                fill_zeros(field, there)


@cache
def _plan(schema: Schema) -> tuple[list[tuple[str, Any]], dict[str, Schema]]:
    """The fields that are never absent, with their zero values; and those to look into."""
    zeros = [
        (key, field.default)
        for key, field in schema.fields.items()
        if field.default is not ABSENT and not _unwritten(schema, key, field)
    ]
    return zeros, {key: field for key, field in schema.fields.items() if _has_zeros(field, {})}


def _has_zeros(schema: Schema, seen: dict[Schema, None]) -> bool:
    """Whether there may be anything to put into a value of this schema."""
    if schema in seen:  # it contains itself, and is being asked already
        return False
    seen[schema] = None
    if schema.element is not None and _has_zeros(schema.element, seen):
        return True
    return any(
        (field.default is not ABSENT and not _unwritten(schema, key, field))
        or _has_zeros(field, seen)
        for key, field in schema.fields.items()
    )


def _unwritten(schema: Schema, key: str, field: Schema) -> bool:
    """A few defaults are those of other writers: empty references, and no time to be ready in."""
    if key == "name":
        return field.default == "" and key not in schema.required
    return key == "minReadySeconds"
