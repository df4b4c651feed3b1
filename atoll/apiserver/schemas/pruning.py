"""Dropping what a custom resource's schema does not name.

In: the Schema of a kind and an object. Out: an object without unknown fields, and their paths; or
without nulls that may not be null. What is in the object decides how it is walked, not what should
be: a list where an object belongs is pruned as a list and refused by validation later. Copies only
what changes; metadata is the business of whoever reads metadata.
"""

from typing import Any

from atoll.apiserver.schemas.schema import ABSENT, Schema
from atoll.wire import Wire

_META = frozenset(["apiVersion", "kind", "metadata"])

# Values of a map whose schema is only `additionalProperties: true`. To others it is any value; to
# pruning, an object in such a place has no known fields.
UNSPECIFIED = Schema("any")


def prune(schema: Schema, value: Any, dropped: list[str] | None = None) -> Any:
    """The object with only the fields its schema names; `dropped` is told the paths, sorted."""
    lost: list[str] = []
    pruned = _prune(schema, value, lost)
    if dropped is not None:
        # A root that names no metadata loses nothing by it: metadata is implied there.
        dropped.extend(sorted(lost))
    return pruned


def _prune(schema: Schema | None, value: Any, lost: list[str]) -> Any:
    if value.__class__ is dict:
        return _prune_object(schema, value, lost)
    if value.__class__ is list:
        inner = schema.element if schema is not None and schema.type == "list" else None
        if inner is None and _keeps(schema):
            return value
        return _prune_list(inner, value, lost)
    return value


def _prune_object(schema: Schema | None, value: Wire, lost: list[str]) -> Wire:
    if schema is None or schema is UNSPECIFIED:
        lost.extend(value)
        return {}
    fields, rest = schema.fields, schema.element if schema.type != "list" else None
    changed: Wire = {}
    gone: list[str] = []
    for key, item in value.items():
        child = fields.get(key) or rest
        if schema.embedded and key in _META:
            continue
        if child is None:
            if not _keeps(schema):
                gone.append(key)
            continue
        if item.__class__ is not dict and item.__class__ is not list:
            continue
        before = len(lost)
        inner = _prune(child, item, lost)
        if len(lost) > before:
            _prefix(key, lost, before)
        if inner is not item:
            changed[key] = inner
    if not changed and not gone:
        return value
    lost.extend(gone)
    return {k: changed.get(k, v) for k, v in value.items() if k not in gone}


def _prune_list(inner: Schema | None, value: list[Any], lost: list[str]) -> list[Any]:
    pruned = []
    same = True
    for index, item in enumerate(value):
        before = len(lost)
        pruned.append(_prune(inner, item, lost))
        if len(lost) > before:
            _prefix(f"[{index}]", lost, before)
        same = same and pruned[-1] is item
    return value if same else pruned


def _keeps(schema: Schema | None) -> bool:
    if schema is None or schema is UNSPECIFIED:
        return False
    return schema.preserve_unknown or schema.type == "any"


def _prefix(step: str, lost: list[str], start: int) -> None:
    for index in range(start, len(lost)):
        joint = "" if lost[index].startswith("[") else "."
        lost[index] = f"{step}{joint}{lost[index]}"


def drop_nulls(schema: Schema | None, value: Any) -> Any:
    """The value without nulls in fields that have neither a default nor permission to be null.

    A null that has a default stays, for defaulting to replace; what no schema names stays as it is.
    """
    if schema is None:
        return value
    if value.__class__ is dict:
        kept: Wire = {}
        for key, item in value.items():
            child = schema.child(key)
            if item is None:
                if child is None or child.nullable or child.default is not ABSENT:
                    kept[key] = item
            else:
                kept[key] = drop_nulls(child, item)
        same = len(kept) == len(value) and all(kept[key] is value[key] for key in kept)
        return value if same else kept
    if value.__class__ is list:
        inner = schema.element if schema.type == "list" else None
        items = [drop_nulls(inner, item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value
