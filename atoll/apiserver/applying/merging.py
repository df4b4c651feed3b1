"""An applied configuration merged into a live object, and fields taken out of an object again.

What an applier no longer applies is removed, unless somebody else owns it."""

from collections import deque
from typing import Any

from atoll.apiserver.applying import typed
from atoll.apiserver.applying.fieldset import FieldSet, difference, intersection, union
from atoll.apiserver.schemas.schema import Schema
from atoll.wire import Wire


def merge(live: Any, applied: Any, schema: Schema) -> Any:
    """The live value with what was applied laid over it."""
    if typed.is_map(schema, live) and live and (applied is None or typed.is_map(schema, applied)):
        return _merge_entries(live, applied or {}, schema)
    if typed.is_list(schema, live) and live and (applied is None or typed.is_list(schema, applied)):
        return _merge_items(live, applied or [], schema)
    return applied


def _merge_entries(live: dict[str, Any], applied: dict[str, Any], schema: Schema) -> Any:
    result = dict(live)
    for key, value in applied.items():
        if key in live:
            result[key] = merge(live[key], value, typed.entry_schema(schema, key))
        else:
            result[key] = value
    return result


def _merge_items(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """The items of both, each once.

    Applied items keep the order in which they were applied, live ones theirs; where both lists have
    an item, what stands before it in the live list stays before it.
    """
    merging = _Merging(live, applied, schema)
    place = 0
    while place < len(live) or merging.waiting:
        element = merging.elements[place] if place < len(live) else None
        if element is not None and merging.waiting:
            if element == merging.waiting[0]:
                merging.take()
                place += 1
                continue
            if merging.comes_later(element):
                place += 1
                continue
        if element is not None:
            if element not in merging.new:
                merging.result.append(live[place])
                place += 1
                continue
            if element in merging.done:
                place += 1
        if merging.waiting:
            merging.take()
    return merging.result


class _Merging:
    """Two lists on their way to becoming one."""

    def __init__(self, live: list[Any], applied: list[Any], schema: Schema) -> None:
        self.within = typed.item_schema(schema)
        self.elements = typed.item_elements(schema, live)
        self.old = dict(zip(self.elements, live, strict=True))
        self.new = dict(zip(typed.item_elements(schema, applied), applied, strict=True))
        self.several = len(self.old) < len(live)
        self.waiting = deque(self.new)
        self.shared = deque(element for element in self.new if element in self.old)
        self.done: set[str] = set()
        self.result: list[Any] = []

    def comes_later(self, element: str) -> bool:
        """Whether both lists have the item, and another such item is applied before it."""
        return element in self.new and bool(self.shared) and self.shared[0] != element

    def take(self) -> None:
        """Moves the next applied item into the result, merged with the live one if there is one."""
        element = self.waiting.popleft()
        if self.shared and self.shared[0] == element:
            self.shared.popleft()
        self.done.add(element)
        known, item = self.old.get(element), self.new[element]
        if self.several and self.elements.count(element) > 1:
            known = None  # live items that cannot be told apart give way
        self.result.append(merge(known, item, self.within))


def remove_fields(value: Any, fields: FieldSet, schema: Schema) -> Any:
    """The value without the fields of the set, and without what is within them."""
    if typed.is_map(schema, value):
        kept: dict[str, Any] = {}
        for key, child in value.items():
            node = fields.get("f:" + key)
            if node is None:
                kept[key] = child
            elif node and "." not in node:
                kept[key] = remove_fields(child, node, typed.entry_schema(schema, key))
        return kept or None
    if typed.is_list(schema, value):
        items: list[Any] = []
        for item in value:
            node = fields.get(typed.item_element(schema, item))
            if node is None:
                items.append(item)
            elif node and "." not in node:
                items.append(remove_fields(item, node, typed.item_schema(schema)))
        return items or None
    return value


def prune(merged: Wire, last: FieldSet, owned: FieldSet, schema: Schema) -> Wire:
    """`merged` without what is in `last` and not owned (by the applier's new set or others)."""
    if not difference(last, owned):
        return merged
    there = typed.with_named(typed.mentioned(merged, schema), schema)
    dropped = typed.with_named(last, schema)
    kept = _left(merged, dropped, schema)
    unowned = difference(there, union(kept, typed.with_named(owned, schema)))
    kept = _left(merged, unowned, schema)
    gone = intersection(difference(there, kept), dropped)
    return remove_fields(merged, gone, schema) or {}


def _left(merged: Wire, removed: FieldSet, schema: Schema) -> FieldSet:
    """The fields that are left in the object once some are removed."""
    return typed.with_named(typed.mentioned(remove_fields(merged, removed, schema), schema), schema)
