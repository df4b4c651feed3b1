"""Protobuf messages as plain dictionaries, by a table of their fields.

Made of text, bytes, whole numbers, messages, lists, and maps of text. What is at its default is not
written; fields that no table names are passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from atoll.errors import Malformed
from atoll.protobuf import reading, writing
from atoll.wire import Wire

Plain = str  # "text", "bytes" or "number"


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of these."""

    of: "Plain | Table"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A map from text to these."""

    to: "Plain | Table"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The fields of a message by number: the name each has in the dictionary, and what it is."""

    fields: Mapping[int, tuple[str, "Plain | Listed | Mapped | Table"]]


def encode(message: Mapping[str, Any], table: Table) -> bytes:
    """A message as bytes; keys that the table does not name are left out."""
    pieces = []
    for number, (name, kind) in table.fields.items():
        value = message.get(name)
        if isinstance(kind, Listed):
            pieces += [_field(number, each, kind.of) for each in value or ()]
        elif isinstance(kind, Mapped):
            entry = Table({1: ("key", "text"), 2: ("value", kind.to)})
            for key, each in (value or {}).items():
                pieces.append(_field(number, {"key": key, "value": each}, entry))
        elif value is not None and (value or isinstance(kind, Table)):
            pieces.append(_field(number, value, kind))
    return b"".join(pieces)


def _field(number: int, value: Any, kind: Plain | Table) -> bytes:
    if isinstance(kind, Table):
        return writing.framed(number, encode(value, kind))
    return _WRITE[kind](number, value)


_WRITE: Mapping[Plain, writing.Write] = {
    "number": writing.whole,
    "text": writing.text,
    "bytes": writing.framed,
}


def decode(data: bytes, table: Table) -> Wire:
    """The message that these bytes are; Malformed if they are none."""
    found: Wire = {}
    reading.fill(_message(table), found, data, 0, len(data))
    return found


@cache
def _message(table: Table) -> reading.Message:
    message = reading.Message("message")
    for number, (name, kind) in table.fields.items():
        if kind == "number":
            message.on_number(number, name, reading.keep_number(name, reading.int64))
        elif isinstance(kind, Listed):
            message.on_range(number, name, reading.collect(name, _reader(kind.of)))
        elif isinstance(kind, Mapped):
            message.on_range(number, name, reading.entries(name, _text, _reader(kind.to)))
        else:
            message.on_range(number, name, reading.keep(name, _reader(kind)))
    return message


def _reader(kind: Plain | Table) -> reading.ReadRange:
    if isinstance(kind, Table):
        return reading.read_by(lambda: _message(kind))
    return {"text": _text, "bytes": reading.raw}[kind]


def _text(data: bytes, start: int, stop: int) -> str:
    try:
        return data[start:stop].decode()
    except UnicodeDecodeError as error:
        raise Malformed("text is no UTF-8") from error
