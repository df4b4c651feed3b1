"""The small values of protobuf messages as JSON has them: texts, numbers, times, amounts.

In: a varint, or a range of bytes. Out: the value that a JSON client would have sent. Messages that
JSON writes as something other than an object (a time, an amount, raw JSON) are read here too.
"""

import re
import struct
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

from atoll.apiserver.bodies.json_text import read_json
from atoll.errors import Malformed
from atoll.protobuf.reading import Message, collect, filled, int32, int64, keep, keep_number, raw

_broken = re.compile("[\udc80-\udcff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def text(data: bytes, start: int, stop: int) -> str:
    """A string; as in Go's JSON, each byte that is no UTF-8 becomes U+FFFD."""
    try:
        return str(data[start:stop], "utf-8")
    except UnicodeDecodeError:
        return _broken.sub("\ufffd", str(data[start:stop], "utf-8", "surrogateescape"))


def binary(data: bytes, start: int, stop: int) -> str:
    return b64encode(data[start:stop]).decode()


def double(data: bytes, start: int, stop: int) -> float:
    number: float = struct.unpack("<d", data[start:stop])[0]
    if number - number != 0:  # neither infinite nor no number at all
        name = "NaN" if number != number else "+Inf" if number > 0 else "-Inf"
        raise Malformed(f"json: unsupported value: {name}")
    return number


_TIMESTAMP = Message("Timestamp")
_TIMESTAMP.on_number(1, "Seconds", keep_number("seconds", int64))
_TIMESTAMP.on_number(2, "Nanos", keep_number("nanos", int32))
_INT_OR_STRING = Message("IntOrString")
_INT_OR_STRING.on_number(1, "Type", keep_number("type", int64))
_INT_OR_STRING.on_number(2, "IntVal", keep_number("number", int32))
_INT_OR_STRING.on_range(3, "StrVal", keep("text", text))
_QUANTITY = Message("Quantity")
_QUANTITY.on_range(1, "String_", keep("text", text))
_RAW = Message("RawExtension")
_RAW.on_range(1, "Raw", keep("raw", raw))
_STRINGS = Message("Items")
_STRINGS.on_range(1, "Items", collect("items", text))


def time(data: bytes, start: int, stop: int) -> str | None:
    """A time to the second; Go writes an empty message, and in JSON null, where there is none."""
    if start == stop:
        return None
    seconds = filled(_TIMESTAMP, data, start, stop).get("seconds", 0)
    return _moment(seconds, 0)[:19] + "Z"


def micro_time(data: bytes, start: int, stop: int) -> str | None:
    if start == stop:
        return None
    stamp = filled(_TIMESTAMP, data, start, stop)
    return _moment(stamp.get("seconds", 0), int(stamp.get("nanos", 0) / 1000))[:26] + "Z"


def _moment(seconds: int, microseconds: int) -> str:
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise Malformed(f"the time {seconds} s is beyond the years 1 to 9999") from None
    return moment.isoformat(timespec="microseconds")


def int_or_string(data: bytes, start: int, stop: int) -> int | str:
    found = filled(_INT_OR_STRING, data, start, stop)
    if found.get("type", 0) == 0:
        number: int = found.get("number", 0)
        return number
    if found["type"] == 1:
        said: str = found.get("text", "")
        return said
    raise Malformed("impossible IntOrString.Type")


def quantity(data: bytes, start: int, stop: int) -> str:
    amount: str = filled(_QUANTITY, data, start, stop).get("text", "0")
    return amount


def raw_json(data: bytes, start: int, stop: int) -> Any:
    """Any JSON, carried as text; no text at all is null."""
    written = filled(_RAW, data, start, stop).get("raw")
    return read_json(written) if written else None


def strings(data: bytes, start: int, stop: int) -> list[str]:
    """A list of strings that is a message of its own."""
    items: list[str] = filled(_STRINGS, data, start, stop).get("items", [])
    return items
