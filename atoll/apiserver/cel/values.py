"""The values of the language that JSON does not have, and what holds of all values.

Numbers, strings, lists and maps are Python's own. Whoever compares or walks values pays for it with
the steps of a Frame, so that no expression can keep the server busy for long.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Any

from atoll.apiserver.cel.faults import Failed, OverBudget

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """A number without a sign, which is of another type than one with."""


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970 (UTC)."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time, in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(x)` gives."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """A value that may be missing."""

    is_there: bool
    value: Any = None


NOTHING = Optional(is_there=False)


class KeyedList(list[Any]):
    """A list that is a set or a map by some keys: equal in any order, and merged by `+`."""

    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, items: list[Any], keys: tuple[str, ...]) -> "KeyedList":
        made = cls(items)
        made.keys = keys
        return made

    def key(self, item: Any) -> Any:
        """What an item is known by."""
        if not self.keys:
            return frozen(item)
        return tuple(frozen(item.get(key)) for key in self.keys) if isinstance(item, dict) else None


class Selectable:
    """A value with fields of its own, beside maps."""

    def select(self, key: str) -> Any:
        raise Failed(f"no such key: {key}")


class Instance(dict[Any, Any]):
    """An object that an expression has made, with the name of its type."""

    def __init__(self, made: str) -> None:
        super().__init__()
        self.made = made


class Frame:
    """One evaluation: the variables by name, and the steps that are left to it."""

    __slots__ = ("left", "variables")

    def __init__(self, variables: dict[str, Any], budget: int) -> None:
        self.variables = variables
        self.left = budget

    def pay(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OverBudget


Run = Callable[[Frame], Any]
"""A part of an expression, made ready: what it comes to in a frame."""

_NUMBERS = frozenset([int, float, UInt])
_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    KeyedList: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    TypeValue: "type",
    Optional: "optional_type",
    IPv4Address: "net.IP",
    IPv6Address: "net.IP",
    IPv4Interface: "net.CIDR",
    IPv6Interface: "net.CIDR",
}


def named(name: str) -> Any:
    """A mark for the class of an opaque type's values: what the type is called."""

    def mark(value_class: type) -> type:
        _NAMES[value_class] = name
        return value_class

    return mark


def type_name(value: Any) -> str:
    """The name of a value's type."""
    return _NAMES.get(value.__class__, "dyn")


def frozen(value: Any) -> Any:
    """Something hashable that is equal for equal values of JSON."""
    if isinstance(value, dict):
        return ("map", frozenset((key, frozen(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("list", *map(frozen, value))
    return (value.__class__ is bool, value)


def equal(frame: Frame, one: Any, other: Any) -> bool:
    """Whether two values are the same; values of different types never are, except numbers."""
    if one.__class__ in _NUMBERS and other.__class__ in _NUMBERS:
        return bool(one == other)
    if isinstance(one, list) and isinstance(other, list):
        return _equal_lists(frame, one, other)
    if one.__class__ is not other.__class__:
        return False
    if isinstance(one, dict):
        frame.pay(1 + len(one) // 10)
        return len(one) == len(other) and all(
            key in other and equal(frame, value, other[key]) for key, value in one.items()
        )
    if isinstance(one, Optional):
        if not (one.is_there and other.is_there):
            return not one.is_there and not other.is_there
        return equal(frame, one.value, other.value)
    return bool(one == other)


def _equal_lists(frame: Frame, one: list[Any], other: list[Any]) -> bool:
    frame.pay(1 + len(one) // 10)
    if len(one) != len(other):
        return False
    if isinstance(one, KeyedList):
        known = {one.key(item): item for item in one}
        keys = [one.key(item) for item in other]
        return all(
            key in known and equal(frame, known[key], item)
            for key, item in zip(keys, other, strict=True)
        )
    return all(equal(frame, a, b) for a, b in zip(one, other, strict=True))


def contains(frame: Frame, items: list[Any], item: Any) -> bool:
    """Whether a list has an item that is equal to this one."""
    frame.pay(len(items))
    return any(equal(frame, one, item) for one in items)


def merged(frame: Frame, one: list[Any], other: list[Any]) -> list[Any]:
    """Two lists as one: sets and maps by key, the second list's items in place of the first's."""
    if not isinstance(one, KeyedList):
        frame.pay(1 + (len(one) + len(other)) // 10)
        return [*one, *other]
    frame.pay(len(one) + len(other))
    items = {one.key(item): item for item in one}
    items.update((one.key(item), item) for item in other)
    return KeyedList.of(list(items.values()), one.keys)


def less(one: Any, other: Any) -> bool:
    """Whether one value comes before another of its type."""
    if (isinstance(one, float) and math.isnan(one)) or (
        isinstance(other, float) and math.isnan(other)
    ):
        raise Failed("NaN values cannot be ordered")
    return bool(one < other)


def unconvertible(kind: str) -> Failed:
    return Failed(f"type conversion error from 'string' to '{kind}'")


def int_or_fail(number: int) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise Failed("integer overflow")


def uint_or_fail(number: int) -> UInt:
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise Failed("unsigned integer overflow")
