"""Lists as wholes and as sets, and values that may be missing."""

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from atoll.apiserver.cel.declaring import Table
from atoll.apiserver.cel.faults import NO_OVERLOAD, Failed
from atoll.apiserver.cel.values import (
    NOTHING,
    Duration,
    Frame,
    Optional,
    UInt,
    contains,
    equal,
    int_or_fail,
    less,
    type_name,
    uint_or_fail,
)

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS = frozenset(["int", "uint", "double"])


def _comparable(frame: Frame, items: list[Any]) -> None:
    frame.pay(len(items))
    names = {type_name(item) for item in items}
    if len(names) > 1 and not names <= _NUMBERS:
        raise Failed(NO_OVERLOAD)
    if names & {"list", "map", "null_type", "type", "optional_type", "dyn"}:
        raise Failed(NO_OVERLOAD)


def _is_sorted(frame: Frame, items: list[Any]) -> bool:
    _comparable(frame, items)
    return not any(less(b, a) for a, b in pairwise(items))


def _extreme(name: str, *, largest: bool) -> Callable[[Frame, list[Any]], Any]:
    def find(frame: Frame, items: list[Any]) -> Any:
        if not items:
            raise Failed(f"{name} called on empty list")
        _comparable(frame, items)
        best = items[0]
        for item in items[1:]:
            if less(best, item) if largest else less(item, best):
                best = item
        return best

    return find


def _sum(zero: Any) -> Callable[[Frame, list[Any]], Any]:
    def total(frame: Frame, items: list[Any]) -> Any:
        frame.pay(len(items))
        found = zero
        for item in items:
            if item.__class__ is not zero.__class__:
                raise Failed(NO_OVERLOAD)
            if isinstance(zero, Duration):
                found = Duration(int_or_fail(found.nanos + item.nanos))
            elif isinstance(zero, UInt):
                found = uint_or_fail(found + item)
            else:
                found = int_or_fail(found + item) if isinstance(zero, int) else found + item
        return found

    return total


def _index_of(frame: Frame, items: list[Any], item: Any) -> int:
    frame.pay(len(items))
    return next((at for at, one in enumerate(items) if equal(frame, one, item)), -1)


def _last_index_of(frame: Frame, items: list[Any], item: Any) -> int:
    frame.pay(len(items))
    last = len(items) - 1
    return next((last - at for at, one in enumerate(items[::-1]) if equal(frame, one, item)), -1)


def _slice(frame: Frame, items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise Failed(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        why = "start index must be less than or equal to end index"
        raise Failed(f"cannot slice({start}, {end}), {why}")
    if end > len(items):
        raise Failed(f"cannot slice({start}, {end}), list is length {len(items)}")
    frame.pay((end - start) // 10)
    return items[start:end]


def _flatten(frame: Frame, items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise Failed("level must be non-negative")
    frame.pay(len(items))
    flat: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            flat += _flatten(frame, item, min(depth, 50) - 1)
        else:
            flat.append(item)
    return flat


def _range(frame: Frame, count: int) -> list[int]:
    frame.pay(max(count, 0))
    return list(range(count))


def _reverse(frame: Frame, items: list[Any]) -> list[Any]:
    frame.pay(len(items) // 10)
    return items[::-1]


def _distinct(frame: Frame, items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not contains(frame, found, item):
            found.append(item)
    return found


def sorted_by(frame: Frame, items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of their keys."""
    if len({type_name(key) for key in keys}) > 1:
        raise Failed("list elements must have the same type")
    _comparable(frame, keys)
    frame.pay(len(keys) * max(1, len(keys).bit_length()))
    order = cmp_to_key(lambda a, b: -1 if less(a, b) else 1 if less(b, a) else 0)
    places = sorted(range(len(keys)), key=lambda place: order(keys[place]))
    return [items[place] for place in places]


def _has_all(frame: Frame, items: list[Any], others: list[Any]) -> bool:
    return all(contains(frame, items, other) for other in others)


def _value(_: Frame, optional: Optional) -> Any:
    if not optional.is_there:
        raise Failed("optional.none() dereference")
    return optional.value


def _unless_zero(_: Frame, value: Any) -> Optional:
    empty = value is None or value is False
    empty = empty or (isinstance(value, int | float | str | bytes | list | dict) and not value)
    empty = empty or (isinstance(value, Duration) and value.nanos == 0)
    return NOTHING if empty else Optional(True, value)


def _unwrapped(frame: Frame, items: list[Any]) -> list[Any]:
    frame.pay(len(items))
    return [item.value for item in items if isinstance(item, Optional) and item.is_there]


def _typed() -> dict[str, Any]:
    table: dict[str, Any] = {}
    for kind in _COMPARABLE:
        table[f"list({kind}).isSorted() -> bool"] = _is_sorted
        table[f"list({kind}).max() -> {kind}"] = _extreme("max", largest=True)
        table[f"list({kind}).min() -> {kind}"] = _extreme("min", largest=False)
        table[f"list({kind}).sort() -> list({kind})"] = lambda frame, items: sorted_by(
            frame, items, items
        )
    zeros: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}
    for kind, zero in zeros.items():
        table[f"list({kind}).sum() -> {kind}"] = _sum(zero)
    return table


TABLE: Table = {
    **_typed(),
    "list(A).indexOf(A) -> int": _index_of,
    "list(A).lastIndexOf(A) -> int": _last_index_of,
    "list(A).slice(int, int) -> list(A)": _slice,
    "list(list(A)).flatten() -> list(A)": _flatten,
    "list(dyn).flatten(int) -> list(dyn)": _flatten,
    "lists.range(int) -> list(int)": _range,
    "list(A).reverse() -> list(A)": _reverse,
    "list(A).distinct() -> list(A)": _distinct,
    "list(A).first() -> optional(A)": lambda _, a: Optional(True, a[0]) if a else NOTHING,
    "list(A).last() -> optional(A)": lambda _, a: Optional(True, a[-1]) if a else NOTHING,
    "sets.contains(list(A), list(A)) -> bool": _has_all,
    "sets.intersects(list(A), list(A)) -> bool": lambda frame, a, b: any(
        contains(frame, a, other) for other in b
    ),
    "sets.equivalent(list(A), list(A)) -> bool": lambda frame, a, b: (
        _has_all(frame, a, b) and _has_all(frame, b, a)
    ),
    "optional.of(A) -> optional(A)": lambda _, a: Optional(True, a),
    "optional.ofNonZeroValue(A) -> optional(A)": _unless_zero,
    "optional.none() -> optional(A)": lambda _: NOTHING,
    "optional.unwrap(list(optional(A))) -> list(A)": _unwrapped,
    "list(optional(A)).unwrapOpt() -> list(A)": _unwrapped,
    "optional(A).hasValue() -> bool": lambda _, a: a.is_there,
    "optional(A).value() -> A": _value,
    "optional(A).or(optional(A)) -> optional(A)": lambda _, a, b: a if a.is_there else b,
    "optional(A).orValue(A) -> A": lambda _, a, b: a.value if a.is_there else b,
}
