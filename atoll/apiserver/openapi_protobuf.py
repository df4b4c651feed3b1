"""An OpenAPI v2 document as the protobuf message that Go clients read.

In: the document as a dict. Out: bytes. The message is that of the package openapi.v2 which clients
are generated from; here are the numbers of those of its fields that a document of ours has. What
the message has no field for, and every extension, goes along as JSON by its name.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from atoll.protobuf.writing import Write, each, flag, framed, named, real, text, whole, within

Fields = Mapping[str, tuple[int, Write]]


def encode(document: Mapping[str, Any]) -> bytes:
    """The whole document."""
    return _fields(document, _DOCUMENT, 16)


def _any(number: int, value: Any) -> bytes:
    """A value of any kind: YAML, of which JSON is a part."""
    return framed(number, framed(2, orjson.dumps(value)))


def _message(fields: Fields, extensions: int) -> Write:
    return lambda number, value: framed(number, _fields(value, fields, extensions))


def _fields(value: Mapping[str, Any], fields: Fields, extensions: int) -> bytes:
    found = []
    for key, there in value.items():
        if key in fields:
            number, write = fields[key]
            found.append(write(number, there))
        elif key.startswith("x-"):
            found.append(framed(extensions, text(1, key) + _any(2, there)))
    return b"".join(found)


def _schema(number: int, value: Mapping[str, Any]) -> bytes:
    return framed(number, _fields(value, _SCHEMA, 31))


def _additional(number: int, value: Any) -> bytes:
    return framed(number, flag(2, value) if isinstance(value, bool) else _schema(1, value))


def _all(write: Write, numbers: Mapping[str, int]) -> Fields:
    """Fields that are all written alike."""
    return {name: (number, write) for name, number in numbers.items()}


_DOCS: Fields = {"description": (1, text), "url": (2, text)}
_SCHEMA: Fields = {
    **_all(text, {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}),
    **_all(real, {"multipleOf": 6, "maximum": 7, "minimum": 9}),
    **_all(flag, {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}),
    **_all(whole, {"maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15}),
    **_all(whole, {"maxProperties": 17, "minProperties": 18}),
    **_all(_any, {"default": 5, "example": 30}),
    "required": (19, each(text)),
    "enum": (20, each(_any)),
    "additionalProperties": (21, _additional),
    "type": (22, within(text)),
    "items": (23, within(_schema)),
    "properties": (25, named(_schema)),
    "externalDocs": (29, _message(_DOCS, 3)),
}
_BODY: Fields = {
    **_all(text, {"description": 1, "name": 2, "in": 3}),
    "required": (4, flag),
    "schema": (5, _schema),
}
_PLAIN: Fields = {"required": (1, flag), **_all(text, {"in": 2, "description": 3, "name": 4})}
_QUERY: Fields = {**_PLAIN, "type": (6, text), "uniqueItems": (20, flag)}
_IN_PATH: Fields = {**_PLAIN, "type": (5, text), "uniqueItems": (19, flag)}


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    match value["in"]:
        case "body":
            found = framed(1, _fields(value, _BODY, 6))
        case "path":
            found = framed(2, framed(4, _fields(value, _IN_PATH, 22)))
        case _:
            found = framed(2, framed(3, _fields(value, _QUERY, 23)))
    return framed(number, framed(1, found))


_RESPONSE: Fields = {"description": (1, text), "schema": (2, within(_schema))}
_OPERATION: Fields = {
    **_all(text, {"description": 3, "operationId": 5}),
    **_all(each(text), {"tags": 1, "produces": 6, "consumes": 7, "schemes": 10}),
    "parameters": (8, each(_parameter)),
    "responses": (9, named(within(_message(_RESPONSE, 5)))),
}
_ITEM: Fields = {
    **_all(_message(_OPERATION, 13), {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}),
    "parameters": (9, each(_parameter)),
}
_KEY: Fields = {"type": (1, text), "name": (2, text), "in": (3, text), "description": (4, text)}
_DOCUMENT: Fields = {
    "swagger": (1, text),
    "info": (2, _message({"title": (1, text), "version": (2, text)}, 7)),
    "paths": (8, named(_message(_ITEM, 10), 2)),
    "definitions": (9, named(_schema)),
    "security": (12, each(named(within(each(text))))),
    "securityDefinitions": (13, named(within(_message(_KEY, 5), 2))),
}
