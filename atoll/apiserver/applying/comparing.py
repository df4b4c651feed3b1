"""What changed between two values: the fields that are new or differ, and those that are gone.

In: the value before and after, and its Schema. Out: two sets of fields. Parts that are equal are
skipped without being looked into, so a small change to a large object is cheap to find.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from atoll.apiserver.applying.fieldset import FieldSet, in_order, items_in_order
from atoll.apiserver.applying.typed import everything, is_list, is_map, item_elements, item_schema
from atoll.apiserver.schemas.schema import ANY, Schema

_FIELDS = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"  # of managedFields, never compared


@dataclass(frozen=True, slots=True)
class Comparison:
    """Fields added or changed, and fields removed."""

    changed: FieldSet
    removed: FieldSet


def compare(before: dict[str, Any], after: dict[str, Any], schema: Schema) -> Comparison:
    """How one object differs from another of the same schema."""
    changed, removed = _entries(before, after, schema)
    return Comparison(changed, removed)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 equals 1.0, but unlike in Python neither equals true."""
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


@lru_cache(maxsize=4096)
def _loose(schema: Schema) -> bool:
    """Whether values of this schema may hold a boolean where they held a number."""
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or node.definition == _FIELDS:
            continue
        seen.add(id(node))
        free = node.type == "object" and not node.fields and node.element is None
        if node.type == "any" or node.preserve_unknown or free:
            return True
        waiting.extend(node.fields.values())
        if node.element is not None:
            waiting.append(node.element)
    return False


def _equal(left: Any, right: Any, schema: Schema) -> bool:
    if left is right:
        return True
    return bool(left == right) and (not _loose(schema) or same(left, right))


def _entries(
    before: dict[str, Any], after: dict[str, Any], schema: Schema
) -> tuple[FieldSet, FieldSet]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    fields = schema.fields
    other = schema.element or ANY
    added = 0
    for key, new in after.items():
        within = fields.get(key, other)
        if key not in before:
            added += 1
            changed["f:" + key] = everything(new, within)
        elif not _equal(before[key], new, within):
            _pair("f:" + key, before[key], new, within, (changed, removed))
    if len(before) + added > len(after):
        for key, old in before.items():
            if key not in after:
                removed["f:" + key] = everything(old, fields.get(key, other))
    return in_order(changed), in_order(removed)


def _pair(
    element: str, before: Any, after: Any, schema: Schema, found: tuple[FieldSet, FieldSet]
) -> None:
    """Adds to what was found how two values that differ do so."""
    changed, removed = found
    was_map, is_map_now = is_map(schema, before), is_map(schema, after)
    was_list, is_list_now = is_list(schema, before), is_list(schema, after)
    if (was_map or is_map_now) and _are_all(dict, before, after):
        new, gone = _entries(before or {}, after or {}, schema)
    elif (was_list or is_list_now) and _are_all(list, before, after):
        new, gone = _items(before or [], after or [], schema)
    else:
        changed[element] = everything(after, schema)
        if was_map or was_list:
            gone = {k: v for k, v in everything(before, schema).items() if k != "."}
            if gone:
                removed[element] = gone
        return
    if new:
        changed[element] = new
    if gone:
        removed[element] = gone
    if not before and not after:
        changed[element] = {}


def _are_all(kind: type, *values: Any) -> bool:
    return all(value is None or type(value) is kind for value in values)


def _items(before: list[Any], after: list[Any], schema: Schema) -> tuple[FieldSet, FieldSet]:
    """Items are compared with those of the same keys; where there are several, all at once."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    within = item_schema(schema)
    old, new = _by_element(before, schema), _by_element(after, schema)
    for element in {**old, **new}:
        was, now = old.get(element, []), new.get(element, [])
        if len(was) == 1 and len(now) == 1:
            if not _equal(was[0], now[0], within):
                _pair(element, was[0], now[0], within, (changed, removed))
        elif len(was) > 1 and len(now) > 1:
            if not same(was, now):
                changed[element] = {}
        else:
            if now:
                changed[element] = everything(now[0], within) if len(now) == 1 else {}
            if was:
                removed[element] = everything(was[0], within) if len(was) == 1 else {}
    return items_in_order(changed), items_in_order(removed)


def _by_element(items: list[Any], schema: Schema) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for element, item in zip(item_elements(schema, items), items, strict=True):
        found.setdefault(element, []).append(item)
    return found
