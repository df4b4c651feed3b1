"""Strategic merge patch: what it promises for any document and any patch."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.patching.strategic import apply_strategic_patch
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.schemas.schema import Schema
from atoll.apiserver.status import ApiError

STRING = Schema("string")
ITEM = Schema("object", name="Item")
ITEM.fields |= {
    "name": STRING,
    "value": STRING,
    "tags": Schema("list", element=STRING, merge=True),
    "inner": Schema("list", element=ITEM, merge=True, merge_key="name"),
    "labels": Schema("map", element=STRING),
}
DEPLOYMENT = load().schema("io.k8s.api.apps.v1.Deployment")

texts = st.sampled_from(["a", "b", "c"])
tags = st.lists(texts, unique=True, max_size=3)
items = st.deferred(
    lambda: st.fixed_dictionaries(
        {"name": texts},
        optional={"value": texts, "tags": tags, "labels": labels, "inner": inner},
    )
)
labels = st.dictionaries(texts, texts, max_size=2)
inner = st.lists(items, max_size=3, unique_by=lambda item: item["name"])
patches = st.fixed_dictionaries(
    {},
    optional={
        "name": st.none() | texts,
        "value": st.none() | texts,
        "tags": st.none() | tags,
        "labels": st.none() | st.dictionaries(texts, st.none() | texts, max_size=3),
        "inner": st.none() | inner,
    },
)
directives = st.sampled_from(
    [
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/tags",
        "$deleteFromPrimitiveList/tags",
        "$setElementOrder",
        "spec",
        "template",
        "containers",
        "metadata",
        "finalizers",
        "name",
        "inner",
        "tags",
        "labels",
    ]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "delete", "replace"]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(directives, inside, max_size=4),
    max_leaves=12,
)


def code_of(document: Any, patch: Any, schema: Schema) -> int:
    try:
        apply_strategic_patch(document, patch, schema)
    except ApiError as refusal:
        return refusal.code
    return 200


@pytest.mark.parametrize("schema", [ITEM, DEPLOYMENT], ids=["item", "deployment"])
@given(document=st.dictionaries(directives, anything, max_size=4), patch=anything)
def test_any_patch_of_any_document_works_or_is_refused(schema, document, patch):
    before = copy.deepcopy((document, patch))
    assert code_of(document, patch, schema) in (200, 400, 422, 500)
    assert (document, patch) == before


@given(document=items, patch=patches)
def test_a_patch_without_directives_is_a_fixpoint(document, patch):
    once = apply_strategic_patch(document, patch, ITEM)
    assert apply_strategic_patch(once, patch, ITEM) == once


@given(document=items)
def test_the_empty_patch_changes_nothing(document):
    assert apply_strategic_patch(document, {}, ITEM) == document


@given(document=items, patch=patches)
def test_merging_lists_never_loses_or_doubles_an_item(document, patch):
    result = apply_strategic_patch(document, patch, ITEM)
    if patch.get("inner") is not None:
        names = [item["name"] for item in result["inner"]]
        wanted = {item["name"] for item in [*document.get("inner", []), *patch["inner"]]}
        assert len(names) == len(set(names))
        assert set(names) == wanted


@given(document=items, order=tags, patch=tags)
def test_the_order_asked_for_is_the_order_there_is(document, order, patch):
    wanted = [*order, *(tag for tag in patch if tag not in order)]
    body = {"$setElementOrder/tags": wanted, "tags": [tag for tag in wanted if tag in patch]}
    if "tags" not in document or not (document["tags"] or patch):
        return
    result = apply_strategic_patch(document, body, ITEM)["tags"]
    assert [tag for tag in result if tag in wanted] == [tag for tag in wanted if tag in result]


@given(document=items, gone=tags)
def test_what_is_deleted_from_a_list_of_scalars_is_gone(document, gone):
    result = apply_strategic_patch(document, {"$deleteFromPrimitiveList/tags": gone}, ITEM)
    kept = [tag for tag in document.get("tags", []) if tag not in gone]
    assert result.get("tags", []) == kept


def test_nesting_without_end_is_refused():
    deep: Any = {"name": "a"}
    for _ in range(2000):
        deep = {"name": "a", "inner": [deep]}
    with pytest.raises(ApiError) as refusal:
        apply_strategic_patch(deep, deep, ITEM)
    assert refusal.value.code == 400
