"""Filling in what a custom resource's schema says of absent fields.

Used when an object is written and when it is read: an object stored before its kind gained a
default shows it too. Compiled once per schema; parts of a schema without defaults cost nothing.
Copies only what changes, and never hands out the default itself.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from atoll.apiserver.schemas.schema import ABSENT, Schema

Fill = Callable[[Any], Any]


def compile_defaults(schema: Schema) -> Fill | None:
    """A function that gives a value with its defaults; None if this schema has none to give."""
    if schema.type == "list":
        return _list_filler(schema)
    if schema.type in ("object", "map"):
        return _object_filler(schema)
    return None


def _list_filler(schema: Schema) -> Fill | None:
    element = schema.element
    inner = None if element is None else compile_defaults(element)
    if element is None or (inner is None and element.default is ABSENT):
        return None

    def fill(value: Any) -> Any:
        if value.__class__ is not list:
            return value
        items = [_filled(element, inner, item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items

    return fill


def _filled(schema: Schema, inner: Fill | None, value: Any) -> Any:
    if value is None and not schema.nullable and schema.default is not ABSENT:
        value = deepcopy(schema.default)
    return value if inner is None else inner(value)


def _object_filler(schema: Schema) -> Fill | None:
    fields = {key: child for key, child in schema.fields.items() if not _implied(schema, key)}
    given = {key: child for key, child in fields.items() if child.default is not ABSENT}
    inners: dict[str, Fill] = {}
    for key, child in fields.items():
        inner = compile_defaults(child)
        if inner is not None:
            inners[key] = inner
    rest = None if schema.element is None else compile_defaults(schema.element)
    if not given and not inners and rest is None:
        return None

    def fill(value: Any) -> Any:
        if value.__class__ is not dict:
            return value
        changed: dict[str, Any] = {}
        for key, child in given.items():
            if key not in value or (value[key] is None and not child.nullable):
                changed[key] = deepcopy(child.default)
        for key, fill_inner in inners.items():
            old = changed.get(key, value.get(key))
            new = fill_inner(old)
            if new is not old:
                changed[key] = new
        if rest is not None:
            _fill_rest(schema, rest, value, changed)
        return {**value, **changed} if changed else value

    return fill


def _implied(schema: Schema, key: str) -> bool:
    """What every Kubernetes object has: its defaults are not the schema's to give."""
    return schema.embedded and key in ("apiVersion", "kind", "metadata")


def _fill_rest(schema: Schema, rest: Fill, value: dict[str, Any], changed: dict[str, Any]) -> None:
    """Fill in the values of a map, in `changed`."""
    for key, old in value.items():
        if key not in schema.fields:
            new = rest(old)
            if new is not old:
                changed[key] = new


def fill_in_place(schema: Schema) -> Callable[[dict[str, Any]], None]:
    """A function that fills the defaults of an object into the object itself."""
    fill = compile_defaults(schema)

    def apply(obj: dict[str, Any]) -> None:
        if fill is not None:
            filled = fill(obj)
            if filled is not obj:
                obj.clear()
                obj.update(filled)

    return apply
