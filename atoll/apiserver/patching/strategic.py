"""Strategic merge patch, Kubernetes' own, driven by what the Schema says of lists and their keys.

In: the document, the decoded patch and the Schema of the document. Out: the patched document, which
shares what did not change. Directives: $patch (delete, replace), $retainKeys,
$deleteFromPrimitiveList/<list> and $setElementOrder/<list>. Mistakes of form are 400; contents that
do not fit are what kube-apiserver makes of them: 500 without a reason.
"""

from collections.abc import Hashable
from operator import itemgetter
from typing import Any

import orjson

from atoll.apiserver.patching.merge_patch import without_nulls
from atoll.apiserver.patching.wording import go_text, go_type, json_name, too_deep
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.status import ApiError, bad_request, plain_500, unprocessable
from atoll.wire import Wire

List = list[Any]

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"


def apply_strategic_patch(document: Wire, patch: Any, schema: Schema) -> Wire:
    """The document with the patch merged into it."""
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise bad_request(
            f"json: cannot unmarshal {json_name(patch)} into Go value of type "
            "map[string]interface {}"
        )
    try:
        return _merge_objects(document, patch, schema)
    except RecursionError:
        raise too_deep() from None


def _merge_objects(document: Wire, patch: Wire, schema: Schema) -> Wire:
    if _DIRECTIVE in patch:
        return _replaced_or_deleted(patch)
    result = _retained(document, patch)
    todo = {key: value for key, value in patch.items() if key != _RETAIN}
    for key in [key for key in todo if key.startswith(_ORDER)]:
        _merge_ordered(result, todo, key, schema)
    for key, value in todo.items():
        if key.startswith(_DELETE):
            _delete_from_list(result, key, value, schema)
        else:
            _merge_field(result, key, value, schema)
    return result


def _replaced_or_deleted(patch: Wire) -> Wire:
    if patch[_DIRECTIVE] == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if patch[_DIRECTIVE] == "delete":
        return {}
    raise _unknown_directive(patch)


def _unknown_directive(patch: Wire) -> ApiError:
    return plain_500(f"unknown patch type: {go_text(patch[_DIRECTIVE])} in map: {go_text(patch)}")


def _retained(document: Wire, patch: Wire) -> Wire:
    """A copy of the document with only the fields that $retainKeys names, if the patch has it."""
    if _RETAIN not in patch:
        return dict(document)
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise bad_request("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is None or key == _RETAIN or key.startswith((_DELETE, _ORDER)):
            continue
        if key not in keys:
            raise bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in document.items() if key in keys}


def _merge_field(result: Wire, key: str, value: Any, schema: Schema) -> None:
    """Merges one field of the patch into `result`, in place."""
    if value is None:
        result.pop(key, None)
        return
    current = result.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        result[key] = _merge_objects(current, value, _field(schema, key))
    elif isinstance(current, list) and isinstance(value, list):
        result[key] = _merge_lists(current, value, _field(schema, key))
    elif _has_directive(value):
        result.pop(key, None)
    else:
        result[key] = _without_directives(without_nulls(value))


def _delete_from_list(result: Wire, key: str, value: Any, schema: Schema) -> None:
    """Removes from a list of `result`, in place, the scalars that the directive names."""
    name = _listed(key, _DELETE, "invalid patch format of primitive list")
    if value is None:
        result.pop(name, None)
        return
    current = result.get(name)
    if isinstance(current, dict) and isinstance(value, dict):
        result[name] = _merge_objects(current, value, _field(schema, name))
    elif isinstance(current, list) and isinstance(value, list):
        field = _field(schema, name)
        if not current and not value:
            return
        if _uniform(current, value) is dict:
            result[name] = _merge_keyed(current, value, field)
        else:
            gone = places_of(value, "")
            result[name] = [item for item in current if identity(item) not in gone]


def _listed(key: str, prefix: str, otherwise: str) -> str:
    """The list that a directive is about; 400 if the directive names none."""
    directive, slash, name = key.partition("/")
    if directive != prefix or not slash:
        raise bad_request(otherwise)
    return name


def _field(schema: Schema, key: str) -> Schema:
    """The schema of a field of an object; its patch strategy is what merging needs of it."""
    if schema.type == "map":
        text = "merging an object in json but data type is not struct, instead is: map"
        raise plain_500(text)
    child = schema.fields.get(key)
    if child is None:
        text = f'unable to find api field in struct {schema.name} for the json field "{key}"'
        raise plain_500(text)
    return child


def _merge_lists(current: List, patch: List, schema: Schema) -> List:
    if not schema.merge:
        return patch
    if not current and not patch:
        return current
    if _uniform(current, patch) is dict:
        return _merge_keyed(current, patch, schema)
    both = list({identity(item): item for item in current + patch}.values())
    return arrange(both, patch, current, "")


def _merge_keyed(current: List, patch: List, schema: Schema) -> List:
    """Merges two lists of objects by their merge key."""
    merge_key = schema.merge_key
    if not merge_key:
        raise plain_500("cannot merge lists without merge key for struct")
    live, items = _with_deletions(current, patch, merge_key)
    element = schema.element
    assert element is not None, "a list that merges by key has elements"
    merged = list(live)
    places = places_of(merged, merge_key)
    for item in items:
        index = places.setdefault(identity(_required_key(item, merge_key)), len(merged))
        if index < len(merged):
            merged[index] = _merge_objects(merged[index], item, element)
        else:
            merged.append(item)
    for item in merged:
        _required_key(item, merge_key)
    return arrange(merged, items, live, merge_key)


def _with_deletions(current: List, patch: List, merge_key: str) -> tuple[List, List]:
    """The live items that are left, and the items of the patch that are no directives."""
    live = current
    items = [item for item in patch if _DIRECTIVE not in item]
    replace = False
    gone: set[Hashable] = set()
    for item in patch:
        directive = item.get(_DIRECTIVE, "")
        if _DIRECTIVE not in item:
            continue
        if directive == "delete":
            gone.add(identity(_required_key(item, merge_key)))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise plain_500("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if gone:
        live = [one for one in live if identity(key_of(one, merge_key)) not in gone]
    return (items, []) if replace else (live, items)


def _required_key(item: Any, merge_key: str) -> Any:
    if not isinstance(item, dict):
        raise plain_500(f"expected a {go_type({})}, but received a {go_type(item)}")
    if merge_key not in item:
        text = f"map: {go_text(item)} does not contain declared merge key: {merge_key}"
        raise plain_500(text)
    return item[merge_key]


def _uniform(current: List, patch: List) -> type:
    """The one type that all items have; they must have one, and it must not be list."""
    kinds = {type(item) for item in current + patch}
    if len(kinds) > 1:
        text = f"list element types are not identical: {go_text([current, patch])}"
        raise plain_500(text)
    if not kinds:
        raise plain_500("no elements in any of the given slices")
    kind = kinds.pop()
    if kind is list:
        raise unprocessable()
    return kind


def _merge_ordered(result: Wire, todo: Wire, directive: str, schema: Schema) -> None:
    """Merges a list and puts it in the order asked for, in `result`; takes both from `todo`."""
    order = todo.pop(directive)
    key = _listed(directive, _ORDER, "invalid patch format of setElementOrder list")
    _expect_list(order)
    for holder in (result, todo):
        if key in holder:
            _expect_list(holder[key])
    field = _field(schema, key)
    live, patch = result.get(key, []), todo.get(key, [])
    _check_order(patch, order, field.merge_key)
    if key in result and key in todo:
        merged = _merge_lists(live, patch, field)
    elif key in todo:
        merged = _without_directives(patch)
    elif key in result:
        merged = live
    else:
        return
    if _uniform(live, patch) is dict:
        for item in (*merged, *order):
            _required_key(item, field.merge_key)
    todo.pop(key, None)
    result[key] = arrange(merged, order, live, field.merge_key)


def _expect_list(value: Any) -> None:
    if not isinstance(value, list):
        raise plain_500(f"expected a {go_type([])}, but received a {go_type(value)}")


def _check_order(patch: List, order: List, merge_key: str) -> None:
    """The patch's own items must all be in the order asked for, and in that order."""
    if not patch or not order:
        return
    if merge_key:
        for item in patch:
            if not isinstance(item, dict):
                raise plain_500(f"expected a {go_type({})}, but received a {go_type(item)}")
    asked = iter(order)
    for item in patch:
        if _has_directive(item):
            continue
        key = _required_key(item, merge_key) if merge_key else item
        for wanted in asked:
            if same_key(key, _required_key(wanted, merge_key) if merge_key else wanted):
                break
        else:
            raise plain_500(
                f"The order in patch list:\n{go_text(patch)}\n doesn't match {_ORDER} list:\n"
                f"{go_text(order)}\n"
            )


def _has_directive(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _without_directives(value: Any) -> Any:
    """The value without the objects that are directives, at any depth."""
    if isinstance(value, dict):
        kept = value.items()
        return {key: _without_directives(child) for key, child in kept if not _has_directive(child)}
    if isinstance(value, list):
        return [_without_directives(child) for child in value if not _has_directive(child)]
    return value


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
    patched = [item for _, item in sorted(of_patch, key=itemgetter(0))]
    kept = [item for _, item in sorted(of_live, key=itemgetter(0))]
    return _interleave(kept, patched, in_live, merge_key)


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
