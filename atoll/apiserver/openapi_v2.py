"""OpenAPI v2 from OpenAPI v3: the same paths and schemas in the older words.

In: documents of single versions as `openapi` builds them. Out: one document of all of them, as a
dict. The older language knows neither nullable values nor alternatives; where a custom kind uses
them, less is said about it, as Kubernetes does, so that no client refuses what the server takes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from atoll.wire import Wire

_V3_REF = "#/components/schemas/"
_V2_REF = "#/definitions/"
_GVKS = "x-kubernetes-group-version-kind"
_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_TYPE_META = ("apiVersion", "kind")
_METHODS = frozenset(["get", "put", "post", "delete", "patch"])
_LEFT_OUT = frozenset(["allOf", "anyOf", "oneOf", "not", "default", "nullable"])
# Kinds of Go whose JSON is a string or a number, for which the older language has no word.
_STRINGS = frozenset(
    [
        "io.k8s.apimachinery.pkg.api.resource.Quantity",
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    ]
)


def swagger(documents: Iterable[Wire], kubernetes: str) -> Wire:
    """One OpenAPI v2 document of the v3 documents of all versions."""
    paths: Wire = {}
    definitions: Wire = {}
    for document in documents:
        for path, item in document["paths"].items():
            paths[path] = _path(item)
        for name, schema in document["components"]["schemas"].items():
            known = definitions.get(name)
            if known is None:
                definitions[name] = _definition(name, schema)
            elif _GVKS in schema:
                # Kinds that every group has (DeleteOptions) are there once, with all their groups.
                more = [gvk for gvk in schema[_GVKS] if gvk not in known[_GVKS]]
                definitions[name] = known | {_GVKS: [*known[_GVKS], *more]}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": kubernetes},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
        "securityDefinitions": {
            "BearerToken": {
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
                "description": "Bearer Token authentication",
            }
        },
        "security": [{"BearerToken": []}],
    }


def _definition(name: str, schema: Wire) -> Wire:
    if name in _STRINGS:
        return {"type": "string", **{k: v for k, v in schema.items() if k not in _LEFT_OUT}}
    if schema.get(_UNKNOWN) is True and _GVKS in schema:
        # Nothing more may be said of it: clients take what is not named for forbidden.
        return {"type": "object", _GVKS: schema[_GVKS]}
    return _schema(schema)


def _schema(schema: Wire) -> Wire:
    """A schema in the older words."""
    found = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    reference = _reference(schema)
    if reference is not None:
        found["$ref"] = reference.replace(_V3_REF, _V2_REF)
        return found
    if schema.get("nullable") is True:
        for key in ("type", "items", "properties"):
            found.pop(key, None)
    if schema.get(_UNKNOWN) is True:
        _open(found)
    if found.get("type") == "array" and "items" not in found:
        del found["type"]
    if "properties" in found:
        found["properties"] = {name: _schema(each) for name, each in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _schema(schema[key])
    return _less_required(found, schema)


def _reference(schema: Wire) -> str | None:
    """Where a schema points, plainly or (where the use adds something) in allOf."""
    plain = schema.get("$ref")
    if plain is None and len(schema.get("allOf", ())) == 1:
        plain = schema["allOf"][0].get("$ref")
    return plain if isinstance(plain, str) else None


def _open(found: Wire) -> None:
    """Say nothing of the fields of a value that may have others."""
    if found.get(_EMBEDDED) is True:
        # That it is an object was said by naming the fields that all objects have.
        named = [name for name in found.get("required", ()) if name not in _TYPE_META]
        found.pop("required", None)
        if named:
            found["required"] = named
    if found.get("type") in ("object", "array"):
        del found["type"]
    found.pop("items", None)
    found.pop("properties", None)


def _less_required(found: Wire, schema: Wire) -> Wire:
    """Without the demand for fields that may be null, which is not the same as absent."""
    if "required" not in found:
        return found
    fields: Mapping[str, Any] = schema.get("properties") or {}
    required = [
        name for name in found["required"] if (fields.get(name) or {}).get("nullable") is not True
    ]
    kept = {key: value for key, value in found.items() if key != "required"}
    return kept | ({"required": required} if required else {})


def _path(item: Wire) -> Wire:
    found = {method: _operation(item[method]) for method in item if method in _METHODS}
    return found | {"parameters": [_parameter(each) for each in item["parameters"]]}


def _operation(operation: Wire) -> Wire:
    body = operation.get("requestBody")
    found = {k: v for k, v in operation.items() if k not in ("requestBody", "parameters")}
    found["consumes"] = ["*/*"] if body is None else _consumed(body)
    found["produces"] = _produced(operation["responses"])
    found["schemes"] = ["https"]
    parameters = [_parameter(each) for each in operation.get("parameters", ())]
    if body is not None:
        parameters.insert(0, _body(body))
    found["parameters"] = parameters
    found["responses"] = {
        code: _answer(response) for code, response in operation["responses"].items()
    }
    return found


def _consumed(body: Wire) -> list[str]:
    types = list(body["content"])
    return types if any("patch" in each for each in types) else ["*/*"]


def _produced(responses: Wire) -> list[str]:
    answer: Wire = responses.get("200") or responses.get("201") or {}
    return list(answer.get("content", ()))


def _body(body: Wire) -> Wire:
    schema = next(iter(body["content"].values()))["schema"]
    required = {"required": True} if body.get("required") else {}
    return {"name": "body", "in": "body", **required, "schema": _schema(schema)}


def _answer(response: Wire) -> Wire:
    content = response.get("content")
    if content is None:
        return response
    schema = next(iter(content.values()))["schema"]
    return {"description": response["description"], "schema": _schema(schema)}


def _parameter(parameter: Wire) -> Wire:
    kept = {key: value for key, value in parameter.items() if key != "schema"}
    return {**kept, **parameter["schema"]}
