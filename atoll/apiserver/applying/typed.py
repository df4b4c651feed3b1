"""A value seen through its Schema: which fields it has, and whether it has the shape it should.

In: a value and its Schema. Out: sets of fields. Lists are looked into only if they are sets or have
keys, objects and maps unless they are atomic. What no Schema describes is deduced from the value:
maps are looked into, lists are not.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from atoll.apiserver.applying.elements import of_value, written
from atoll.apiserver.applying.fieldset import FieldSet, Node, items_in_order
from atoll.apiserver.schemas.schema import ABSENT, ANY, Schema

_RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"


class Untypable(Exception):
    """A value that does not have the shape its Schema says; the text is for the client."""


def is_map(schema: Schema, value: Any) -> bool:
    """Whether the value is one whose entries are owned one by one."""
    return type(value) is dict and not schema.atomic and schema.definition != _RAW


def is_list(schema: Schema, value: Any) -> bool:
    """Whether the value is one whose items are owned one by one."""
    return type(value) is list and schema.type == "list" and schema.list_type != "atomic"


def entry_schema(schema: Schema, key: str) -> Schema:
    """The schema of a field or map entry; ANY if nobody describes it."""
    if schema.type == "object":
        known = schema.fields.get(key)
        if known is not None:
            return known
    return schema.element or ANY


def item_schema(schema: Schema) -> Schema:
    return schema.element or ANY


def is_named(schema: Schema, key: str) -> bool:
    """Whether the key is a field of the type rather than an entry of a map."""
    return schema.type == "object" and key in schema.fields


def item_element(schema: Schema, item: Any) -> str:
    """The path element of a list item."""
    if schema.list_type == "set":
        if isinstance(item, dict):
            raise Untypable("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise Untypable("not supported: associative list with lists as elements")
        if item is None:
            raise Untypable("associative list without keys has an element that's an explicit null")
        return of_value(item)
    if item is None:
        raise Untypable("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise Untypable("associative list with keys may not have non-map elements")
    return _keyed_element(schema, item)


def _keyed_element(schema: Schema, item: dict[str, Any]) -> str:
    parts: list[str] = []
    for name, start, default in _key_plan(schema):
        if name in item:
            parts.append(start + written(item[name]))
        elif default:
            parts.append(start + default)
    if not parts:
        listed = " ".join(written(name) for name in schema.list_keys)
        raise Untypable(
            f"associative list with keys has an element that omits all key fields [{listed}] "
            "(and doesn't have default values for any key fields)"
        )
    return "k:{" + ",".join(parts) + "}"


@lru_cache(maxsize=1024)
def _key_plan(schema: Schema) -> tuple[tuple[str, str, str], ...]:
    """Each key of a list: its name, how its text starts, and the text of its default."""
    plan: list[tuple[str, str, str]] = []
    for name in sorted(schema.list_keys):
        default = entry_schema(item_schema(schema), name).default
        known = default is not ABSENT and default is not None
        plan.append((name, f"{written(name)}:", written(default) if known else ""))
    return tuple(plan)


def item_elements(schema: Schema, items: Sequence[Any]) -> list[str]:
    """The path elements of a list's items, in their order."""
    if schema.list_type == "set" and {*map(type, items)} <= {str}:
        return [of_value(item) for item in items]
    found: list[str] = []
    plan = _key_plan(schema)
    name, start, _ = plan[0] if len(plan) == 1 else ("", "", "")
    for index, item in enumerate(items):
        # Most lists have one key, a string; the others may take longer.
        if name and type(item) is dict:
            key = item.get(name)
            if type(key) is str and len(key) <= _REMEMBERED_MAX:
                found.append(_remembered_element(start, key))
                continue
        try:
            found.append(item_element(schema, item))
        except Untypable as error:
            raise Untypable(f"element {index}: {error}") from None
    return found


# What clients choose must not make the cache big.
_REMEMBERED_MAX = 256


@lru_cache(maxsize=4096)
def _remembered_element(start: str, key: str) -> str:
    return "k:{" + start + written(key) + "}"


def everything(value: Any, schema: Schema) -> Node:
    """The node of a value that is wholly new: it and all within it."""
    if not value:
        return {}
    if type(value) is dict:
        if schema.atomic or schema.definition == _RAW:
            return {}
        node: Node = {".": {}}
        fields = schema.fields
        other = schema.element or ANY
        for key in sorted(value):
            child = value[key]
            if type(child) is dict or type(child) is list:
                node["f:" + key] = everything(child, fields.get(key, other))
            else:
                node["f:" + key] = {}
        return node
    if type(value) is not list or schema.type != "list" or schema.list_type == "atomic":
        return {}
    within = schema.element or ANY
    node = {".": {}}
    for element, item in zip(item_elements(schema, value), value, strict=True):
        # Items that cannot be told apart are owned together, and not looked into.
        node[element] = {} if element in node else everything(item, within)
    return items_in_order(node)


def mentioned(value: Any, schema: Schema) -> FieldSet:
    """The fields that a configuration speaks of: its leaves, its items and its map entries."""
    if is_map(schema, value):
        return _mentioned_entries(value, schema)
    if not is_list(schema, value):
        return {}
    found: FieldSet = {}
    within = item_schema(schema)
    for element, item in zip(item_elements(schema, value), value, strict=True):
        inner = {} if element in found else mentioned(item, within)
        found[element] = {".": {}, **inner} if inner else {}
    return items_in_order(found)


def _mentioned_entries(value: dict[str, Any], schema: Schema) -> FieldSet:
    found: FieldSet = {}
    for key in sorted(value):
        child = value[key]
        if type(child) is not dict and type(child) is not list:
            found["f:" + key] = {}
            continue
        within = entry_schema(schema, key)
        inner = mentioned(child, within)
        if not is_named(schema, key):
            found["f:" + key] = {".": {}, **inner} if inner else {}
        elif inner:
            found["f:" + key] = inner
        elif not is_list(within, child) and (not child or not is_map(within, child)):
            found["f:" + key] = {}
    return found


def with_named(fields: FieldSet, schema: Schema) -> FieldSet:
    """The set with the fields of objects that lead to its members made members too."""
    found: FieldSet = {}
    for key, node in fields.items():
        if not node or key == ".":
            found[key] = node
            continue
        name = key[2:]
        if key[0] == "f":
            within = entry_schema(schema, name)
            named = is_named(schema, name)
        else:
            within, named = item_schema(schema), False
        inner = with_named(node, within)
        found[key] = {".": {}, **inner} if named and "." not in inner else inner
    return found


def fitted(fields: FieldSet, schema: Schema) -> FieldSet:
    """The set as it is after its schema changed: what became atomic is owned as a whole."""
    found: FieldSet = {}
    same = True
    for key, node in fields.items():
        kept = node
        if node and key != ".":
            known = key[0] == "f" or schema.type == "list"
            within = entry_schema(schema, key[2:]) if key[0] == "f" else item_schema(schema)
            if known and _is_atomic(within):
                kept = {}
            else:
                kept = fitted(node, within)
        found[key] = kept
        same = same and kept is node
    return fields if same else found


def _is_atomic(schema: Schema) -> bool:
    if schema.type == "list":
        return schema.list_type == "atomic"
    return schema.atomic
