"""The fields a CRD offers to field selectors: each must lead to a single value of known type."""

import re
from collections.abc import Iterator
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError

Json = dict[str, Any]

SELECTABLE_MAX = 8
_TYPE = (
    "must point to a field of type string, boolean or integer."
    " Enum string fields and strings with formats are allowed."
)
_token = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*'|[^.\[\]]+")


def selectable_errors(selectable: list[Json], schema: Json, path: str) -> Iterator[FieldError]:
    """The rules that a version's selectable fields break."""
    seen: set[str] = set()
    for index, field in enumerate(selectable):
        where, text = f"{path}.selectableFields[{index}].jsonPath", field.get("jsonPath", "")
        if not text:
            yield fields.required(where)
            continue
        fault, found = _follow(text, schema)
        if fault is not None:
            yield fields.invalid(where, text, f"is an invalid path: {fault}")
            continue
        if text.startswith(".metadata"):
            yield fields.invalid(where, text, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            yield fields.invalid(where, text, _TYPE)
        if text in seen:
            yield fields.duplicate(where, text)
        seen.add(text)
    if len(seen) > SELECTABLE_MAX:
        yield fields.too_many(f"{path}.selectableFields", len(seen), SELECTABLE_MAX)


def _follow(text: str, schema: Json) -> tuple[str | None, Json]:
    """What is wrong with a path, or the schema it leads to."""
    tokens = iter(_token.findall(text))
    for token in tokens:
        if token == "[":
            return "array notation is not allowed", {}
        if token != ".":
            return f"expected [ or . but got: {token}", {}
        name = next(tokens, None)
        if name is None:
            return "unexpected end of JSON path", {}
        rest = schema.get("additionalProperties")
        inner = schema.get("properties", {}).get(name)
        if not schema.get("properties") and isinstance(rest, dict):
            inner = rest
        if inner is None:
            return "does not refer to a valid field", {}
        schema = inner
    return None, schema
