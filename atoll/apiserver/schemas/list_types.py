"""Lists that are sets or maps (x-kubernetes-list-type): no item, and no key, may be there twice."""

import json
from collections.abc import Iterator
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.schema import Schema


def has_list_types(schema: Schema) -> bool:
    """Whether values of this shape can hold sets or maps."""
    if schema.type == "list" and schema.list_type != "atomic":
        return True
    inner = [] if schema.element is None else [schema.element]
    own = [v for k, v in schema.fields.items() if not (schema.embedded and k == "metadata")]
    return any(map(has_list_types, [*own, *inner]))


def list_type_errors(schema: Schema, value: Any, path: str = "") -> list[FieldError]:
    """The items of sets and maps that are there more than once, and what is no item of a map."""
    errors: list[FieldError] = []
    if value.__class__ is dict:
        for key, item in value.items():
            child = None if schema.embedded and key == "metadata" else schema.child(key)
            if child is not None:
                errors += list_type_errors(child, item, _step(schema, path, key))
    elif value.__class__ is list:
        if schema.list_type == "set":
            errors += [fields.duplicate(f"{path}[{i}]", value[i]) for i in _repeated(value)]
        elif schema.list_type == "map":
            errors += _map_errors(schema, value, path)
        if schema.type == "list" and schema.element is not None:
            for index, item in enumerate(value):
                errors += list_type_errors(schema.element, item, f"{path}[{index}]")
    return errors


def _step(schema: Schema, path: str, key: str) -> str:
    if key not in schema.fields:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _map_errors(schema: Schema, value: list[Any], path: str) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            sentence = "must be an object for an array of list-type map"
            return [fields.invalid(f"{path}[{index}]", item, sentence)]
    keys = [_key(schema, item or {}) for item in value]
    return [fields.duplicate(f"{path}[{index}]", keys[index]) for index in _repeated(keys)]


def _key(schema: Schema, item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in schema.list_keys if key in item}


def _repeated(items: list[Any]) -> Iterator[int]:
    """Where something is said for the second time; a third time is no news."""
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        text = json.dumps(item, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            yield index
