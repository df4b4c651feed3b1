"""Rules about changes, and values wrong before: an update need not mend what it leaves."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from backends import Answer, Backend
from test_api_expressions import CRDS, GROUP, RULES, causes, definition, served

from atoll.wire import Wire

KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
LOOSE: Wire = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "color": {"type": "string"},
        "fixed": {"type": "string", RULES: [{"rule": "self == oldSelf", "message": "is fixed"}]},
        "grows": {
            "type": "integer",
            RULES: [
                {
                    "rule": "!oldSelf.hasValue() || self >= oldSelf.value()",
                    "optionalOldSelf": True,
                    "message": "not below before",
                    "messageExpression": "oldSelf.hasValue() ? 'unsaid' : 'unsaid'",
                }
            ],
        },
        "parts": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "maxLength": 50},
                    "count": {"type": "integer"},
                    "kept": {"type": "integer", RULES: [{"rule": "self == oldSelf"}]},
                },
            },
            **KEYED,
        },
        "plain": {"type": "array", "maxItems": 10, "items": {"type": "string"}},
        "marks": {
            "type": "object",
            "maxProperties": 10,
            "additionalProperties": {"type": "string", "maxLength": 100},
        },
    },
}


def tight() -> Wire:
    """The same, with rules that objects from before may break."""
    spec: Wire = json.loads(json.dumps(LOOSE))
    fields = spec["properties"]
    fields["size"] |= {"minimum": 5}
    fields["color"] |= {RULES: [{"rule": "self == 'red'", "message": "must be red"}]}
    item = fields["parts"]["items"]["properties"]
    item["count"] |= {"maximum": 3, RULES: [{"rule": "self != 0"}]}
    fields["plain"]["items"] |= {"pattern": "^[a-z]$"}
    fields["marks"]["additionalProperties"] |= {RULES: [{"rule": "self.startsWith('x')"}]}
    return spec


def rooted(spec: Wire) -> Wire:
    status = {
        "type": "object",
        "properties": {
            "phase": {"type": "string", RULES: [{"rule": "self != 'bad'", "message": "is bad"}]}
        },
    }
    whole = {"rule": "self.metadata.name.size() < 20", "message": "name is long"}
    return {"properties": {"spec": spec, "status": status}, RULES: [whole]}


@pytest.fixture(scope="module")
def old_things(api: Backend) -> Iterator[tuple[str, dict[str, Wire]]]:
    """The path of things whose definition has become tighter since they were made."""
    made = definition("Thing", rooted(LOOSE), subresources={"status": {}})
    path = served(api, made)
    objects = {}
    for name, spec in OLD.items():
        objects[name] = api.create(path, thing(name, spec))
    crd = f"{CRDS}/{made['metadata']['name']}"
    found = api.read(crd)
    tighter = definition("Thing", rooted(tight()), subresources={"status": {}})
    found["spec"]["versions"] = tighter["spec"]["versions"]
    api.update(crd, found)
    _await_tightness(api, path)
    yield path, objects
    api.delete(crd)


def _await_tightness(api: Backend, path: str) -> None:
    deadline = time.monotonic() + 120
    while api.request("POST", f"{path}?dryRun=All", body=thing("probe", {"size": 1})).status != 422:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def thing(name: str, spec: Any) -> Wire:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": spec,
    }


OLD: dict[str, Wire] = {
    "small": {"size": 1, "color": "blue"},
    "parts": {"parts": [{"name": "a", "count": 9}, {"name": "b", "count": 0}]},
    "plain": {"plain": ["A", "b"]},
    "marks": {"marks": {"a": "y"}},
    "fixed": {"fixed": "one", "grows": 3},
    "kept": {"parts": [{"name": "a", "kept": 1}]},
}

TAKEN: dict[str, tuple[str, Wire]] = {
    "another field": ("small", {"size": 1, "color": "blue", "grows": 1}),
    "a mended field": ("small", {"size": 7, "color": "blue"}),
    "another item of a map": (
        "parts",
        {
            "parts": [
                {"name": "c", "count": 2},
                {"name": "b", "count": 0},
                {"name": "a", "count": 9},
            ]
        },
    ),
    "an untouched list": ("plain", {"plain": ["A", "b"], "grows": 1}),
    "another mark": ("marks", {"marks": {"a": "y", "b": "xx"}}),
    "as it was": ("fixed", {"fixed": "one", "grows": 3}),
    "more": ("fixed", {"fixed": "one", "grows": 4}),
    "a new item without an old value": (
        "kept",
        {"parts": [{"name": "a", "kept": 1}, {"name": "b", "kept": 2}]},
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_what_an_update_does_not_touch_may_stay_wrong(
    api: Backend, old_things: tuple[str, dict[str, Wire]], case: str
) -> None:
    path, objects = old_things
    name, spec = TAKEN[case]
    answer = api.request("PUT", f"{path}/{name}?dryRun=All", body={**objects[name], "spec": spec})
    assert answer.object()["spec"] == spec


def test_a_broken_rule_that_is_left_alone_is_warned_of(
    api: Backend, old_things: tuple[str, dict[str, Wire]]
) -> None:
    path, objects = old_things
    spec = {**OLD["small"], "grows": 1}
    answer = api.request("PUT", f"{path}/small?dryRun=All", body={**objects["small"], "spec": spec})
    assert answer.status == 200
    assert r"spec.color: Invalid value: \"blue\": must be red" in answer.warnings


REFUSED: dict[str, tuple[str, Wire, list[tuple[str, str, str]]]] = {
    "a field that is changed and still wrong": (
        "small",
        {"size": 2, "color": "green"},
        [
            (
                "spec.size",
                "FieldValueInvalid",
                "Invalid value: 2: spec.size in body should be greater than or equal to 5",
            ),
            ("spec.color", "FieldValueInvalid", 'Invalid value: "green": must be red'),
        ],
    ),
    "an item of a map that is changed and still wrong": (
        "parts",
        {"parts": [{"name": "a", "count": 8}, {"name": "b", "count": 0}]},
        [
            (
                "spec.parts[0].count",
                "FieldValueInvalid",
                "Invalid value: 8: spec.parts[0].count in body should be less than or equal to 3",
            )
        ],
    ),
    "a list whose items cannot be told apart": (
        "plain",
        {"plain": ["A", "b", "c"]},
        [
            (
                "spec.plain[0]",
                "FieldValueInvalid",
                "Invalid value: \"A\": spec.plain[0] in body should match '^[a-z]$'",
            )
        ],
    ),
    "a changed mark": (
        "marks",
        {"marks": {"a": "z"}},
        [
            (
                "spec.marks[a]",
                "FieldValueInvalid",
                "Invalid value: \"z\": failed rule: self.startsWith('x')",
            )
        ],
    ),
    "a change of what is fixed": (
        "fixed",
        {"fixed": "two", "grows": 3},
        [("spec.fixed", "FieldValueInvalid", 'Invalid value: "two": is fixed')],
    ),
    "less": (
        "fixed",
        {"fixed": "one", "grows": 2},
        [("spec.grows", "FieldValueInvalid", "Invalid value: 2: not below before")],
    ),
    "a change of what is kept in an item": (
        "kept",
        {"parts": [{"name": "b", "count": 1}, {"name": "a", "kept": 2}]},
        [
            (
                "spec.parts[1].kept",
                "FieldValueInvalid",
                "Invalid value: 2: failed rule: self == oldSelf",
            )
        ],
    ),
    "something too wrong for the rules": (
        "small",
        {"size": "1", "color": "green"},
        [
            (
                "spec.size",
                "FieldValueTypeInvalid",
                'Invalid value: "string": spec.size in body must be of type integer: "string"',
            ),
            (
                "<nil>",
                "FieldValueInvalid",
                "Invalid value: null: some validation rules were not checked because the object was"
                " invalid; correct the existing errors to complete validation",
            ),
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_an_update_changes_must_be_right(
    api: Backend, old_things: tuple[str, dict[str, Wire]], case: str
) -> None:
    path, objects = old_things
    name, spec, expected = REFUSED[case]
    answer: Answer = api.request(
        "PUT", f"{path}/{name}?dryRun=All", body={**objects[name], "spec": spec}
    )
    assert sorted(causes(answer)) == sorted(expected)


def test_rules_see_the_name_of_an_object(
    api: Backend, old_things: tuple[str, dict[str, Wire]]
) -> None:
    path, _ = old_things
    answer = api.request("POST", path, body=thing("a-name-that-is-much-too-long", {}))
    assert causes(answer) == [("<nil>", "FieldValueInvalid", "Invalid value: name is long")]


def test_rules_hold_at_the_status_too(
    api: Backend, old_things: tuple[str, dict[str, Wire]]
) -> None:
    path, objects = old_things
    body = {**objects["small"], "status": {"phase": "bad"}}
    answer = api.request("PUT", f"{path}/small/status?dryRun=All", body=body)
    assert causes(answer) == [("status.phase", "FieldValueInvalid", 'Invalid value: "bad": is bad')]
    body["status"] = {"phase": "good"}
    assert api.request("PUT", f"{path}/small/status?dryRun=All", body=body).status == 200


DEFINED: dict[str, tuple[Wire, str]] = {
    "oldSelf where items cannot be told apart": (
        {
            "type": "array",
            "maxItems": 5,
            "items": {"type": "string", RULES: [{"rule": "self == oldSelf"}]},
        },
        "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        " spec.validation.openAPIV3Schema.properties[spec].properties[x]",
    ),
    "optionalOldSelf without oldSelf": (
        {"type": "string", RULES: [{"rule": "self == 'a'", "optionalOldSelf": True}]},
        "Invalid value: true: may not be set if oldSelf is not used in rule",
    ),
    "a path to no field": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            RULES: [{"rule": "true", "fieldPath": ".b"}],
        },
        'Invalid value: ".b": must be a valid path',
    ),
    "a message that is no text": (
        {"type": "string", RULES: [{"rule": "true", "messageExpression": "1"}]},
        "messageExpression must evaluate to a string",
    ),
    "a message that makes no sense": (
        {"type": "string", RULES: [{"rule": "true", "messageExpression": "foo"}]},
        "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo'",
    ),
}


@pytest.mark.parametrize("case", DEFINED)
def test_a_definition_whose_rules_make_no_sense_is_refused(api: Backend, case: str) -> None:
    schema, why = DEFINED[case]
    spec = {"type": "object", "properties": {"x": schema}}
    made = definition("Senseless", {"properties": {"spec": spec}})
    answer = api.request("POST", CRDS, body=made)
    answer.refusal(422, "Invalid")
    assert why in answer.json()["message"]
