"""The fields of a new object of a built-in kind: the quick way to what comparing it to the blank
object of its kind finds.

In: an object that fits its Schema. Out: the set of all that its maker set. For each Schema there is
a function that knows what to look into. Objects of one type with the same fields, of which none
leads further, have one node, made once and shared by all; it must not be changed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from atoll.apiserver.applying.blank import blank
from atoll.apiserver.applying.fieldset import FieldSet, Node, items_in_order
from atoll.apiserver.applying.typed import everything, item_elements
from atoll.apiserver.schemas.schema import ANY, Schema

_LEAF: Node = {}
# How many combinations of fields are remembered of one type.
_PLANS_MAX = 256

# Gives the node of a value that is not empty.
_Maker = Callable[[Any], Node]
_Plan = tuple[Node, tuple[tuple[str, str, _Maker], ...]]


def fields_of_new(obj: dict[str, Any], schema: Schema) -> FieldSet:
    """The fields in which a new object, which fits its schema, is more than a blank one."""
    return _beyond(blank(schema), obj, schema)


def _beyond(before: dict[str, Any], after: dict[str, Any], schema: Schema) -> Node:
    """What is in a struct that was there before, with fields of zero values, to begin with."""
    node: Node = {}
    fields = schema.fields
    for key in sorted(after):
        value = after[key]
        within = fields.get(key, ANY)
        if key not in before:
            make = _maker(within)
            node["f:" + key] = make(value) if value and make is not None else _LEAF
            continue
        zero = before[key]
        if zero == value:
            continue
        if zero.__class__ is dict and value.__class__ is dict and not within.atomic:
            inner = _beyond(zero, value, within)
            if inner:
                node["f:" + key] = inner
        else:
            make = _maker(within)
            inner = make(value) if value and make is not None else _LEAF
            if "." in inner:  # it was there, though there was nothing in it
                inner = {name: each for name, each in inner.items() if name != "."}
            node["f:" + key] = inner
    return node


@cache
def _maker(schema: Schema) -> _Maker | None:
    """What makes nodes of values of this schema; None if there is never anything within."""
    if schema.atomic:
        return None
    match schema.type:
        case "object":
            return _object_maker(schema)
        case "map":
            return _map_maker(schema)
        case "list" if schema.list_type != "atomic":
            return _list_maker(schema)
        case "any":
            return lambda value: everything(value, schema)
    return None


def _object_maker(schema: Schema) -> _Maker:
    """Plans are made when first needed: a schema may contain itself."""
    plans: dict[tuple[str, ...], _Plan] = {}

    def planned(keys: tuple[str, ...]) -> _Plan:
        node: Node = {".": _LEAF, **{"f:" + key: _LEAF for key in sorted(keys)}}
        makers = ((key, _maker(schema.fields.get(key, ANY))) for key in keys)
        trees = tuple((key, "f:" + key, make) for key, make in makers if make is not None)
        if len(plans) == _PLANS_MAX:
            plans.clear()
        plans[keys] = node, trees
        return node, trees

    def make(value: Any) -> Node:
        if value.__class__ is not dict:
            return _LEAF
        keys = tuple(value)
        node, trees = plans.get(keys) or planned(keys)
        if not trees:
            return node
        node = node.copy()
        for key, element, make_inner in trees:
            inner = value[key]
            if inner:
                node[element] = make_inner(inner)
        return node

    return make


def _map_maker(schema: Schema) -> _Maker:
    make_inner = _maker(schema.element or ANY)

    def make(value: Any) -> Node:
        node: Node = {".": _LEAF}
        if value.__class__ is dict:
            for key in sorted(value):
                inner = value[key]
                node["f:" + key] = make_inner(inner) if inner and make_inner else _LEAF
        return node

    return make


def _list_maker(schema: Schema) -> _Maker:
    make_inner = _maker(schema.element or ANY)

    def make(value: Any) -> Node:
        if value.__class__ is not list:
            return _LEAF
        node: Node = {".": _LEAF}
        for element, item in zip(item_elements(schema, value), value, strict=True):
            # Items that cannot be told apart are owned together, and not looked into.
            if make_inner is None or not item or element in node:
                node[element] = _LEAF
            else:
                node[element] = make_inner(item)
        return items_in_order(node)

    return make
