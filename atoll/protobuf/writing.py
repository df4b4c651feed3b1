"""Fields of protobuf messages as bytes: each has a number, and a way to write its value."""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Write = Callable[[int, Any], bytes]  # (number of the field, its value) -> the field


def varint(number: int) -> bytes:
    found = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def framed(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def text(number: int, value: str) -> bytes:
    return framed(number, value.encode())


def flag(number: int, value: bool) -> bytes:  # noqa: FBT001 (a field like any other)
    return varint(number << 3) + b"\x01" if value else b""


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def real(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def each(write: Write) -> Write:
    """A list: the field once for each value."""

    def several(number: int, values: Iterable[Any]) -> bytes:
        return b"".join(write(number, value) for value in values)

    return several


def within(write: Write, inner: int = 1) -> Write:
    """A message of which one field is the value."""
    return lambda number, value: framed(number, write(inner, value))


def named(write: Write, inner: int = 1) -> Write:
    """A message of names and values, from a dict."""

    def entries(number: int, values: Mapping[str, Any]) -> bytes:
        found = (framed(inner, text(1, name) + write(2, value)) for name, value in values.items())
        return framed(number, b"".join(found))

    return entries
