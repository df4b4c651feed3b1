"""Whether an applied configuration has the shape its Schema says, in structured-merge's words.

In: a value and its Schema. Out: what is wrong with it, each with the path to it. Only what
server-side apply itself insists on: declared fields, kinds of values, and items that can be told
apart. Everything else is for validation to say.
"""

from collections.abc import Sequence
from typing import Any

from atoll.apiserver.applying.elements import shown
from atoll.apiserver.applying.typed import Untypable, entry_schema, item_element, item_schema
from atoll.apiserver.patching.wording import go_syntax, go_text, go_type
from atoll.apiserver.schemas.schema import Schema


def misfits(value: Any, schema: Schema) -> list[str]:
    """What is wrong, as "path: message"; in the order of the keys."""
    found = _misfits(value, schema, schema.preserve_unknown)
    return [f"{path}: {text}" if path else text for path, text in found]


def joined(errors: list[str]) -> str:
    """Several errors in one message."""
    if len(errors) == 1:
        return errors[0]
    return "\n".join(["errors:", *(f"  {error}" for error in errors)])


Found = Sequence[tuple[str, str]]
_NOTHING: Found = ()


def _misfits(value: Any, schema: Schema, lax: object) -> Found:
    """The faults of a value; `lax` is true where fields need not be declared."""
    if value is None:
        return _NOTHING
    lax = lax or schema.preserve_unknown
    if schema.type == "object" or schema.type == "map":
        if type(value) is dict:
            return _entries(value, schema, lax)
        return [("", f"expected map, got {_printed(value)}")]
    if schema.type == "list":
        if type(value) is list:
            return _items(value, schema, lax)
        return [("", f"expected list, got {_printed(value)}")]
    text = _scalar_misfit(value, schema)
    return [("", text)] if text else _NOTHING


def _entries(value: dict[str, Any], schema: Schema, lax: object) -> Found:
    closed = schema.fields and schema.element is None and not lax
    found: list[tuple[str, str]] = []
    for key in sorted(value):
        if closed and key not in schema.fields:
            return [*found, (f".{key}", "field not declared in schema")]
        inner = _misfits(value[key], entry_schema(schema, key), lax)
        found.extend((f".{key}{path}", text) for path, text in inner)
    return found


def _items(value: list[Any], schema: Schema, lax: object) -> Found:
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        element = f"i:{index}"
        if schema.list_type != "atomic":
            try:
                element = item_element(schema, item)
            except Untypable as error:
                return [*found, ("", f"element {index}: {error}")]
            if element in seen:
                found.append(("", f"duplicate entries for key {shown(element)}"))
            seen.add(element)
        inner = _misfits(item, item_schema(schema), lax)
        found.extend((f"{shown(element)}{path}", text) for path, text in inner)
    return found


def _scalar_misfit(value: Any, schema: Schema) -> str:
    kind = type(value)
    if schema.type == "string":
        if schema.format in ("", "byte"):
            if kind is str:
                return ""
            return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
        if kind is dict or kind is list:
            return f"expected any scalar, got {_printed(value)}"
    elif schema.type == "integer" or schema.type == "number":
        if kind is not int and kind is not float:
            return f"expected numeric (int or float), got {go_type(value)}"
    elif schema.type == "boolean" and kind is not bool:
        return f"expected boolean, got {_printed(value)}"
    return ""


def _printed(value: Any) -> str:
    return f"&{{{go_text(value)}}}"
