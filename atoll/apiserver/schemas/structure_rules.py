"""Whether a CRD's schema is structural: every value has a type that can be told from outside.

In: a schema as JSON (well-typed, as decoding leaves it) and where it stands in the CRD. Out: the
rules it breaks, in Kubernetes' words, sorted as Kubernetes sorts them.
"""

import re
from collections.abc import Iterator
from typing import Literal

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.rules import compiled_pattern
from atoll.wire import Wire

Level = Literal["root", "item", "field"]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_MISSING_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
# What alternatives (anyOf, …) may not say because it is about shape: the field, how it must be.
_SHAPES = (
    ("type", "empty"),
    ("additionalProperties", "undefined"),
    ("default", "undefined"),
    ("title", "empty"),
    ("description", "empty"),
    ("nullable", "false"),
    ("x-kubernetes-preserve-unknown-fields", "false"),
    ("x-kubernetes-embedded-resource", "false"),
    ("x-kubernetes-int-or-string", "false"),
    ("x-kubernetes-list-map-keys", "empty"),
    ("x-kubernetes-list-type", "undefined"),
    ("x-kubernetes-map-type", "undefined"),
    ("x-kubernetes-validations", "empty"),
)


def structure_errors(schema: Wire, path: str) -> list[FieldError]:
    """Why a schema is not structural; nothing if it is."""
    errors = [*_node(schema, "root", path), *_complete(schema, schema, path, path)]
    return sorted(errors, key=str)


def _node(schema: Wire, level: Level, path: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    items, rest = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        yield fields.required(f"{path}.items", "must be specified")
    if isinstance(items, dict):
        yield from _node(items, "item", f"{path}.items")
    for key, child in schema.get("properties", {}).items():
        yield from _node(child, "field", f"{path}.properties[{key}]")
    if rest is not None and level == "root":
        yield fields.forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(rest, dict):
        yield from _node(rest, "field", f"{path}.additionalProperties")
    yield from _extensions(schema, path)
    yield from _alternatives(schema, path, allow_int_or_string=True)
    yield from _type(schema, level, path)
    yield from _metadata(schema, level, path)


def _extensions(schema: Wire, path: str) -> Iterator[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return
    for name in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
        if schema.get(name):
            sentence = "must be false if x-kubernetes-int-or-string is true"
            yield fields.invalid(f"{path}.{name}", True, sentence)


def _type(schema: Wire, level: Level, path: str) -> Iterator[FieldError]:
    kind, embedded = schema.get("type", ""), schema.get("x-kubernetes-embedded-resource")
    free = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if embedded and kind != "object":
        sentence = "must be object if x-kubernetes-embedded-resource is true"
        yield fields.wanting(f"{path}.type", kind, sentence)
    elif not kind and not free:
        yield fields.required(f"{path}.type", _MISSING_TYPE[level])
    if embedded and schema.get("additionalProperties") is not None:
        sentence = "must not be used if x-kubernetes-embedded-resource is set"
        yield fields.forbidden(f"{path}.additionalProperties", sentence)
    if level == "root" and kind and kind != "object":
        yield fields.invalid(f"{path}.type", kind, "must be object at the root")


def _metadata(schema: Wire, level: Level, path: str) -> Iterator[FieldError]:
    embedded = schema.get("x-kubernetes-embedded-resource")
    properties = schema.get("properties", {})
    if level == "root" or embedded:
        for name in ("kind", "apiVersion"):
            kind = properties.get(name, {}).get("type", "")
            if name in properties and kind != "string":
                yield fields.invalid(f"{path}.properties[{name}].type", kind, "must be string")
        kind = properties.get("metadata", {}).get("type", "")
        if "metadata" in properties and kind != "object":
            yield fields.invalid(f"{path}.properties[metadata].type", kind, "must be object")
    if level == "root" and _says_more_than_names(properties.get("metadata", {})):
        sentence = (
            "must not specify anything other than name and generateName,"
            " but metadata is implicitly specified"
        )
        yield fields.forbidden(f"{path}.properties[metadata]", sentence)
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        sentence = (
            "must not be empty if x-kubernetes-embedded-resource is true"
            " without x-kubernetes-preserve-unknown-fields"
        )
        yield fields.required(f"{path}.properties", sentence)


def _says_more_than_names(metadata: Wire) -> bool:
    said = {key for key, value in metadata.items() if value} - {"type", "default"}
    if set(metadata.get("properties", {})) <= {"name", "generateName"}:
        said -= {"properties"}
    return bool(said)


def _alternatives(
    schema: Wire, path: str, *, allow_int_or_string: bool = False, skip_any: bool = False
) -> Iterator[FieldError]:
    """The parts that may only restrict values, never say what they are."""
    any_of = schema.get("anyOf", [])
    if not skip_any and not (allow_int_or_string and any_of == _INT_OR_STRING):
        for index, nested in enumerate(any_of):
            yield from _nested(nested, f"{path}.anyOf[{index}]")
    for index, nested in enumerate(schema.get("allOf", [])):
        first = allow_int_or_string and index == 0 and nested.get("anyOf") == _INT_OR_STRING
        yield from _nested(nested, f"{path}.allOf[{index}]", skip_any=first)
    for index, nested in enumerate(schema.get("oneOf", [])):
        yield from _nested(nested, f"{path}.oneOf[{index}]")
    if "not" in schema:
        yield from _nested(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    try:
        _ = compiled_pattern(pattern) if pattern else None
    except ValueError as fault:
        sentence = f"must be a valid regular expression, but isn't: {fault}"
        yield fields.invalid(f"{path}.pattern", pattern, sentence)


def _nested(schema: Wire, path: str, *, skip_any: bool = False) -> Iterator[FieldError]:
    yield from _alternatives(schema, path, skip_any=skip_any)
    if isinstance(schema.get("items"), dict):
        yield from _nested(schema["items"], f"{path}.items")
    for key, child in schema.get("properties", {}).items():
        yield from _nested(child, f"{path}.properties[{key}]")
    for name, how in _SHAPES:
        said = schema.get(name)
        if said or (name == "default" and said is not None):
            yield fields.forbidden(f"{path}.{name}", f"must be {how} to be structural")
    if "metadata" in schema.get("properties", {}):
        sentence = "must not be specified in a nested context"
        yield fields.forbidden(f"{path}.properties[metadata]", sentence)


def _complete(
    restricting: Wire, shape: Wire | None, shape_path: str, path: str
) -> Iterator[FieldError]:
    """What alternatives restrict must be something whose shape is known."""
    nested = [(restricting["not"], "not")] if "not" in restricting else []
    for name in ("allOf", "anyOf", "oneOf"):
        nested += [(one, f"{name}[{i}]") for i, one in enumerate(restricting.get(name, []))]
    for one, step in nested:
        yield from _complete_nested(one, shape, shape_path, f"{path}.{step}")


def _complete_nested(
    restricting: Wire, shape: Wire | None, shape_path: str, path: str
) -> Iterator[FieldError]:
    if shape is None:
        yield fields.required(shape_path, f"because it is defined in {path}")
        return
    yield from _complete(restricting, shape, shape_path, path)
    items = restricting.get("items")
    if isinstance(items, dict):
        inner = shape.get("items")
        yield from _complete_nested(items, inner, f"{shape_path}.items", f"{path}.items")
    for key, child in restricting.get("properties", {}).items():
        step = f"properties[{key}]"
        inner = shape.get("properties", {}).get(key)
        yield from _complete_nested(child, inner, f"{shape_path}.{step}", f"{path}.{step}")


SELECTABLE_MAX = 8
_TYPE = (
    "must point to a field of type string, boolean or integer."
    " Enum string fields and strings with formats are allowed."
)
_token = re.compile(r"[.\[\]]|'(?:[^'\\]|\\.)*'|[^.\[\]]+")


def selectable_errors(selectable: list[Wire], schema: Wire, path: str) -> Iterator[FieldError]:
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


def _follow(text: str, schema: Wire) -> tuple[str | None, Wire]:
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
