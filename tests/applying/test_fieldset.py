"""Sets of fields obey the laws of sets, and are written as kube-apiserver writes them."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.applying.elements import BadElement, of_keys, order, parse, shown
from atoll.apiserver.applying.fieldset import (
    BadFields,
    difference,
    has,
    in_order,
    intersection,
    of_path,
    paths,
    read,
    union,
    without,
)

elements = st.sampled_from(
    [
        *("f:a", "f:b", "f:c", 'v:"t"', "v:9", "v:10", "i:1"),
        *('k:{"name":"x"}', 'k:{"port":80}', 'k:{"port":443}'),
    ]
)
field_paths = st.lists(elements, min_size=1, max_size=4).map(tuple)
members = st.frozensets(field_paths, max_size=8)


def set_of(found: Any) -> Any:
    fields: Any = {}
    for path in sorted(found):
        fields = union(fields, of_path(path))
    return fields


def is_ordered(node: Any) -> bool:
    keys = list(node)
    return keys == sorted(keys, key=order) and all(is_ordered(child) for child in node.values())


def is_minimal(node: Any) -> bool:
    """Whether nothing but a leaf is empty, and no leaf says that it is itself."""
    return list(node) != ["."] and all(is_minimal(child) for child in node.values())


@given(found=members)
def test_a_set_has_the_fields_it_was_made_of(found):
    fields = set_of(found)
    assert frozenset(paths(fields)) == found
    assert len(list(paths(fields))) == len(found)
    assert all(has(fields, path) for path in found)


@given(left=members, right=members)
def test_the_algebra_is_that_of_sets(left, right):
    one, other = set_of(left), set_of(right)
    before = copy.deepcopy((one, other))
    for result, expected in (
        (union(one, other), left | right),
        (intersection(one, other), left & right),
        (difference(one, other), left - right),
    ):
        assert frozenset(paths(result)) == expected
        assert result == set_of(expected), "equal sets are written alike"
        assert is_ordered(result)
        assert is_minimal(result)
    assert (one, other) == before


@given(left=members, right=members)
def test_a_difference_that_takes_nothing_is_the_very_same_set(left, right):
    one = set_of(left)
    assert difference(one, set_of(right - left)) is one


@given(found=members, gone=field_paths)
def test_a_field_goes_with_everything_within_it(found, gone):
    result = without(set_of(found), [gone])
    kept = frozenset(path for path in found if path[: len(gone)] != gone)
    assert frozenset(paths(result)) == kept
    assert is_minimal(result)


@given(found=members)
def test_what_is_written_reads_back(found):
    fields = set_of(found)
    assert json.dumps(read(json.loads(json.dumps(fields)))) == json.dumps(fields)


@given(found=members, seed=st.randoms())
def test_the_order_in_which_a_client_writes_does_not_matter(found, seed):
    def shuffled(node: Any) -> Any:
        keys = list(node)
        seed.shuffle(keys)
        return {key: shuffled(node[key]) for key in keys}

    fields = set_of(found)
    assert json.dumps(read(shuffled(fields))) == json.dumps(fields)


@given(
    sent=st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from([".", "f:a", "f:", "k:{}", "k:[", "v:", "i:x", "i:1", "x:y", ""]),
                inner,
            )
        ),
        max_leaves=8,
    )
)
def test_anything_can_be_sent_as_fields(sent):
    try:
        fields = read(sent)
    except BadFields:
        return
    assert read(fields) == fields


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}', id="keys-are-sorted"),
        pytest.param("v: true", "v:true", id="spaces-go"),
        pytest.param("v:1.0", "v:1", id="whole-numbers"),
        pytest.param("i:007", "i:7", id="indices"),
        pytest.param("f:a b:c", "f:a b:c", id="fields-are-taken-as-they-are"),
        pytest.param('v:"<"', 'v:"\\u003c"', id="html-is-escaped"),
        pytest.param("z:new", None, id="unknown-kinds-are-dropped"),
    ],
)
def test_elements_have_one_form(sent, kept):
    assert parse(sent) == kept


@pytest.mark.parametrize("sent", ["", "f", "fa", "k:1", "k:{", "v:", "i:x"])
def test_what_is_no_element_is_refused(sent):
    with pytest.raises(BadElement):
        parse(sent)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("f:image", ".image"),
        ('k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'),
        ('v:"a"', '[="a"]'),
        ("i:3", "[3]"),
    ],
)
def test_elements_in_messages(element, text):
    assert shown(element) == text


def test_items_are_in_the_order_of_their_values():
    ports = {of_keys({"port": port}): {} for port in (8080, 80, 443)}
    assert list(in_order({**ports, ".": {}})) == [
        ".",
        'k:{"port":80}',
        'k:{"port":443}',
        'k:{"port":8080}',
    ]
