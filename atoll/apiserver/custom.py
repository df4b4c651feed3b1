"""Custom resources: what a CustomResourceDefinition makes the server serve.

In: a definition that keeps the rules (`schemas.definitions`). Out: a Resource per served version,
with everything compiled that its objects are checked, defaulted and printed by. Versions differ in
their apiVersion only; objects are stored in the storage version. Names in conflict with others are
the business of whoever holds the catalog.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.error import FieldError
from atoll.apiserver.fields.jsonpath import BadPath, Find, compile_path, simple_path
from atoll.apiserver.objects.paths import at
from atoll.apiserver.resource import Column, Path, Resource, Scale, Strategy, unconverted
from atoll.apiserver.schemas.defaulting import compile_defaults, fill_in_place
from atoll.apiserver.schemas.embedded import embedded_errors, has_embedded
from atoll.apiserver.schemas.list_types import compile_list_types
from atoll.apiserver.schemas.pruning import drop_nulls, prune
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import has_rules, root_schema
from atoll.apiserver.schemas.validating import compile_validation

Object = dict[str, Any]
Errors = Callable[[Object], list[FieldError]]

_INT32_MAX = 2**31 - 1
# Errors after which Kubernetes does not look at CEL rules any more.
_BLOCKING = frozenset(
    [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ]
)
_UNCHECKED = fields.invalid(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation",
)


def resources_of(definition: Object) -> list[Resource]:
    """The resources a definition makes: one per served version, in the definition's order."""
    versions = definition["spec"]["versions"]
    stored = next(version["name"] for version in versions if version.get("storage"))
    served = [version for version in versions if version.get("served")]
    return [_resource(definition, version, stored) for version in served]


def _resource(definition: Object, version: Object, stored: str) -> Resource:
    spec, names = definition["spec"], definition["spec"]["names"]
    raw = version.get("schema", {}).get("openAPIV3Schema", {})
    schema = root_schema(raw, names["kind"])
    api_version = f"{spec['group']}/{version['name']}"
    same = version["name"] == stored
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        schema=schema,
        strategy=_strategy(version, schema, raw, names["kind"], api_version),
        stored_version=stored,
        list_kind=names.get("listKind") or f"{names['kind']}List",
        columns=_columns(version),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        definition=definition,
        from_stored=_reader(schema, api_version, same=same),
        to_stored=unconverted if same else _renamed(f"{spec['group']}/{stored}"),
    )


def _strategy(
    version: Object, schema: Schema, raw: Object, kind: str, api_version: str
) -> Strategy:
    subresources = version.get("subresources") or {}
    scale = _scale(subresources.get("scale"))
    status, raw_status = _only_status(schema, raw)
    return Strategy(
        tracks_generation=True,
        has_status=subresources.get("status") is not None,
        scale=scale,
        unconditional_update=False,
        selectable=_selectable(version),
        default=fill_in_place(schema),
        errors=_errors(schema, raw, kind, api_version, scale=scale),
        status_errors=_errors(status, raw_status, kind, api_version, scale=scale),
    )


def _only_status(schema: Schema, raw: Object) -> tuple[Schema, Object]:
    """A schema that looks into the status and into no other field."""
    inside = {key: child for key, child in schema.fields.items() if key == "status"}
    said = {key: rules for key, rules in raw.get("properties", {}).items() if key == "status"}
    return replace(schema, fields=inside), {**raw, "properties": said}


def _errors(
    schema: Schema, raw: Object, kind: str, api_version: str, *, scale: Scale | None
) -> Errors:
    """Everything that is asked of an object except its metadata, in Kubernetes' order."""
    validate = compile_validation(raw)
    checks: list[Errors] = [validate]
    if scale is not None:
        checks.append(lambda obj: _scale_errors(scale, obj))
    if has_embedded(schema):
        checks.append(lambda obj: embedded_errors(schema, obj))
    list_types = compile_list_types(schema)
    if list_types is not None:
        checks.append(list_types)
    rules = has_rules(raw)

    def errors(obj: Object) -> list[FieldError]:
        found = _type_errors(obj, kind, api_version)
        if found:
            return found
        for check in checks:
            found += check(obj)
        if rules and any(error.reason in _BLOCKING for error in found):
            found.append(_UNCHECKED)
        return found

    return errors


def _type_errors(obj: Object, kind: str, api_version: str) -> list[FieldError]:
    errors = []
    if obj.get("kind") != kind:
        errors.append(fields.invalid("kind", obj.get("kind", ""), f"must be {kind}"))
    if obj.get("apiVersion") != api_version:
        said = obj.get("apiVersion", "")
        errors.append(fields.invalid("apiVersion", said, f"must be {api_version}"))
    return errors


def _scale(scale: Object | None) -> Scale | None:
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath")
    return Scale(
        spec_replicas=simple_path(scale["specReplicasPath"]),
        status_replicas=simple_path(scale["statusReplicasPath"]),
        selector=simple_path(selector) if selector else None,
    )


def _scale_errors(scale: Scale, obj: Object) -> list[FieldError]:
    errors = []
    for path in (scale.spec_replicas, scale.status_replicas):
        where, value = "." + ".".join(path), at(obj, path)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            said = f"{fields.go_text(value)} is of the type {_go_type(value)}, expected int64"
            errors.append(fields.invalid(where, 0, f"{where} accessor error: {said}"))
        elif value < 0:
            errors.append(fields.invalid(where, value, "should be a non-negative integer"))
        elif value > _INT32_MAX:
            sentence = f"should be less than or equal to {_INT32_MAX}"
            errors.append(fields.invalid(where, value, sentence))
    return errors


def _go_type(value: Any) -> str:
    kinds = {bool: "bool", str: "string", float: "float64", list: "[]interface {}"}
    return kinds.get(type(value), "map[string]interface {}")


def _selectable(version: Object) -> dict[str, Path]:
    paths = [simple_path(field["jsonPath"]) for field in version.get("selectableFields") or []]
    return {".".join(path): path for path in paths}


def _columns(version: Object) -> tuple[Column, ...]:
    """The columns a version declares, up to the first whose path cannot be understood."""
    columns = []
    for declared in version.get("additionalPrinterColumns") or []:
        path = declared["jsonPath"]
        try:
            find = compile_path(path)
        except BadPath:
            break
        description = f"Custom resource definition column (in JSONPath format): {path}"
        columns.append(
            Column(
                name=declared["name"],
                cell=_text_cell(find) if declared["type"] == "string" else _cell(find),
                type=declared["type"],
                format=declared.get("format", ""),
                description=declared.get("description") or description,
                priority=declared.get("priority", 0),
            )
        )
    return tuple(columns)


def _cell(find: Find) -> Callable[[Object], Any]:
    def cell(obj: Object) -> Any:
        found = find(obj)
        return found[0] if found else None

    return cell


def _text_cell(find: Find) -> Callable[[Object], Any]:
    """Columns of type string show any value, as text."""

    def cell(obj: Object) -> Any:
        found = find(obj)
        return _text(found[0]) if found else None

    return cell


def _text(value: Any) -> str:
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return value if isinstance(value, str) else fields.shown(value)


def _renamed(api_version: str) -> Callable[[Object], Object]:
    return lambda obj: {**obj, "apiVersion": api_version}


def _reader(schema: Schema, api_version: str, *, same: bool) -> Callable[[Object], Object]:
    """How a stored object is shown in a version: its schema's defaults, and nothing it lacks."""
    fill = compile_defaults(schema)
    if same:
        return unconverted if fill is None else fill

    def read(stored: Object) -> Object:
        shown = drop_nulls(schema, prune(schema, {**stored, "apiVersion": api_version}))
        obj: Object = shown if fill is None else fill(shown)
        return obj

    return read
