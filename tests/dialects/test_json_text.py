"""Values in annotations."""

from atoll.dialects import json


def test_equal_values_are_written_alike_whatever_the_order_of_their_keys() -> None:
    assert json.written({"b": [1], "a": None}) == json.written({"a": None, "b": [1]})
    assert json.read(json.written({"b": [1], "a": None})) == {"a": None, "b": [1]}


def test_what_is_no_json_says_nothing() -> None:
    assert json.read("{") is None
