"""Protobuf messages as plain dictionaries, by a table of their fields. Pure.

Only what the estimator's messages are made of: text, bytes, whole numbers, messages, lists and maps
of text. What is at its default is not written; fields that no table names are passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atoll.errors import AtollError

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_64_BITS = 1 << 64

Object = Mapping[str, Any]
Plain = str  # "text", "bytes" or "number"


class Malformed(AtollError):
    """The bytes are not such a message."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of these."""

    of: "Kind"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A map from text to these."""

    to: "Kind"


Table = Mapping[int, tuple[str, "Kind"]]
"""The fields of a message by number: the name each has in the dictionary, and what it is."""

Kind = Plain | Listed | Mapped | Table


def encode(message: Object, table: Table) -> bytes:
    """A message as bytes; keys that the table does not name are left out."""
    pieces = []
    for number, (name, kind) in table.items():
        value = message.get(name)
        if isinstance(kind, Listed):
            pieces += [_field(number, each, kind.of) for each in value or ()]
        elif isinstance(kind, Mapped):
            entry = {1: ("key", "text"), 2: ("value", kind.to)}
            for key, each in (value or {}).items():
                pieces.append(_field(number, {"key": key, "value": each}, entry))
        elif value is not None and (value or isinstance(kind, Mapping)):
            pieces.append(_field(number, value, kind))
    return b"".join(pieces)


def _field(number: int, value: Any, kind: Kind) -> bytes:
    if kind == "number":
        return _varint(number << 3 | _VARINT) + _varint(value % _64_BITS)
    content: bytes = value
    if kind == "text":
        content = value.encode()
    elif isinstance(kind, Mapping):
        content = encode(value, kind)
    return _varint(number << 3 | _LENGTH) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def decode(data: bytes, table: Table) -> dict[str, Any]:
    """The message that these bytes are; Malformed if they are none."""
    message: dict[str, Any] = {}
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        value, at = _value(data, at, tag & 7)
        if tag >> 3 not in table:
            continue
        name, kind = table[tag >> 3]
        if isinstance(kind, Listed):
            message.setdefault(name, []).append(_read(value, kind.of, name))
        elif isinstance(kind, Mapped):
            entry = _read(value, {1: ("key", "text"), 2: ("value", kind.to)}, name)
            message.setdefault(name, {})[entry.get("key", "")] = entry.get("value") or _empty(kind)
        else:
            message[name] = _read(value, kind, name)
    return message


def _empty(kind: Mapped) -> Any:
    return {} if isinstance(kind.to, Mapping) else "" if kind.to == "text" else b""


def _read(value: int | bytes, kind: Kind, name: str) -> Any:
    if isinstance(value, int):
        if kind != "number":
            raise Malformed(f"{name} is a number")
        return value - _64_BITS if value >> 63 else value
    if kind == "bytes":
        return value
    if isinstance(kind, Mapping):
        return decode(value, kind)
    if kind != "text":
        raise Malformed(f"{name} is no number")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"{name} is no text") from error


def _value(data: bytes, at: int, wire_type: int) -> tuple[int | bytes, int]:
    if wire_type == _VARINT:
        return _number(data, at)
    if wire_type == _LENGTH:
        length, at = _number(data, at)
    elif wire_type in _FIXED:
        length = _FIXED[wire_type]
    else:
        raise Malformed(f"there is no wire type {wire_type}")
    if at + length > len(data):
        raise Malformed("it ends too early")
    return data[at : at + length], at + length


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise Malformed("it ends too early")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _64_BITS, at
    raise Malformed("a number is too long")
