"""Lists that are sets or maps (x-kubernetes-list-type): no item, and no key, may be there twice."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.schema import Schema

Check = Callable[[Any], bool]


def compile_list_types(schema: Schema) -> Callable[[Any], list[FieldError]] | None:
    """A function that finds what sets and maps have twice; None if this shape has neither."""
    is_fine = _compile(schema)
    if is_fine is None:
        return None

    def errors(value: Any) -> list[FieldError]:
        return [] if is_fine(value) else list_type_errors(schema, value)

    return errors


def _compile(schema: Schema) -> Check | None:
    """A quick yes or no that visits only what can hold sets and maps."""
    return _compile_list(schema) if schema.type == "list" else _compile_object(schema)


def _compile_list(schema: Schema) -> Check | None:
    inner = None if schema.element is None else _compile(schema.element)
    keyed = schema.list_type != "atomic"
    if inner is None and not keyed:
        return None
    itself = replace(schema, element=None)

    def is_fine(value: Any) -> bool:
        if value.__class__ is not list:
            return True
        if keyed and list_type_errors(itself, value):
            return False
        return inner is None or all(map(inner, value))

    return is_fine


def _compile_object(schema: Schema) -> Check | None:
    inner: dict[str, Check] = {}
    for key, child in schema.fields.items():
        check = None if schema.embedded and key == "metadata" else _compile(child)
        if check is not None:
            inner[key] = check
    rest = None if schema.element is None else _compile(schema.element)
    if not inner and rest is None:
        return None

    def is_fine(value: Any) -> bool:
        if value.__class__ is not dict:
            return True
        for key, check in inner.items():
            if key in value and not check(value[key]):
                return False
        if rest is None:
            return True
        return all(rest(item) for key, item in value.items() if key not in schema.fields)

    return is_fine


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
        if item is not None and item.__class__ is not dict:
            sentence = "must be an object for an array of list-type map"
            return [fields.invalid(f"{path}[{index}]", item, sentence)]
    if len(schema.list_keys) == 1:
        (name,) = schema.list_keys
        keys = [item[name] if item and name in item else _NO_KEY for item in value]
    else:
        keys = [_key(schema, item or {}) for item in value]
    repeated = list(_repeated(keys))
    return [
        fields.duplicate(f"{path}[{index}]", _key(schema, value[index] or {})) for index in repeated
    ]


_NO_KEY: dict[str, Any] = {}


def _key(schema: Schema, item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in schema.list_keys if key in item}


def _repeated(items: list[Any]) -> Iterator[int]:
    """Where something is said for the second time; a third time is no news."""
    seen: dict[Any, int] = {}
    for index, item in enumerate(items):
        kind = item.__class__
        compound = kind is dict or kind is list
        same = json.dumps(item, sort_keys=True) if compound else item
        count = seen[kind, same] = seen.get((kind, same), 0) + 1
        if count == 2:
            yield index
