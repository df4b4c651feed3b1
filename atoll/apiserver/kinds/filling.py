"""What Kubernetes writes even where nobody said anything: the zero values of fields never absent.

Its objects are structs, so an empty `status: {}` or `replicas: 0` is there in every answer. Which
fields these are is in the schema (`default`, taken from OpenAPI).
"""

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
    for key, field in schema.fields.items():
        there = value.get(key)
        if there is None:
            if field.default is ABSENT or _unwritten(schema, key, field):
                continue
            there = value[key] = {} if field.default == {} else field.default
        if field.type in _NESTING:
            fill_zeros(field, there)


def _unwritten(schema: Schema, key: str, field: Schema) -> bool:
    """A few defaults are those of other writers: empty references, and no time to be ready in."""
    if key == "name":
        return field.default == "" and key not in schema.required
    return key == "minReadySeconds"
