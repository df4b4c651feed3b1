"""Operators, and conversions between types."""

import math
from itertools import permutations
from typing import Any

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import Failed
from atoll.apiserver.cel.library import times
from atoll.apiserver.cel.values import (
    INT_MAX,
    INT_MIN,
    NOTHING,
    UINT_MAX,
    Frame,
    Optional,
    TypeValue,
    UInt,
    contains,
    equal,
    int_or_fail,
    less,
    merged,
    type_name,
    uint_or_fail,
    unconvertible,
)
from atoll.apiserver.fields.error import shown_number

_NANOS = 1_000_000_000
_SIZED = ("string", "bytes", "list(A)", "map(A, B)")
_COMPARABLE = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")


def _quotient(one: int, other: int) -> int:
    if other == 0:
        raise Failed("division by zero")
    found = abs(one) // abs(other)
    return found if (one < 0) == (other < 0) else -found


def _rest(one: int, other: int) -> int:
    if other == 0:
        raise Failed("modulus by zero")
    return one - other * _quotient(one, other)


def _float_quotient(_: Frame, one: float, other: float) -> float:
    if other != 0:
        return one / other
    return math.nan if one == 0 or math.isnan(one) else math.copysign(math.inf, one * other or one)


def _joined(frame: Frame, one: Any, other: Any) -> Any:
    frame.pay((len(one) + len(other)) // 10)
    return one + other


def _item(_: Frame, items: list[Any], index: Any) -> Any:
    place = _place(index)
    if not 0 <= place < len(items):
        raise Failed(f"index out of bounds: {place}")
    return items[place]


def _place(index: Any) -> int:
    if isinstance(index, float):
        if not index.is_integer():
            raise Failed(f"unsupported index value {shown_number(index)} in list")
        return int(index)
    if index.__class__ not in (int, UInt):
        raise Failed(f"unsupported index type '{type_name(index)}' in list")
    return int(index)


def key_of(key: Any) -> Any:
    """A key as maps hold it: whole numbers of all types are one."""
    if isinstance(key, float) and key.is_integer():
        return int(key)
    return int(key) if isinstance(key, UInt) else key


def _entry(_: Frame, entries: dict[Any, Any], key: Any) -> Any:
    found = key_of(key)
    if found.__class__ not in (str, int, bool, float):
        raise Failed(f"unsupported key type: {type_name(key)}")
    if not _has_key(entries, found):
        raise Failed(f"no such key: {_key_text(key)}")
    return entries[found]


def _has_key(entries: dict[Any, Any], key: Any) -> bool:
    if key.__class__ not in (str, int, bool, float) or key not in entries:
        return False
    # Python takes 1 for True.
    return isinstance(key, str) or any(
        one == key and (one.__class__ is bool) == (key.__class__ is bool) for one in entries
    )


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else shown_number(key)


def _optional_item(frame: Frame, items: list[Any], index: Any) -> Optional:
    place = _place(index)
    return Optional(True, items[place]) if 0 <= place < len(items) else NOTHING


def _optional_entry(frame: Frame, entries: dict[Any, Any], key: Any) -> Optional:
    found = key_of(key)
    return Optional(True, entries[found]) if _has_key(entries, found) else NOTHING


def _chained_item(frame: Frame, found: Optional, index: Any) -> Optional:
    if not found.is_there:
        return NOTHING
    look = _optional_item if isinstance(found.value, list) else _optional_entry
    return look(frame, found.value, index)


def _whole(_: Frame, number: float) -> int:
    if not -(2.0**63) < number < 2.0**63:
        raise Failed("integer overflow")
    return int(number)


def _unsigned(_: Frame, number: float) -> UInt:
    if not -1 < number < 2.0**64:
        raise Failed("unsigned integer overflow")
    return UInt(int(number))


def _digits(text: str, kind: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") and kind == "int" else text
    number = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 64 else None
    low, high = (INT_MIN, INT_MAX) if kind == "int" else (0, UINT_MAX)
    if number is None or not low <= number <= high:
        raise unconvertible(kind)
    return number


def _read_float(_: Frame, text: str) -> float:
    try:
        if "_" in text or text != text.strip():
            raise ValueError
        return float(text)
    except ValueError:
        raise unconvertible("double") from None


def _read_bool(_: Frame, text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise unconvertible("bool")


def _decoded(frame: Frame, data: bytes) -> str:
    frame.pay(len(data) // 10)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Failed("invalid UTF-8 in bytes, cannot convert to string") from None


def _length(frame: Frame, value: Any) -> int:
    return len(value)


def _ordered() -> dict[str, Any]:
    """What comes before what: of the same types, and of numbers of different ones."""
    table: dict[str, Any] = {}
    across = permutations(("int", "uint", "double"), 2)
    for one, other in (*((kind, kind) for kind in _COMPARABLE), *across):
        table[f"_<_({one}, {other}) -> bool"] = lambda _, a, b: less(a, b)
        table[f"_<=_({one}, {other}) -> bool"] = lambda _, a, b: not less(b, a)
        table[f"_>_({one}, {other}) -> bool"] = lambda _, a, b: less(b, a)
        table[f"_>=_({one}, {other}) -> bool"] = lambda _, a, b: not less(a, b)
    return table


TABLE: Table = {
    "_==_(A, A) -> bool": equal,
    "_!=_(A, A) -> bool": lambda frame, a, b: not equal(frame, a, b),
    "!_(bool) -> bool": lambda _, a: not a,
    "-_(int) -> int": lambda _, a: int_or_fail(-a),
    "-_(double) -> double": lambda _, a: -a,
    "_+_(int, int) -> int": lambda _, a, b: int_or_fail(a + b),
    "_+_(uint, uint) -> uint": lambda _, a, b: uint_or_fail(a + b),
    "_+_(double, double) -> double": lambda _, a, b: a + b,
    "_+_(string, string) -> string": _joined,
    "_+_(bytes, bytes) -> bytes": _joined,
    "_+_(list(A), list(A)) -> list(A)": merged,
    "_+_(timestamp, duration) -> timestamp": lambda _, a, b: times.shifted(a, b.nanos),
    "_+_(duration, timestamp) -> timestamp": lambda _, a, b: times.shifted(b, a.nanos),
    "_+_(duration, duration) -> duration": lambda _, a, b: times.span(a.nanos + b.nanos),
    "_-_(int, int) -> int": lambda _, a, b: int_or_fail(a - b),
    "_-_(uint, uint) -> uint": lambda _, a, b: uint_or_fail(a - b),
    "_-_(double, double) -> double": lambda _, a, b: a - b,
    "_-_(timestamp, timestamp) -> duration": lambda _, a, b: times.span(a.nanos - b.nanos),
    "_-_(timestamp, duration) -> timestamp": lambda _, a, b: times.shifted(a, -b.nanos),
    "_-_(duration, duration) -> duration": lambda _, a, b: times.span(a.nanos - b.nanos),
    "_*_(int, int) -> int": lambda _, a, b: int_or_fail(a * b),
    "_*_(uint, uint) -> uint": lambda _, a, b: uint_or_fail(a * b),
    "_*_(double, double) -> double": lambda _, a, b: a * b,
    "_/_(int, int) -> int": lambda _, a, b: int_or_fail(_quotient(a, b)),
    "_/_(uint, uint) -> uint": lambda _, a, b: uint_or_fail(_quotient(a, b)),
    "_/_(double, double) -> double": _float_quotient,
    "_%_(int, int) -> int": lambda _, a, b: _rest(a, b),
    "_%_(uint, uint) -> uint": lambda _, a, b: uint_or_fail(_rest(a, b)),
    "_[_](list(A), int) -> A": _item,
    "_[_](map(A, B), A) -> B": _entry,
    "_[?_](list(A), int) -> optional(A)": _optional_item,
    "_[?_](map(A, B), A) -> optional(B)": _optional_entry,
    "_[?_](optional(list(A)), int) -> optional(A)": _chained_item,
    "_[?_](optional(map(A, B)), A) -> optional(B)": _chained_item,
    "_[_](optional(list(A)), int) -> optional(A)": _chained_item,
    "_[_](optional(map(A, B)), A) -> optional(B)": _chained_item,
    "@in(A, list(A)) -> bool": lambda frame, a, b: contains(frame, b, a),
    "@in(A, map(A, B)) -> bool": lambda _, a, b: _has_key(b, key_of(a)),
    **_ordered(),
    **{f"size({kind}) -> int": _length for kind in _SIZED},
    **{f"{kind}.size() -> int": _length for kind in _SIZED},
    **{f"{kind}({kind}) -> {kind}": lambda _, a: a for kind in _COMPARABLE},
    "type(A) -> type(A)": lambda _, a: TypeValue(type_name(a)),
    "dyn(A) -> dyn": lambda _, a: a,
    "bool(string) -> bool": _read_bool,
    "int(uint) -> int": lambda _, a: int_or_fail(int(a)),
    "int(double) -> int": _whole,
    "int(string) -> int": lambda _, a: _digits(a, "int"),
    "int(timestamp) -> int": lambda _, a: a.nanos // _NANOS,
    "int(duration) -> int": lambda _, a: a.nanos,
    "uint(int) -> uint": lambda _, a: uint_or_fail(a),
    "uint(double) -> uint": _unsigned,
    "uint(string) -> uint": lambda _, a: UInt(_digits(a, "uint")),
    "double(int) -> double": lambda _, a: float(a),
    "double(uint) -> double": lambda _, a: float(a),
    "double(string) -> double": _read_float,
    "string(bool) -> string": lambda _, a: "true" if a else "false",
    "string(int) -> string": lambda _, a: str(a),
    "string(uint) -> string": lambda _, a: str(int(a)),
    "string(double) -> string": lambda _, a: double_text(a),
    "string(bytes) -> string": _decoded,
    "string(timestamp) -> string": lambda _, a: times.timestamp_text(a),
    "string(duration) -> string": lambda _, a: times.duration_text(a),
    "bytes(string) -> bytes": lambda _, a: a.encode(),
    "timestamp(string) -> timestamp": lambda _, a: times.read_timestamp(a),
    "timestamp(int) -> timestamp": lambda _, a: times.timestamp_at(a * _NANOS),
    "duration(string) -> duration": lambda _, a: times.read_duration(a),
    "duration(int) -> duration": lambda _, a: times.span(a),
}


def double_text(number: float) -> str:
    """A number as Go formats it with the fewest digits and no rounding ('g')."""
    if math.isnan(number) or math.isinf(number):
        return "NaN" if math.isnan(number) else "+Inf" if number > 0 else "-Inf"
    text = shown_number(number)
    if "e" in text and -5 < math.log10(abs(number)) < 21:
        return format(number, ".17g") if "e" not in repr(number) else repr(number)
    return text
