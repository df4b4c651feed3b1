"""A CRD's openAPIV3Schema as our Schema: the shape that pruning, defaults and patches go by.

In: the schema as JSON, known to be structural (`structure_rules`). Out: a tree of Schema nodes. The
rules about values (minimum, pattern, …) are not part of a shape; `validating` compiles those.
"""

from atoll.apiserver.schemas import facts
from atoll.apiserver.schemas.pruning import UNSPECIFIED
from atoll.apiserver.schemas.schema import ListType, Schema, Type
from atoll.wire import Wire

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_SCALARS: dict[str, Type] = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}


def object_meta() -> Schema:
    """The shape of every object's metadata."""
    return facts.load().schema(_OBJECT_META)


def root_schema(schema: Wire, kind: str) -> Schema:
    """The shape of a custom resource: what its CRD says, and what every object has."""
    root = structural_schema({**schema, "x-kubernetes-embedded-resource": True})
    root.name = kind
    return root


def structural_schema(schema: Wire) -> Schema:
    """The shape of a value inside a custom resource."""
    node = Schema(_type(schema), format=str(schema.get("format", "")))
    node.required = tuple(schema.get("required") or ())
    node.nullable = schema.get("nullable") is True
    node.preserve_unknown = schema.get("x-kubernetes-preserve-unknown-fields") is True
    node.embedded = schema.get("x-kubernetes-embedded-resource") is True
    node.atomic = schema.get("x-kubernetes-map-type") == "atomic"
    if schema.get("default") is not None:
        node.default = schema["default"]
    if node.type == "list":
        _fill_list(node, schema)
    elif node.type in ("object", "map"):
        _fill_object(node, schema)
    return node


def _type(schema: Wire) -> Type:
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string") is True:
        return "int-or-string"
    if kind == "array":
        return "list"
    if kind in _SCALARS:
        return _SCALARS[kind]
    if schema.get("properties") or schema.get("x-kubernetes-embedded-resource") is True:
        return "object"
    if schema.get("additionalProperties") is not None:
        return "map"
    return "object" if kind == "object" else "any"


def _fill_list(node: Schema, schema: Wire) -> None:
    items = schema.get("items")
    node.element = structural_schema(items) if isinstance(items, dict) else Schema("any")
    list_type: ListType = schema.get("x-kubernetes-list-type") or "atomic"
    node.list_type = list_type
    node.list_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())


def _fill_object(node: Schema, schema: Wire) -> None:
    for key, child in (schema.get("properties") or {}).items():
        node.fields[key] = structural_schema(child)
    rest = schema.get("additionalProperties")
    if isinstance(rest, dict):
        node.element = structural_schema(rest)
    elif rest is not None:
        # Also if it is false: pruning keeps such fields, and validation then refuses them.
        node.element = UNSPECIFIED
    if node.embedded:
        node.fields.setdefault("apiVersion", Schema("string"))
        node.fields.setdefault("kind", Schema("string"))
        # The CRD may restrict the name, but what metadata is, it does not say.
        node.fields["metadata"] = object_meta()
