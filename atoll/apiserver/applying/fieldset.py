"""Sets of fields, and their algebra.

A set is kept as what managedFields holds, its FieldsV1: a tree of path elements. A node stands for
a field and, if it is empty or has ".", that field itself is in the set; its other keys lead to
fields within. So stored sets need no decoding, parts that do not change are shared, and the order
of keys is kube-apiserver's, given that it was in the operands. At the top, {} is the empty set.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from atoll.apiserver.applying.elements import BadElement, order, parse

FieldSet = dict[str, Any]
Node = dict[str, Any]
Path = tuple[str, ...]  # of path elements


_NOTHING: FieldSet = {}


class BadFields(Exception):
    """The value is not the FieldsV1 of anything."""


def in_order(node: Node) -> Node:
    """The same node with its keys in kube-apiserver's order (its children are left as they are)."""
    if len(node) < 2:
        return node
    keys = list(node)
    ordered = sorted(keys)
    if ordered[-1][0] != "f":  # there are items among them, which go by their values
        ordered.sort(key=order)
    return node if keys == ordered else {key: node[key] for key in ordered}


def items_in_order(node: Node) -> Node:
    """The same, for a node that is known to lead to the items of a list."""
    if len(node) < 2:
        return node
    keys = tuple(node)
    if len(keys) <= _REMEMBERED_KEYS and sum(map(len, keys)) <= _REMEMBERED_LETTERS:
        ordered = _remembered_order(keys)
    else:
        ordered = _ordered(keys)
    return node if keys == ordered else {key: node[key] for key in ordered}


def _ordered(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(keys, key=order))


# Lists of the same items are on very many objects.
_remembered_order = lru_cache(maxsize=1024)(_ordered)
_REMEMBERED_KEYS, _REMEMBERED_LETTERS = 32, 2048


def leaf_or(node: Node) -> Node:
    """A node that has nothing but itself is written as empty."""
    return {} if len(node) == 1 and "." in node else node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields that are in either set."""
    if not left or left is right:
        return right
    return _union(left, right) if right else left


def _union(left: Node, right: Node) -> Node:
    if left is right:
        return left
    if not left:
        return right if not right or "." in right else {".": {}, **right}
    if not right:
        return left if "." in left else {".": {}, **left}
    result = dict(left)
    for key, node in right.items():
        known = result.get(key)
        if known is None:
            result[key] = node
        elif key != ".":
            result[key] = _union(known, node)
    return result if len(result) == len(left) else in_order(result)


def union_of(sets: Sequence[FieldSet]) -> FieldSet:
    """The fields that are in any of these sets: two by two, so that no field is moved often."""
    while len(sets) > 1:
        pairs = zip_longest(sets[::2], sets[1::2], fillvalue=_NOTHING)
        sets = [union(one, other) for one, other in pairs]
    return sets[0] if sets else {}


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields that are in both sets."""
    result: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if other is not None and key != ".":
            common = _intersection(node, other)
            if common is not None:
                result[key] = common
    return result


def _intersection(left: Node, right: Node) -> Node | None:
    within = intersection(left, right)
    if (not left or "." in left) and (not right or "." in right):
        return {".": {}, **within} if within else {}
    return within or None


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields that are in the left set only; the very same object if nothing goes."""
    if not left or not right:
        return left
    return _difference(left, right) or {}


def _difference(left: Node, right: Node) -> Node | None:
    if not left:
        return None if not right or "." in right else left
    if not right:
        return left if "." not in left else {k: v for k, v in left.items() if k != "."}
    result: Node = {}
    same = True
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            result[key] = node
        elif key == ".":
            same = False
        else:
            rest = _difference(node, other)
            same = same and rest is node
            if rest is not None:
                result[key] = rest
    if same:
        return left
    return leaf_or(result) if result else None


def without(fields: FieldSet, paths: Iterable[Path]) -> FieldSet:
    """The set without these fields and everything within them."""
    for path in paths:
        fields = _without(fields, path) or {}
    return fields


def _without(node: Node, path: Path) -> Node | None:
    head, *rest = path
    child = node.get(head)
    if child is None:
        return node
    kept = _without(child, tuple(rest)) if rest and child else None
    if kept is child or (rest and not child):
        return node
    result = {k: v for k, v in node.items() if k != head}
    if kept is not None:
        result = {k: kept if k == head else v for k, v in node.items()}
    return leaf_or(result) if result else None


def has(fields: FieldSet, path: Path) -> bool:
    """Whether the field at the path itself is in the set."""
    node = fields
    for element in path:
        found = node.get(element)
        if found is None:
            return False
        node = found
    return not node or "." in node


def paths(fields: FieldSet) -> Iterator[Path]:
    """Every field of the set; those of one level before those within them."""
    for key, node in fields.items():
        if key != "." and (not node or "." in node):
            yield (key,)
    for key, node in fields.items():
        if key != ".":
            for rest in paths(node):
                yield (key, *rest)


def of_path(path: Path) -> FieldSet:
    """The set of one field."""
    node: Node = {}
    for element in reversed(path):
        node = {element: node}
    return node


def read(fields: Any) -> FieldSet:
    """What a client sent as FieldsV1, in the one form that the algebra relies on."""
    if not isinstance(fields, dict):
        raise BadFields(fields)
    result: FieldSet = {}
    for key, value in fields.items():
        if key == ".":
            continue
        try:
            element = parse(key)
        except BadElement as error:
            raise BadFields(str(error)) from None
        if element is not None:
            result[element] = _read_node(value)
    return in_order(result)


def _read_node(value: Any) -> Node:
    within = read(value)
    return {".": {}, **within} if within and "." in value else within
