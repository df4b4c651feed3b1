"""In which order a strategically merged list stands.

The patch says how its own items stand to each other, the live list how the others do; the two are
then interleaved so that items of the live list keep their places where both know of them. Items are
told apart by a merge key, or, where there is none, are scalars and are themselves their key.
"""

from collections.abc import Hashable
from typing import Any

import orjson

List = list[Any]


def key_of(item: Any, merge_key: str) -> Any:
    """What identifies an item; null if it lacks its merge key."""
    if not merge_key:
        return item
    return item.get(merge_key) if isinstance(item, dict) else None


def same_key(left: Any, right: Any) -> bool:
    """Equal as Go compares them: 1 is neither true nor 1.0."""
    return type(left) is type(right) and bool(left == right)


def identity(key: Any) -> Hashable:
    """The same for keys that are the same, to look them up by: lists may be long."""
    if isinstance(key, dict | list):
        return type(key), orjson.dumps(key, option=orjson.OPT_SORT_KEYS)
    return type(key), key


def places_of(items: List, merge_key: str) -> dict[Hashable, int]:
    """Where the first item with each key stands."""
    places: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        places.setdefault(identity(key_of(item, merge_key)), index)
    return places


def arrange(merged: List, patch_order: List, live_order: List, merge_key: str) -> List:
    """The merged items in the order that the patch and the live list ask for."""
    of_patch: list[tuple[int, Any]] = []
    of_live: list[tuple[int, Any]] = []
    in_patch, in_live = places_of(patch_order, merge_key), places_of(live_order, merge_key)
    for item in merged:
        key = identity(key_of(item, merge_key))
        if key in in_patch:
            of_patch.append((in_patch[key], item))
        else:
            of_live.append((in_live.get(key, len(live_order)), item))
    patched = [item for _, item in sorted(of_patch, key=_first)]
    kept = [item for _, item in sorted(of_live, key=_first)]
    return _interleave(kept, patched, in_live, merge_key)


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _interleave(kept: List, patched: List, in_live: dict[Hashable, int], merge_key: str) -> List:
    """Both lists in one; a kept item goes first only where the live list puts it first."""
    result: List = []
    waiting = iter(patched)
    places = [in_live.get(identity(key_of(item, merge_key)), -1) for item in kept]
    taken = 0
    for item in waiting:
        place = in_live.get(identity(key_of(item, merge_key)), -1)
        while taken < len(kept) and 0 <= places[taken] < place:
            result.append(kept[taken])
            taken += 1
        result.append(item)
    return result + kept[taken:]
