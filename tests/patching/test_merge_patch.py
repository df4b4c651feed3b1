"""Merge patch: the examples of the RFC, and its laws."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.patching.merge_patch import apply_merge_patch
from atoll.apiserver.status import ApiError

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=2)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)
objects = st.dictionaries(st.sampled_from("abc"), values)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replace"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="add"),
        pytest.param({"a": "b"}, {"a": None}, {}, id="remove"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="remove-one-of-two"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="list-to-scalar"),
        pytest.param({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="scalar-to-list"),
        pytest.param(
            {"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="nested"
        ),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="lists-are-replaced"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="nulls-of-the-document-stay"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="nulls-never-appear"),
        pytest.param({"a": 1}, {"a": [{"b": None}]}, {"a": [{}]}, id="nor-inside-new-lists"),
        pytest.param(
            {"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}, id="but-in-lists-for-objects"
        ),
    ],
)
def test_a_merge_patch(document: Any, patch: Any, result: Any) -> None:
    assert apply_merge_patch(document, patch) == result


@given(document=objects, patch=objects)
def test_patching_twice_is_patching_once(document, patch):
    once = apply_merge_patch(document, patch)
    assert apply_merge_patch(once, patch) == once


@given(document=objects)
def test_the_empty_patch_changes_nothing(document):
    assert apply_merge_patch(document, {}) == document


@given(document=objects, patch=objects)
def test_what_the_patch_does_not_name_stays(document, patch):
    result = apply_merge_patch(document, patch)
    for key in document.keys() - patch.keys():
        assert result[key] is document[key]
    for key in patch:
        assert (key in result) == (patch[key] is not None)


@given(document=objects, first=objects, second=objects)
def test_patches_of_different_fields_commute(document, first, second):
    first = {key: value for key, value in first.items() if key not in second}
    one_way = apply_merge_patch(apply_merge_patch(document, first), second)
    other_way = apply_merge_patch(apply_merge_patch(document, second), first)
    assert one_way == other_way


@given(document=objects, patch=objects)
def test_neither_document_nor_patch_changes(document, patch):
    before = copy.deepcopy((document, patch))
    apply_merge_patch(document, patch)
    assert (document, patch) == before


@pytest.mark.parametrize("patch", [None, [], 5, "x", True, 0.5])
def test_what_is_no_object_is_refused(patch: Any) -> None:
    with pytest.raises(ApiError) as refusal:
        apply_merge_patch({}, patch)
    assert refusal.value.code == 400


def test_nesting_without_end_is_refused():
    deep: Any = 1
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ApiError) as refusal:
        apply_merge_patch({}, {"a": deep})
    assert refusal.value.code == 400
