"""Fields deep inside objects: looked up, replaced, removed. Objects are never changed in place.

What stands on the way must be an object, or an error names where it is not. Whatever is not on
the way is shared between the old object and the new one.
"""

from collections.abc import Iterable
from typing import Any

from atoll.dialects.wire import at, part, parts, text
from atoll.wire import Object


def inner(wire: Object, *keys: str) -> Object:
    """The object at this path; an empty one if it or anything on the way is absent."""
    path = ""
    for key in keys:
        wire = part(wire, key, path) or {}
        path = at(path, key)
    return wire


def holds(status: Object, path: str, kind: str, *reasons: str) -> bool:
    """Whether a condition is true, for one of these reasons if any are given."""
    return any(
        text(each, "type", here) == kind
        and text(each, "status", here) == "True"
        and (not reasons or text(each, "reason", here) in reasons)
        for here, each in parts(status, "conditions", path)
    )


def replaced(wire: Object, keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The object with this value at this path; objects on the way are made where missing."""
    return _replaced(wire, keys, value, "")


def _replaced(wire: Object, keys: tuple[str, ...], value: Any, path: str) -> dict[str, Any]:
    key, *rest = keys
    if rest:
        value = _replaced(part(wire, key, path) or {}, tuple(rest), value, at(path, key))
    return {**wire, key: value}


def removed(wire: Object, keys: tuple[str, ...], path: str = "") -> Object:
    """The object without the field at this path, and without what that leaves empty."""
    key, *rest = keys
    if key not in wire:
        return wire
    if rest:
        below = part(wire, key, path)
        left = below and removed(below, tuple(rest), at(path, key))
        if left is below:
            return wire
        if left:
            return {**wire, key: left}
    return without(wire, (key,))


def without(wire: Object, unwanted: Iterable[str]) -> Object:
    """The object without these fields."""
    unwanted = tuple(unwanted)
    return {key: value for key, value in wire.items() if key not in unwanted}
