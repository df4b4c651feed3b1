"""An OpenAPI v2 document as the protobuf message that Go clients read.

In: the document as a dict. Out: bytes. The message is that of the package openapi.v2 which clients
are generated from; here are the numbers of those of its fields that a document of ours has. What
the message has no field for, and every extension, goes along as JSON by its name.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

Write = Callable[[int, Any], bytes]  # (number of the field, its value) -> the field
Fields = Mapping[str, tuple[int, Write]]


def encode(document: Mapping[str, Any]) -> bytes:
    """The whole document."""
    return _fields(document, _DOCUMENT, 16)


def _varint(number: int) -> bytes:
    found = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _framed(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, value: str) -> bytes:
    return _framed(number, value.encode())


def _flag(number: int, value: bool) -> bytes:  # noqa: FBT001 (a field like any other)
    return _varint(number << 3) + b"\x01" if value else b""


def _whole(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _real(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    """A value of any kind: YAML, of which JSON is a part."""
    return _framed(number, _framed(2, orjson.dumps(value)))


def _each(write: Write) -> Write:
    def several(number: int, values: Iterable[Any]) -> bytes:
        return b"".join(write(number, value) for value in values)

    return several


def _message(fields: Fields, extensions: int) -> Write:
    return lambda number, value: _framed(number, _fields(value, fields, extensions))


def _within(write: Write, inner: int = 1) -> Write:
    """A message of which one field is the value."""
    return lambda number, value: _framed(number, write(inner, value))


def _named(write: Write, inner: int = 1) -> Write:
    """A message of names and values, from a dict."""

    def entries(number: int, values: Mapping[str, Any]) -> bytes:
        found = (_framed(inner, _text(1, name) + write(2, each)) for name, each in values.items())
        return _framed(number, b"".join(found))

    return entries


def _fields(value: Mapping[str, Any], fields: Fields, extensions: int) -> bytes:
    found = []
    for key, each in value.items():
        if key in fields:
            number, write = fields[key]
            found.append(write(number, each))
        elif key.startswith("x-"):
            found.append(_framed(extensions, _text(1, key) + _any(2, each)))
    return b"".join(found)


def _schema(number: int, value: Mapping[str, Any]) -> bytes:
    return _framed(number, _fields(value, _SCHEMA, 31))


def _additional(number: int, value: Any) -> bytes:
    return _framed(number, _flag(2, value) if isinstance(value, bool) else _schema(1, value))


_DOCS: Fields = {"description": (1, _text), "url": (2, _text)}
_SCHEMA: Fields = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "multipleOf": (6, _real),
    "maximum": (7, _real),
    "exclusiveMaximum": (8, _flag),
    "minimum": (9, _real),
    "exclusiveMinimum": (10, _flag),
    "maxLength": (11, _whole),
    "minLength": (12, _whole),
    "pattern": (13, _text),
    "maxItems": (14, _whole),
    "minItems": (15, _whole),
    "uniqueItems": (16, _flag),
    "maxProperties": (17, _whole),
    "minProperties": (18, _whole),
    "required": (19, _each(_text)),
    "enum": (20, _each(_any)),
    "additionalProperties": (21, _additional),
    "type": (22, _within(_text)),
    "items": (23, _within(_schema)),
    "properties": (25, _named(_schema)),
    "externalDocs": (29, _message(_DOCS, 3)),
    "example": (30, _any),
}
_BODY: Fields = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _flag),
    "schema": (5, _schema),
}
_QUERY: Fields = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _flag),
}
_IN_PATH: Fields = {
    "required": (1, _flag),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _flag),
}


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    match value["in"]:
        case "body":
            found = _framed(1, _fields(value, _BODY, 6))
        case "path":
            found = _framed(2, _framed(4, _fields(value, _IN_PATH, 22)))
        case _:
            found = _framed(2, _framed(3, _fields(value, _QUERY, 23)))
    return _framed(number, _framed(1, found))


_RESPONSE: Fields = {"description": (1, _text), "schema": (2, _within(_schema))}
_OPERATION: Fields = {
    "tags": (1, _each(_text)),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _each(_text)),
    "consumes": (7, _each(_text)),
    "parameters": (8, _each(_parameter)),
    "responses": (9, _named(_within(_message(_RESPONSE, 5)))),
    "schemes": (10, _each(_text)),
}
_ITEM: Fields = {
    "get": (2, _message(_OPERATION, 13)),
    "put": (3, _message(_OPERATION, 13)),
    "post": (4, _message(_OPERATION, 13)),
    "delete": (5, _message(_OPERATION, 13)),
    "patch": (8, _message(_OPERATION, 13)),
    "parameters": (9, _each(_parameter)),
}
_KEY: Fields = {"type": (1, _text), "name": (2, _text), "in": (3, _text), "description": (4, _text)}
_DOCUMENT: Fields = {
    "swagger": (1, _text),
    "info": (2, _message({"title": (1, _text), "version": (2, _text)}, 7)),
    "paths": (8, _named(_message(_ITEM, 10), 2)),
    "definitions": (9, _named(_schema)),
    "security": (12, _each(_named(_within(_each(_text))))),
    "securityDefinitions": (13, _named(_within(_message(_KEY, 5), 2))),
}
