"""How a custom kind is told of in OpenAPI: its schema, as its CRD has it, and that of its lists."""

from typing import Any

from atoll.apiserver.operations import META, REF
from atoll.apiserver.resource import Resource
from atoll.wire import Object

_GVK = "x-kubernetes-group-version-kind"


def custom_name(resource: Resource) -> str:
    """What a custom kind is called among schemas: io.example.v1.Widget for example.io."""
    reversed_group = ".".join(reversed(resource.group.split(".")))
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def custom_schemas(resource: Resource, name: str) -> Object:
    """The schemas of a custom kind and of its lists, as published."""
    listed = f"{resource.kind}List" if not resource.list_kind else resource.list_kind
    return {
        name: _published(resource) | {_GVK: [_kind(resource, resource.kind)]},
        f"{name}List": {
            "description": f"{listed} is a list of {resource.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": REF + name}},
                "kind": {"type": "string"},
                "metadata": {"allOf": [{"$ref": f"{REF}{META}ListMeta"}]},
            },
            _GVK: [_kind(resource, listed)],
        },
    }


def _kind(resource: Resource, kind: str) -> Object:
    return {"group": resource.group, "kind": kind, "version": resource.version}


def _published(resource: Resource) -> Object:
    """The schema of a version of a CRD, with what every object has."""
    assert resource.definition is not None
    versions = resource.definition["spec"]["versions"]
    version = next(v for v in versions if v["name"] == resource.version)
    declared = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    schema: Object = _plain(declared)
    schema["properties"] = _of_an_object(schema)
    return schema


def _of_an_object(schema: Object) -> Object:
    """The properties of what is an object of its own; those that all have are not for declaring."""
    return {
        **schema.get("properties", {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": f"{REF}{META}ObjectMeta"}]},
    }


def _plain(schema: Any) -> Any:
    """A CRD's schema in the words of OpenAPI v3; what it says in Kubernetes' own is spelled out."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(value) for key, value in schema.items()}
    if plain.get("x-kubernetes-int-or-string") is True and "anyOf" not in plain:
        plain["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    if plain.get("x-kubernetes-embedded-resource") is True:
        plain["properties"] = _of_an_object(plain)
        required = plain.get("required", [])
        named = [name for name in ("kind", "apiVersion") if name not in required]
        plain["required"] = [*required, *named]
    return plain
