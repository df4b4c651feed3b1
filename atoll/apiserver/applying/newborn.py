"""The fields of a new object of a built-in kind: the quick way to what comparing it to the blank
object of its kind finds.

In: an object that fits its Schema. Out: the set of all that its maker set. For each Schema there is
a function that knows what to look into. Objects of one type with the same fields, of which none
leads further, have one node, made once and shared by all; so have maps with the same keys and lists
of the same items. A node that is shared must not be changed.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from atoll.apiserver.applying.fieldset import FieldSet, Node, items_in_order
from atoll.apiserver.applying.typed import everything, item_elements
from atoll.apiserver.schemas.schema import ANY, Schema

_BUILT_IN = ("io.k8s.api.", "io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator.")
_TIMES = ("date-time", "micro-time")  # some are structs held by value, written as null


def is_built_in(schema: Schema) -> bool:
    """Whether objects of this schema are of a Go type, as told by the name of its definition."""
    return schema.definition.startswith(_BUILT_IN)


@lru_cache(maxsize=1024)
def blank(schema: Schema) -> dict[str, Any]:
    """The object of this schema in which nothing is set; not to be changed."""
    return _zero(schema) if is_built_in(schema) else {}


def _zero(schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in schema.fields.items():
        if field.type == "object" and field.default == {}:
            found[name] = _zero(field)
        elif field.default in ("", 0, False):
            found[name] = field.default
        elif name in schema.required or field.format in _TIMES:
            found[name] = None
    return found


_LEAF: Node = {}
# How many combinations of fields, keys or items are remembered of one type, and how large ones.
_PLANS_MAX = 256
_REMEMBERED_KEYS, _REMEMBERED_LETTERS = 32, 1024

# Gives the node of a value that is not empty.
_Maker = Callable[[Any], Node]
_Plan = tuple[Node, tuple[tuple[str, str, _Maker], ...]]


def fields_of_new(obj: dict[str, Any], schema: Schema) -> FieldSet:
    """The fields in which a new object, which fits its schema, is more than a blank one."""
    return _beyond(blank(schema), obj, schema)


class _Field(NamedTuple):
    """A field of a struct that is always there: how it is written, and what it begins with."""

    key: str
    element: str
    make: _Maker | None
    is_there: bool  # before anybody sets it
    zero: Any
    within: Schema | None  # if it is itself such a struct


@cache
def _structs(_: Schema) -> dict[tuple[str, ...], list[_Field]]:
    """The fields of a struct, in their order, by which of them are set."""
    return {}


def _fields(before: dict[str, Any], schema: Schema, keys: tuple[str, ...]) -> list[_Field]:
    found = []
    for key in sorted(keys):
        within, zero = schema.fields.get(key, ANY), before.get(key)
        is_struct = zero.__class__ is dict and not within.atomic
        there, inner = key in before, within if is_struct else None
        found.append(_Field(key, "f:" + key, _maker(within), there, zero, inner))
    known = _structs(schema)
    if len(known) == _PLANS_MAX:
        known.clear()
    known[keys] = found
    return found


def _beyond(before: dict[str, Any], after: dict[str, Any], schema: Schema) -> Node:
    """What is in a struct that was there before, with fields of zero values, to begin with."""
    node: Node = {}
    keys = tuple(after)
    fields = _structs(schema).get(keys) or _fields(before, schema, keys)
    for key, element, make, is_there, zero, within in fields:
        value = after[key]
        if is_there:
            if zero == value:
                continue
            if within is not None and value.__class__ is dict:
                inner = _beyond(zero, value, within)
                if inner:
                    node[element] = inner
                continue
        inner = make(value) if make is not None and value else _LEAF
        if is_there and "." in inner:  # it was there, though there was nothing in it
            inner = {name: each for name, each in inner.items() if name != "."}
        node[element] = inner
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
    plans: dict[tuple[str, ...], Node] = {}

    def planned(keys: tuple[str, ...]) -> Node:
        node: Node = {".": _LEAF, **{"f:" + key: _LEAF for key in sorted(keys)}}
        if _may_remember(keys):
            if len(plans) == _PLANS_MAX:
                plans.clear()
            plans[keys] = node
        return node

    def make(value: Any) -> Node:
        if value.__class__ is not dict:
            return {".": _LEAF}
        keys = tuple(value)
        node = plans.get(keys) or planned(keys)
        if make_inner is None:
            return node
        return node | {"f:" + key: make_inner(inner) for key, inner in value.items() if inner}

    return make


def _list_maker(schema: Schema) -> _Maker:
    make_inner = _maker(schema.element or ANY)
    outlined = _outliner(schema)
    plans: dict[tuple[Any, ...], Node | None] = {}

    def made(value: list[Any]) -> Node:
        node: Node = {".": _LEAF}
        for element, item in zip(item_elements(schema, value), value, strict=True):
            # Items that cannot be told apart are owned together, and not looked into.
            if make_inner is None or not item or element in node:
                node[element] = _LEAF
            else:
                node[element] = make_inner(item)
        return items_in_order(node)

    def make(value: Any) -> Node:
        if value.__class__ is not list:
            return _LEAF
        if outlined is None or len(value) > _REMEMBERED_KEYS:
            return made(value)
        try:
            outline = outlined(value)
            node = plans.get(outline)
        except (TypeError, KeyError):  # an item without its key, or something else altogether
            return made(value)
        if node is None:
            node = made(value)
            if outline not in plans and _may_remember([one[0] for one in outline]):
                if len(plans) == _PLANS_MAX:
                    plans.clear()
                plans[outline] = node if _are_flat(schema.element, value) else None
        return node

    return make


def _outliner(schema: Schema) -> Callable[[list[Any]], tuple[Any, ...]] | None:
    """What tells lists of flat items apart: their keys, and which fields they have."""
    if schema.list_type != "map":
        return None
    match schema.list_keys:
        case (one,):
            return lambda items: tuple([(item[one], *item) for item in items])
        case (one, two):
            return lambda items: tuple([(item[one], item.get(two), *item) for item in items])
    return None


def _are_flat(schema: Schema | None, items: list[dict[str, Any]]) -> bool:
    """Whether all that counts of such items is which fields they have, beside their keys."""
    if schema is None or schema.type != "object" or schema.atomic:
        return False
    return all(_maker(schema.fields.get(key, ANY)) is None for item in items for key in item)


def _may_remember(names: Sequence[Any]) -> bool:
    """What clients choose must not make what is remembered big."""
    if len(names) > _REMEMBERED_KEYS:
        return False
    return sum(len(name) for name in names if name.__class__ is str) <= _REMEMBERED_LETTERS
