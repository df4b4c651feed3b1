"""Whether an applied configuration has the shape its Schema says, in structured-merge's words.

In: a value and its Schema. Out: what is wrong with it, each with the path to it. Only what
server-side apply itself insists on: declared fields, kinds of values, and items that can be told
apart. Everything else is for validation to say.
"""

from collections.abc import Iterator
from typing import Any

from atoll.apiserver.applying.elements import shown
from atoll.apiserver.applying.typed import Untypable, entry_schema, item_element, item_schema
from atoll.apiserver.patching.wording import go_text, go_type
from atoll.apiserver.schemas.schema import Schema


def misfits(value: Any, schema: Schema) -> list[str]:
    """What is wrong, as "path: message"; in the order of the keys."""
    return [f"{path}: {text}" if path else text for path, text in _misfits(value, schema, False)]


def joined(errors: list[str]) -> str:
    """Several errors in one message."""
    if len(errors) == 1:
        return errors[0]
    return "\n".join(["errors:", *(f"  {error}" for error in errors)])


Found = Iterator[tuple[str, str]]


def _misfits(value: Any, schema: Schema, open_: Any) -> Found:
    if value is None:
        return
    open_ = open_ or schema.preserve_unknown
    if schema.type in ("object", "map"):
        if isinstance(value, dict):
            yield from _entries(value, schema, open_)
        else:
            yield "", f"expected map, got {_printed(value)}"
    elif schema.type == "list":
        if isinstance(value, list):
            yield from _items(value, schema, open_)
        else:
            yield "", f"expected list, got {_printed(value)}"
    else:
        text = _scalar_misfit(value, schema)
        if text:
            yield "", text


def _entries(value: dict[str, Any], schema: Schema, open_: Any) -> Found:
    closed = bool(schema.fields) and schema.element is None and not open_
    for key in sorted(value):
        if closed and key not in schema.fields:
            yield f".{key}", "field not declared in schema"
            return
        for path, text in _misfits(value[key], entry_schema(schema, key), open_):
            yield f".{key}{path}", text


def _items(value: list[Any], schema: Schema, open_: Any) -> Found:
    seen: set[str] = set()
    for index, item in enumerate(value):
        step = f"[{index}]"
        if schema.list_type != "atomic":
            try:
                element = item_element(schema, item)
            except Untypable as error:
                yield "", f"element {index}: {error}"
                return
            step = shown(element)
            if element in seen:
                yield "", f"duplicate entries for key {step}"
            seen.add(element)
        for path, text in _misfits(item, item_schema(schema), open_):
            yield f"{step}{path}", text


def _scalar_misfit(value: Any, schema: Schema) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if schema.type in ("integer", "number") and not number:
        return f"expected numeric (int or float), got {go_type(value)}"
    if schema.type == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {_printed(value)}"
    if schema.type == "string":
        if schema.format in ("", "byte"):
            return "" if isinstance(value, str) else f"expected string, got {_go_syntax(value)}"
        if isinstance(value, dict | list):
            return f"expected any scalar, got {_printed(value)}"
    return ""


def _printed(value: Any) -> str:
    return f"&{{{go_text(value)}}}"


def _go_syntax(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{go_text(value)}}}"
