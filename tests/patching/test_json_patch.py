"""JSON patch against a naive model that copies everything, and against the rules of the RFC."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.patching.json_patch import apply_json_patch
from atoll.apiserver.status import ApiError

keys = st.sampled_from(["a", "b", "c/d", "e~f", "0", "1", "-", ""])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, "x", "y", ""])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(keys, values, max_size=4)
tokens = st.sampled_from(["a", "b", "c~1d", "e~0f", "0", "1", "2", "-", "-1", "-9", "01", ""])
pointers = st.lists(tokens, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts))
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
    optional={"from": pointers, "value": values},
)
json_values = st.recursive(
    scalars | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


class Refused(Exception):
    """The naive model cannot carry the patch out."""


def unescaped(pointer: str) -> list[str]:
    parts = pointer.split("/")[1:]
    if not parts:
        raise Refused
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def position(container: Any, token: str, size: int) -> Any:
    if isinstance(container, dict):
        return token
    digits = token[1:] if token[:1] in ("-", "+") else token
    if not isinstance(container, list) or not digits.isdigit() or not -size <= int(token) < size:
        raise Refused
    return int(token) % size


def walk(document: Any, parts: list[str]) -> Any:
    for part in parts:
        if isinstance(document, dict):
            if part not in document:
                raise Refused
            document = document[part]
        elif isinstance(document, list):
            document = document[position(document, part, len(document))]
        else:
            raise Refused
    if not isinstance(document, dict | list):
        raise Refused
    return document


def read(document: Any, pointer: str) -> Any:
    *parents, last = unescaped(pointer)
    container = walk(document, parents)
    if isinstance(container, dict):
        return container.get(last)
    return container[position(container, last, len(container))]


def insert(document: Any, pointer: str, value: Any) -> None:
    *parents, last = unescaped(pointer)
    container = walk(document, parents)
    if isinstance(container, dict):
        container[last] = value
    elif last == "-":
        container.append(value)
    else:
        container.insert(position(container, last, len(container) + 1), value)


def take(document: Any, pointer: str) -> Any:
    *parents, last = unescaped(pointer)
    container = walk(document, parents)
    if isinstance(container, dict) and last not in container:
        raise Refused
    return container.pop(position(container, last, len(container)))


def naive(document: Any, patch: list[dict[str, Any]]) -> Any:
    document = copy.deepcopy(document)
    for operation in copy.deepcopy(patch):
        kind, path, value = operation["op"], operation["path"], operation.get("value")
        if kind in ("move", "copy") and "from" not in operation:
            raise Refused
        if kind == "replace" and path == "":
            if not isinstance(value, dict | list):
                raise Refused
            document = value
        elif kind == "replace":
            *parents, last = unescaped(path)
            container = walk(document, parents)
            container[position(container, last, len(container))] = value
        elif kind == "add":
            insert(document, path, value)
        elif kind == "remove":
            take(document, path)
        elif kind == "move":
            insert(document, path, take(document, operation["from"]))
        elif kind == "copy":
            insert(document, path, copy.deepcopy(read(document, operation["from"])))
        elif repr_of(document if path == "" else read(document, path)) != repr_of(value):
            raise Refused
    return document


def repr_of(value: Any) -> Any:
    """Something that is equal only for values that are equal and of the same types."""
    if isinstance(value, dict):
        return {key: repr_of(child) for key, child in value.items()}
    return [repr_of(child) for child in value] if isinstance(value, list) else repr(value)


def code_of(document: Any, patch: Any) -> int:
    try:
        apply_json_patch(document, patch)
    except ApiError as refusal:
        return refusal.code
    return 200


@given(document=documents, patch=st.lists(operations, max_size=5))
def test_a_patch_does_what_the_naive_model_does(document, patch):
    try:
        expected = naive(document, patch)
    except Refused:
        with pytest.raises(ApiError) as refusal:
            apply_json_patch(document, patch)
        assert refusal.value.code == 422
    else:
        assert repr_of(apply_json_patch(document, patch)) == repr_of(expected)


@given(document=documents, patch=st.lists(operations, max_size=5))
def test_neither_document_nor_patch_changes(document, patch):
    before = copy.deepcopy((document, patch))
    code_of(document, patch)
    assert (document, patch) == before


@given(document=documents, patch=json_values)
def test_anything_but_a_patch_is_refused_and_never_crashes(document, patch):
    assert code_of(document, patch) in (200, 400, 422)


@given(document=documents, key=keys, value=values)
def test_what_is_added_is_there_and_what_is_removed_is_gone(document, key, value):
    path = "/" + key.replace("~", "~0").replace("/", "~1")
    added = apply_json_patch(document, [{"op": "add", "path": path, "value": value}])
    assert added[key] == value
    removed = apply_json_patch(added, [{"op": "remove", "path": path}])
    assert removed == {k: v for k, v in document.items() if k != key}


def test_what_no_operation_touches_is_shared():
    document = {"a": {"x": 1}, "b": {"y": [1]}}
    patched = apply_json_patch(document, [{"op": "add", "path": "/a/z", "value": 2}])
    assert patched["b"] is document["b"]
    assert patched["a"] == {"x": 1, "z": 2}


def test_a_copy_is_independent_of_its_source():
    patch = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/x", "value": 2},
        {"op": "add", "path": "/a/y", "value": 3},
    ]
    assert apply_json_patch({"a": {}}, patch) == {"a": {"y": 3}, "b": {"x": 2}}


def test_copies_cannot_grow_without_bound():
    doubling = {"op": "copy", "from": "/a", "path": "/a/-"}
    with pytest.raises(ApiError) as refusal:
        apply_json_patch({"a": ["x" * 1000]}, [doubling] * 100)
    assert refusal.value.code == 422


def test_nesting_without_end_is_refused():
    deep: Any = 1
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ApiError) as refusal:
        apply_json_patch({"d": deep}, [{"op": "test", "path": "/d", "value": copy_of(deep)}])
    assert refusal.value.code in (400, 422)


def copy_of(deep: Any) -> Any:
    """A copy of a chain of objects, without recursion."""
    length = 0
    while isinstance(deep, dict):
        deep, length = deep["a"], length + 1
    for _ in range(length):
        deep = {"a": deep}
    return deep


def test_too_many_operations_are_refused_with_their_number():
    patch = [{"op": "test", "path": "/a", "value": None}] * 10_001
    with pytest.raises(ApiError) as refusal:
        apply_json_patch({}, patch)
    assert refusal.value.code == 413
    assert refusal.value.message.endswith("is 10000, got 10001")
