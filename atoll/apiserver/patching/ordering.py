"""In which order a strategically merged list stands.

The patch says how its own items stand to each other, the live list how the others do; the two are
then interleaved so that items of the live list keep their places where both know of them. Items are
told apart by a merge key, or, where there is none, are scalars and are themselves their key.
"""

from typing import Any

List = list[Any]


def key_of(item: Any, merge_key: str) -> Any:
    """What identifies an item; null if it lacks its merge key."""
    if not merge_key:
        return item
    return item.get(merge_key) if isinstance(item, dict) else None


def same_key(left: Any, right: Any) -> bool:
    """Equal as Go compares them: 1 is neither true nor 1.0."""
    return type(left) is type(right) and bool(left == right)


def index_of(items: List, key: Any, merge_key: str) -> int:
    """Where the first item with this key stands; -1 if nowhere."""
    for index, item in enumerate(items):
        if same_key(key_of(item, merge_key), key):
            return index
    return -1


def arrange(merged: List, patch_order: List, live_order: List, merge_key: str) -> List:
    """The merged items in the order that the patch and the live list ask for."""
    of_patch: list[tuple[int, Any]] = []
    of_live: list[tuple[int, Any]] = []
    for item in merged:
        index = index_of(patch_order, key_of(item, merge_key), merge_key)
        if index >= 0:
            of_patch.append((index, item))
        else:
            place = index_of(live_order, key_of(item, merge_key), merge_key)
            of_live.append((place if place >= 0 else len(live_order), item))
    patched = [item for _, item in sorted(of_patch, key=_first)]
    kept = [item for _, item in sorted(of_live, key=_first)]
    return _interleave(kept, patched, live_order, merge_key)


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _interleave(kept: List, patched: List, live_order: List, merge_key: str) -> List:
    """Both lists in one; a kept item goes first only where the live list puts it first."""
    result: List = []
    waiting = iter(patched)
    places = [index_of(live_order, key_of(item, merge_key), merge_key) for item in kept]
    taken = 0
    for item in waiting:
        place = index_of(live_order, key_of(item, merge_key), merge_key)
        while taken < len(kept) and 0 <= places[taken] < place:
            result.append(kept[taken])
            taken += 1
        result.append(item)
    return result + kept[taken:]
