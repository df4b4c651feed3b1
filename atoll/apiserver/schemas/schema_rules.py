"""What a CRD's schema may say beyond being structural: keywords, list types, defaults, CEL rules.

In: a schema as JSON (well-typed) and where it stands in the CRD. Out: the rules it breaks, in
Kubernetes' words and order. CEL rules are looked at from outside only; `rule_faults` compiles them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.schemas.embedded import embedded_errors
from atoll.apiserver.schemas.field_paths import NoSuchField, field_path
from atoll.apiserver.schemas.pruning import prune
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import structural_schema
from atoll.apiserver.schemas.validating import compile_validation
from atoll.wire import Wire

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_MAP_TYPES, _LIST_TYPES = ("atomic", "granular"), ("atomic", "set", "map")
_META = frozenset(["apiVersion", "kind", "metadata"])
_REASONS = tuple(f"FieldValue{how}" for how in ("Duplicate", "Forbidden", "Invalid", "Required"))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a schema we are, as far as it changes what is allowed."""

    no_defaults: str | None = None  # why there may be none here
    in_metadata: bool = False


def schema_errors(schema: Wire, path: str) -> list[FieldError]:
    """The rules that a whole schema breaks."""
    return list(_node(schema, path, _Place(), is_root=True))


def _node(schema: Wire, path: str, place: _Place, *, is_root: bool = False) -> Iterator[FieldError]:
    yield from _keywords(schema, path, place)
    yield from _children(schema, path, place, is_root=is_root)
    yield from _list_and_map_types(schema, path)
    yield from _map_keys(schema, path)
    yield from _unambiguous_keys(schema, path)
    for index, rule in enumerate(schema.get("x-kubernetes-validations", [])):
        yield from _rule(rule, f"{path}.x-kubernetes-validations[{index}]", schema)


def _keywords(schema: Wire, path: str, place: _Place) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield fields.not_supported(f"{path}.type", kind, _TYPES)
    if "default" in schema and place.no_defaults is not None:
        yield fields.forbidden(f"{path}.default", f"must not be set {place.no_defaults}".strip())
    for name in _UNSUPPORTED:
        said = schema.get(name)
        if said or (said is False and name == "additionalItems"):
            yield fields.forbidden(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        sentence = "type cannot be set to null, use nullable as an alternative"
        yield fields.forbidden(f"{path}.type", sentence)
    if isinstance(schema.get("items"), list):
        yield fields.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        sentence = "must not be used inside of resource meta"
        yield fields.forbidden(f"{path}.x-kubernetes-embedded-resource", sentence)
    if schema.get("uniqueItems"):
        sentence = (
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        )
        yield fields.forbidden(f"{path}.uniqueItems", sentence)


def _children(schema: Wire, path: str, place: _Place, *, is_root: bool) -> Iterator[FieldError]:
    properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
    if rest is not None:
        if properties and rest is not True:
            sentence = "additionalProperties and properties are mutual exclusive"
            yield fields.forbidden(f"{path}.additionalProperties", sentence)
        if isinstance(rest, dict):
            yield from _node(rest, f"{path}.additionalProperties", _inside_map(place))
    whole = is_root or schema.get("x-kubernetes-embedded-resource")
    for key, child in properties.items():
        inner = _inside_metadata(place, key, is_root=is_root) if whole and key in _META else place
        yield from _node(child, f"{path}.properties[{key}]", inner)
    if "not" in schema:
        yield from _node(schema["not"], f"{path}.not", place)
    for name in ("allOf", "oneOf", "anyOf"):
        for index, child in enumerate(schema.get(name, [])):
            yield from _node(child, f"{path}.{name}[{index}]", place)
    if isinstance(schema.get("items"), dict):
        yield from _node(schema["items"], f"{path}.items", place)


def _inside_map(place: _Place) -> _Place:
    if not place.in_metadata:
        return place
    return replace(place, no_defaults="inside additionalProperties applying to object metadata")


def _inside_metadata(place: _Place, key: str, *, is_root: bool) -> _Place:
    return _Place(f"in top-level {key}" if is_root else place.no_defaults, in_metadata=True)


def _must_be(kind: str, schema: Wire, path: str, extension: str) -> Iterator[FieldError]:
    found = schema.get("type", "")
    if found != kind:
        yield fields.wanting(f"{path}.type", found, f"must be {kind} if {extension} is specified")


def _list_and_map_types(schema: Wire, path: str) -> Iterator[FieldError]:
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        name = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield fields.invalid(name, False, "must be true or undefined")
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        yield from _must_be("object", schema, path, "x-kubernetes-map-type")
        if map_type not in _MAP_TYPES:
            yield fields.not_supported(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES)
    list_type = schema.get("x-kubernetes-list-type")
    if list_type is None:
        return
    if schema.get("type") != "array":
        yield from _must_be("array", schema, path, "x-kubernetes-list-type")
    elif list_type == "set":
        yield from _set_items(schema, path)
    if list_type not in _LIST_TYPES:
        yield fields.not_supported(f"{path}.x-kubernetes-list-type", list_type, _LIST_TYPES)


def _set_items(schema: Wire, path: str) -> Iterator[FieldError]:
    """Items of a set are compared as a whole, so they must be replaced as a whole."""
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    sentence = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_type, map_type = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        yield fields.invalid(f"{path}.items.x-kubernetes-list-type", list_type, sentence)
    if items.get("type") == "object" and map_type != "atomic":
        yield fields.invalid(f"{path}.items.x-kubernetes-map-type", list_type, sentence)


def _map_keys(schema: Wire, path: str) -> Iterator[FieldError]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if keys and list_type != "map":
        sentence = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield fields.wanting(f"{path}.x-kubernetes-list-type", list_type, sentence)
    if list_type != "map":
        return
    if not keys:
        sentence = "must not be empty if x-kubernetes-list-type is map"
        yield fields.required(f"{path}.x-kubernetes-list-map-keys", sentence)
    items = schema.get("items")
    if items is None:
        sentence = "must have a schema if x-kubernetes-list-type is map"
        yield fields.required(f"{path}.items", sentence)
    elif not isinstance(items, dict):
        sentence = "must only have a single schema if x-kubernetes-list-type is map"
        yield fields.invalid(f"{path}.items", items, sentence)
    elif items.get("type", "") != "object":
        sentence = "must be object if parent array's x-kubernetes-list-type is map"
        yield fields.invalid(f"{path}.items.type", items.get("type", ""), sentence)
    else:
        yield from _keys_of_items(items, keys, path)


def _keys_of_items(items: Wire, keys: list[str], path: str) -> Iterator[FieldError]:
    where, seen = f"{path}.x-kubernetes-list-map-keys", set()
    for key in keys:
        child = items.get("properties", {}).get(key)
        if child is None:
            yield fields.invalid(where, keys, "entries must all be names of item properties")
        elif child.get("type") in ("array", "object"):
            sentence = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            at = f"{path}.items.properties[{key}].type"
            yield fields.invalid(at, items["type"], sentence)
        if key in seen:
            yield fields.invalid(where, keys, "must not contain duplicate entries")
        seen.add(key)


def _unambiguous_keys(schema: Wire, path: str) -> Iterator[FieldError]:
    """Keys must always be there, and neither they nor whole items may be null."""
    items, list_type = schema.get("items"), schema.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return
    if items.get("nullable"):
        sentence = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield fields.forbidden(f"{path}.items.nullable", sentence)
    if list_type == "set":
        return
    why = "this property is in x-kubernetes-list-map-keys, so it"
    for key in schema.get("x-kubernetes-list-map-keys") or []:
        child = items.get("properties", {}).get(key)
        if child is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in items.get("required", []) and child.get("default") is None:
            yield fields.required(
                f"{at}.default", f"{why} must have a default or be a required property"
            )
        if child.get("nullable"):
            yield fields.forbidden(f"{at}.nullable", f"{why} cannot be nullable")


def _rule(rule: Wire, path: str, schema: Wire) -> Iterator[FieldError]:
    text, message = rule.get("rule", ""), rule.get("message", "")
    if not text.strip():
        yield fields.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield fields.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_newline(message.strip()):
        yield fields.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_newline(text.strip()) and not message.strip():
        sentence = "message must be specified if rule contains line breaks"
        yield fields.required(f"{path}.message", sentence)
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        sentence = "messageExpression must be non-empty if specified"
        yield fields.required(f"{path}.messageExpression", sentence)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield fields.not_supported(f"{path}.reason", reason, _REASONS)
    said_path = rule.get("fieldPath", "")
    if not said_path:
        return
    if not said_path.strip():
        yield fields.invalid(f"{path}.fieldPath", said_path, "must be non-empty if specified")
    if _has_newline(said_path):
        yield fields.invalid(f"{path}.fieldPath", said_path, "must not contain line breaks")
    try:
        field_path(said_path, schema)
    except NoSuchField:
        yield fields.invalid(f"{path}.fieldPath", said_path, "must be a valid path")


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def default_errors(schema: Wire, path: str) -> list[FieldError]:
    """Defaults that are not valid values themselves. The schema must be structural."""
    errors: list[FieldError] = []
    if schema.get("default") is not None:
        errors += _default_errors(schema, f"{path}.default")
    if isinstance(schema.get("items"), dict):
        errors += default_errors(schema["items"], f"{path}.items")
    for key, child in schema.get("properties", {}).items():
        errors += default_errors(child, f"{path}.properties[{key}]")
    return errors


def _default_errors(schema: Wire, path: str) -> list[FieldError]:
    value, shape = schema["default"], structural_schema(schema)
    errors = []
    if prune(shape, value) != value:
        errors.append(fields.invalid(path, value, "must not have unknown fields"))
    holder = Schema("object", fields={"default": shape})
    embedded = embedded_errors(holder, {"default": value})
    if embedded:
        at = path.removesuffix("default")
        return errors + [replace(error, field=at + error.field) for error in embedded]
    for error in compile_validation(schema)(value):
        at = path if error.field == "<nil>" else f"{path}.{error.field}"
        errors.append(replace(error, field=at))
    return errors
