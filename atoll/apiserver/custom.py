"""Custom resources: what a CustomResourceDefinition makes the server serve.

In: a definition that keeps the rules (`schemas.definitions`). Out: a Resource per served version,
with everything compiled that its objects are checked, defaulted and printed by. Objects are stored
in the storage version. Versions differ in their apiVersion only, unless a webhook converts between
them: who calls that, and names in conflict with others, are the business of others.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from atoll.apiserver.custom_rules import CustomRules
from atoll.apiserver.fields import error as fields
from atoll.apiserver.fields.jsonpath import BadPath, Find, compile_path, simple_path
from atoll.apiserver.resource import Column, Path, Resource, Scale, Strategy, unconverted
from atoll.apiserver.schemas.defaulting import compile_defaults, fill_in_place
from atoll.apiserver.schemas.pruning import drop_nulls, prune
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.schemas.structural import root_schema
from atoll.apiserver.validations.loading import compiled_rules
from atoll.wire import Wire


def resources_of(definition: Wire) -> list[Resource]:
    """The resources a definition makes: one per served version, in the definition's order."""
    versions = definition["spec"]["versions"]
    stored = next(version for version in versions if version.get("storage"))
    served = [version for version in versions if version.get("served")]
    return [_resource(definition, version, stored) for version in served]


def _resource(definition: Wire, version: Wire, stored: Wire) -> Resource:
    spec, names = definition["spec"], definition["spec"]["names"]
    raw = _raw_schema(version)
    schema = root_schema(raw, names["kind"])
    api_version = f"{spec['group']}/{version['name']}"
    conversion = _conversion(spec)
    same = version["name"] == stored["name"]
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec["scope"] == "Namespaced",
        schema=schema,
        strategy=_strategy(version, schema, raw, names["kind"], api_version),
        stored_version=stored["name"],
        list_kind=names.get("listKind") or f"{names['kind']}List",
        columns=_columns(version),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        definition=definition,
        conversion=conversion,
        deprecation=_deprecation(version, f"{api_version} {names['kind']}"),
        from_stored=_reader(schema, api_version, same=same and conversion is None),
        to_stored=unconverted if same else _keeper(stored, spec["group"], names["kind"]),
    )


def _strategy(version: Wire, schema: Schema, raw: Wire, kind: str, api_version: str) -> Strategy:
    subresources = version.get("subresources") or {}
    scale = _scale(subresources.get("scale"))
    status, raw_status = _only_status(schema, raw)
    rules = CustomRules(schema, raw, (kind, api_version), scale, compiled_rules(raw))
    status_rules = CustomRules(status, raw_status, (kind, api_version), scale, rules.expressions)
    return Strategy(
        tracks_generation=True,
        has_status=subresources.get("status") is not None,
        scale=scale,
        unconditional_update=False,
        selectable=_selectable(version),
        default=fill_in_place(schema),
        errors=rules.errors,
        changed_errors=rules.changed_errors,
        changed_status_errors=status_rules.changed_errors,
    )


def _conversion(spec: Wire) -> Wire | None:
    """The webhook that converts; None if versions differ in their names only."""
    said = spec.get("conversion") or {}
    return said.get("webhook") if said.get("strategy") == "Webhook" else None


def _deprecation(version: Wire, what: str) -> str:
    if not version.get("deprecated"):
        return ""
    return str(version.get("deprecationWarning") or f"{what} is deprecated")


def _only_status(schema: Schema, raw: Wire) -> tuple[Schema, Wire]:
    """A schema that looks into the status and into no other field."""
    inside = {key: child for key, child in schema.fields.items() if key == "status"}
    said = {key: rules for key, rules in raw.get("properties", {}).items() if key == "status"}
    return replace(schema, fields=inside), {**raw, "properties": said}


def _scale(scale: Wire | None) -> Scale | None:
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath")
    return Scale(
        spec_replicas=simple_path(scale["specReplicasPath"]),
        status_replicas=simple_path(scale["statusReplicasPath"]),
        selector=simple_path(selector) if selector else None,
    )


def _selectable(version: Wire) -> dict[str, Path]:
    paths = [simple_path(field["jsonPath"]) for field in version.get("selectableFields") or []]
    return {".".join(path): path for path in paths}


def _columns(version: Wire) -> tuple[Column, ...]:
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
                cell=_cell(find, as_text=declared["type"] == "string"),
                type=declared["type"],
                format=declared.get("format", ""),
                description=declared.get("description") or description,
                priority=declared.get("priority", 0),
            )
        )
    return tuple(columns)


def _cell(find: Find, *, as_text: bool) -> Callable[[Wire], Any]:
    """What a path leads to first. Columns of type string show any value, as text."""

    def cell(obj: Wire) -> Any:
        found = find(obj)
        if not found:
            return None
        return _text(found[0]) if as_text else found[0]

    return cell


def _text(value: Any) -> str:
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return value if isinstance(value, str) else fields.shown(value)


def _raw_schema(version: Wire) -> Wire:
    raw: Wire = version.get("schema", {}).get("openAPIV3Schema", {})
    return raw


def _keeper(stored: Wire, group: str, kind: str) -> Callable[[Wire], Wire]:
    """How an object of another version is kept: as far as the stored version has words for it."""
    schema, api_version = root_schema(_raw_schema(stored), kind), f"{group}/{stored['name']}"
    return lambda obj: prune(schema, {**obj, "apiVersion": api_version})


def _reader(schema: Schema, api_version: str, *, same: bool) -> Callable[[Wire], Wire]:
    """How a stored object is shown in a version: its schema's defaults, and nothing it lacks."""
    fill = compile_defaults(schema)
    if same:
        return unconverted if fill is None else fill

    def read(stored: Wire) -> Wire:
        shown = drop_nulls(schema, prune(schema, {**stored, "apiVersion": api_version}))
        obj: Wire = shown if fill is None else fill(shown)
        return obj

    return read
