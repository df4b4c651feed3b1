"""What Kubernetes writes even where nobody said anything: the zero values of fields never absent.

Its objects are structs, so an empty `status: {}` or `replicas: 0` is there in every answer. Which
fields these are is in the schema (`default`, taken from OpenAPI).
"""

from functools import cache
from typing import Any

from atoll.apiserver.schemas.schema import ABSENT, Schema

_NESTING = ("object", "map", "list")


def fill_zeros(schema: Schema, value: Any) -> None:
    """Put the zero values into a value of this schema, in place."""
    if schema.type == "object" and isinstance(value, dict):
        _fill_object(schema, value)
    elif schema.element is not None and schema.element.type in _NESTING:
        inner = value.values() if isinstance(value, dict) else value
        for item in inner if isinstance(value, dict | list) else ():
            fill_zeros(schema.element, item)


def _fill_object(schema: Schema, value: dict[str, Any]) -> None:
    zeros, nesting = _plan(schema)
    for key, zero in zeros:
        if value.get(key) is None:
            value[key] = {} if zero == {} else zero
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
    return zeros, {key: field for key, field in schema.fields.items() if field.type in _NESTING}


def _unwritten(schema: Schema, key: str, field: Schema) -> bool:
    """A few defaults are those of other writers: empty references, and no time to be ready in."""
    if key == "name":
        return field.default == "" and key not in schema.required
    return key == "minReadySeconds"
