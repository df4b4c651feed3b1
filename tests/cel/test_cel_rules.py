"""Rules in schemas of custom resources, without a server: broken ones, costly ones, all types."""

from typing import Any

import pytest

from atoll.apiserver.custom import resources_of
from atoll.apiserver.validations.checks import BUDGET, rule_errors
from atoll.apiserver.validations.loading import compiled_rules
from atoll.apiserver.validations.value_types import escaped
from atoll.wire import Wire

RULES = "x-kubernetes-validations"


def errors_of(schema: Wire, value: Any, old: Any = None) -> list[str]:
    part = compiled_rules({"type": "object", "properties": {"v": schema}})
    assert part is not None
    before = None if old is None else {"v": old}
    return [str(error) for error in rule_errors(part, {"v": value}, before, [])]


def test_a_rule_that_was_stored_and_cannot_be_compiled_breaks_every_object() -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string", RULES: [{"rule": "foo("}]}}}
    version = {"name": "v1", "served": True, "storage": True}
    definition = {
        "spec": {
            "group": "example.com",
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Cluster",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        }
    }
    (resource,) = resources_of(definition)
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    assert resource.strategy.errors(thing) == []
    (error,) = resource.strategy.errors({**thing, "v": "a"})
    assert error.field == "v"
    assert error.detail.startswith("rule compile error: compilation failed: ERROR: <input>:1:5:")


def test_all_rules_of_an_object_share_one_budget() -> None:
    costly = {"rule": "lists.range(100000).all(i, i >= 0)", "message": "costs"}
    found = errors_of({"type": "string", RULES: [costly] * 9}, "a")
    assert found == [
        "v: Invalid value: \"string\": 'operation cancelled: actual cost limit exceeded': no"
        " further validation rules will be run due to call cost exceeds limit for rule: costs"
    ]
    assert BUDGET < 9 * 100_000


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("$ref", None),
        ("1st", None),
    ],
)
def test_names_are_written_as_the_language_can_read_them(name: str, written: str | None) -> None:
    assert escaped(name) == written


def test_lists_that_are_maps_are_equal_in_any_order_and_merged_by_key() -> None:
    items = {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer"}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    new, old = [{"k": "a", "n": 1}, {"k": "b", "n": 2}], [{"k": "b", "n": 2}, {"k": "a", "n": 1}]
    same = {"type": "array", "items": items, **keyed, RULES: [{"rule": "self == oldSelf"}]}
    assert errors_of(same, new, old) == []
    assert errors_of(same, new, [old[0], {"k": "a", "n": 3}]) != []
    both = [{"rule": "size(self + oldSelf) == 2"}]
    merged = {"type": "array", "items": items, **keyed, RULES: both}
    assert errors_of(merged, new, old) == []


def test_values_that_the_schema_does_not_describe_cannot_be_seen() -> None:
    free = {"x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"a": free}, RULES: [{"rule": "self.a == 1"}]}
    (found,) = errors_of(schema, {"a": 1})
    assert "undefined field 'a'" in found
