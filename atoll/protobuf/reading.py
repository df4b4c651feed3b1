"""Protobuf's wire format: bytes to numbered fields, each handed to whoever wants it.

In: bytes and the range in them that is one message. Out: calls of the message's stores, which put
what they read into a dict. Fields that nobody wants are passed over. What is wrong with the bytes
raises Malformed in the words of Kubernetes' generated decoders. No field's meaning is known here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from atoll.errors import Malformed
from atoll.wire import Wire

StoreNumber = Callable[[Wire, int], None]
StoreRange = Callable[[Wire, bytes, int, int], None]  # what is between two places in the bytes
ReadNumber = Callable[[int], int | bool]
ReadRange = Callable[[bytes, int, int], Any]

VARINT, FIXED64, RANGE, GROUP, END_GROUP, FIXED32 = range(6)
_FIXED = {FIXED64: 8, FIXED32: 4}
_EOF = "unexpected EOF"


@dataclass(frozen=True, slots=True)
class Message:
    """How to read a message: what to do with each field, by tag (its number and wire type)."""

    name: str
    numbers: dict[int, StoreNumber] = field(default_factory=dict)
    ranges: dict[int, StoreRange] = field(default_factory=dict)
    doubles: dict[int, StoreRange] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)  # of fields, by number

    def on_number(self, number: int, name: str, store: StoreNumber) -> None:
        self.names[number] = name
        self.numbers[number << 3 | VARINT] = store

    def on_range(self, number: int, name: str, store: StoreRange) -> None:
        self.names[number] = name
        self.ranges[number << 3 | RANGE] = store

    def on_double(self, number: int, name: str, store: StoreRange) -> None:
        self.names[number] = name
        self.doubles[number << 3 | FIXED64] = store


def fill(message: Message, result: Wire, data: bytes, at: int, end: int) -> None:
    """Read a message into `result`, in place; what is there already is added to, as in Go."""
    ranges, numbers = message.ranges, message.numbers
    while at < end:
        tag = data[at]
        at += 1
        if tag > 0x7F:
            tag, at = _long_tag(data, at - 1, end)
        store = ranges.get(tag)
        if store is not None:
            # Most lengths and numbers are one byte; a call for each would be most of the work.
            if at < end and (length := data[at]) < 0x80 and (stop := at + 1 + length) <= end:
                at += 1
            else:
                at, stop = _range(data, at, end)
            store(result, data, at, stop)
            at = stop
            continue
        store_number = numbers.get(tag)
        if store_number is not None:
            if at < end and (value := data[at]) < 0x80:
                at += 1
            else:
                value, at = varint(data, at, end)
            store_number(result, value)
            continue
        at = _other(message, result, data, at, tag=tag, end=end)


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number that starts here, and the place after it; bits beyond 64 are lost, as in Go."""
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift >= 64:
            raise Malformed("proto: integer overflow")
    raise Malformed(_EOF)


def _long_tag(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A tag of several bytes; of its number only 32 bits count."""
    tag, at = varint(data, at, end)
    return tag & 0x7_FFFF_FFFF, at


def _range(data: bytes, at: int, end: int) -> tuple[int, int]:
    """From where to where the bytes go whose length is said here."""
    length, at = varint(data, at, end)
    stop = at + length
    if stop >> 63:
        raise Malformed("proto: negative length found during unmarshaling")
    if stop > end:
        raise Malformed(_EOF)
    return at, stop


def _other(message: Message, result: Wire, data: bytes, at: int, *, tag: int, end: int) -> int:
    """Deal with a field that is rare, unknown or wrong; the place after it."""
    number, wire_type = tag >> 3, tag & 7
    if wire_type == END_GROUP:
        raise Malformed(f"proto: {message.name}: wiretype end group for non-group")
    if number == 0 or number >> 31:
        signed = number - (number >> 31 << 32)
        raise Malformed(f"proto: {message.name}: illegal tag {signed} (wire type {tag})")
    store = message.doubles.get(tag)
    if store is None and number in message.names:
        name = message.names[number]
        raise Malformed(f"proto: wrong wireType = {wire_type} for field {name}")
    stop = _after(wire_type, data, at, end)
    if store is not None:
        store(result, data, at, stop)
    return stop


def _after(wire_type: int, data: bytes, at: int, end: int) -> int:
    """The place after a field of which only the wire type is known."""
    depth = 0
    while True:
        match wire_type:
            case 0:
                _, at = varint(data, at, end)
            case 1 | 5:
                at += _FIXED[wire_type]
            case 2:
                _, at = _range(data, at, end)
            case 3:
                depth += 1
            case 4:
                depth -= 1
            case _:
                raise Malformed(f"proto: illegal wireType {wire_type}")
        if at > end:
            raise Malformed(_EOF)
        if depth == 0:
            return at
        tag, at = varint(data, at, end)
        wire_type = tag & 7


def int32(value: int) -> int:
    return ((value & 0xFFFF_FFFF) ^ 0x8000_0000) - 0x8000_0000


def int64(value: int) -> int:
    return value - (value >> 63 << 64)


def boolean(value: int) -> bool:
    return value != 0


def packed(read: ReadNumber) -> ReadRange:
    """A list of numbers in one range, which newer encoders write."""

    def read_all(data: bytes, start: int, stop: int) -> list[int]:
        numbers = []
        while start < stop:
            value, start = varint(data, start, stop)
            numbers.append(read(value))
        return numbers

    return read_all


def keep_number(name: str, read: ReadNumber, *, zero: bool = True) -> StoreNumber:
    """A store of the field's number; of its zero only if told so."""

    def store(result: Wire, value: int) -> None:
        number = read(value)
        if number or zero:
            result[name] = number
        else:
            result.pop(name, None)

    return store


def keep(name: str, read: ReadRange, *, zero: bool = True) -> StoreRange:
    """A store of the field's value; of an empty one only if told so."""

    def store(result: Wire, data: bytes, start: int, stop: int) -> None:
        value = read(data, start, stop)
        if value or zero:
            result[name] = value
        else:
            result.pop(name, None)

    return store


def collect(name: str, read: ReadRange) -> StoreRange:
    """A store that adds to the field's list."""

    def store(result: Wire, data: bytes, start: int, stop: int) -> None:
        value = read(data, start, stop)
        known = result.get(name)
        if known is None:
            result[name] = [value]
        else:
            known.append(value)

    return store


def raw(data: bytes, start: int, stop: int) -> bytes:
    return data[start:stop]


def filled(message: Message, data: bytes, start: int, stop: int) -> Wire:
    """A message by itself."""
    result: Wire = {}
    fill(message, result, data, start, stop)
    return result


def read_by(message: Callable[[], Message]) -> ReadRange:
    """A message, of which it is known how to read it when it is there."""
    return lambda data, start, stop: filled(message(), data, start, stop)


def nested(name: str, message: Callable[[], Message]) -> StoreRange:
    """A message in a field; said again, it adds to what was said before."""

    def store(result: Wire, data: bytes, start: int, stop: int) -> None:
        inner = result.setdefault(name, {})
        if start < stop:
            fill(message(), inner, data, start, stop)

    return store


def entries(name: str, read_key: ReadRange, read: ReadRange) -> StoreRange:
    """A map, which is a list of messages of a key and a value."""
    entry = Message("Entry")
    entry.on_range(1, "Key", keep("key", read_key))
    entry.on_range(2, "Value", keep("value", read))

    def store(result: Wire, data: bytes, start: int, stop: int) -> None:
        found = filled(entry, data, start, stop)
        value = found["value"] if "value" in found else read(b"", 0, 0)
        result.setdefault(name, {})[found.get("key", "")] = value

    return store
