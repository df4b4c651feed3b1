"""Patches as they come in, and the sentences for those whose result is no object of its kind."""

from typing import Any

import pytest
from schemas_gadgets import CRD, make_gadget
from test_schemas_recorded import builtin

from atoll.apiserver.bodies.patches import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Patch,
    conform_patched,
    decode_patch,
)
from atoll.apiserver.custom import resources_of
from atoll.apiserver.fields.error import go_text
from atoll.apiserver.status import ApiError

NOTHING = Patch({}, [])
GADGETS = resources_of(CRD)[0]


@pytest.mark.parametrize(
    ("patch_type", "body", "message"),
    [
        # All of these are what a real kube-apiserver answered.
        pytest.param(
            MERGE_PATCH,
            "{bad",
            "error decoding patch: invalid character 'b' looking for beginning of object key"
            " string",
            id="merge-malformed",
        ),
        pytest.param(
            MERGE_PATCH,
            "[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type"
            " map[string]interface {}",
            id="merge-list",
        ),
        pytest.param(
            MERGE_PATCH,
            "1",
            "error decoding patch: json: cannot unmarshal number into Go value of type"
            " map[string]interface {}",
            id="merge-number",
        ),
        pytest.param(
            MERGE_PATCH, "", "error decoding patch: unexpected end of JSON input", id="merge-empty"
        ),
        pytest.param(
            STRATEGIC_MERGE_PATCH,
            "{bad",
            "invalid character 'b' looking for beginning of object key string",
            id="strategic-malformed",
        ),
        pytest.param(
            JSON_PATCH,
            "{}",
            "error decoding patch: json: cannot unmarshal object into Go value of type"
            " []handlers.jsonPatchOp",
            id="json-object",
        ),
        pytest.param(
            APPLY_PATCH,
            "{bad",
            "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find"
            " expected ',' or '}'",
            id="apply-malformed",
        ),
        pytest.param(
            APPLY_PATCH,
            "- a\n",
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot"
            " unmarshal array into Go value of type map[string]interface {}",
            id="apply-list",
        ),
        pytest.param(
            APPLY_PATCH,
            "spec:\n  size: 1\n  size: 2\n",
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
            '  line 3: key "size" already set in map',
            id="apply-repeated",
        ),
    ],
)
def test_a_patch_that_cannot_be_read_is_refused(patch_type: str, body: str, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        decode_patch(body.encode(), patch_type, validation="Strict")
    assert (refused.value.code, refused.value.message) == (400, message)


def test_an_unknown_patch_type_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ApiError) as refused:
        decode_patch(b"{}", "application/json")
    assert refused.value.code == 415


def test_repeated_fields_of_a_json_patch_are_named_by_operation() -> None:
    body = b'[{"op":"add","op":"add","path":"/foo","value":{"a":1,"a":2}}]'
    assert decode_patch(body, JSON_PATCH).complaints == [
        'json patch duplicate field "[0].op"',
        'json patch duplicate field "[0].value.a"',
    ]
    assert decode_patch(body, JSON_PATCH, validation="Ignore").complaints == []


def test_numbers_of_a_patch_are_settled() -> None:
    assert decode_patch(b'{"a":1.0,"b":0.5}', MERGE_PATCH).value == {"a": 1, "b": 0.5}


def refusal(kind: str, obj: Any, patch: Patch = NOTHING) -> str:
    resource = GADGETS if kind == "Gadget" else builtin(kind)
    with pytest.raises(ApiError) as refused:
        conform_patched(resource, obj, patch, validation="Strict")
    assert refused.value.code == 422
    assert list(refused.value.details or {}) == ["causes"]
    return refused.value.message


def test_a_result_of_the_wrong_type_is_shown_whole() -> None:
    assert refusal("ConfigMap", {"data": {"a": 1}}) == (
        ' "" is invalid: patch: Invalid value: "{\\"data\\":{\\"a\\":1}}": json: cannot unmarshal'
        " number into Go struct field ConfigMap.data of type string"
    )


def test_what_the_patch_repeats_is_told_before_what_the_result_has_too_much() -> None:
    patch = decode_patch(b'{"zz":1,"data":{"a":"x","a":"y"},"metadata":{"yy":1}}', MERGE_PATCH)
    message = refusal("ConfigMap", {"zz": 1, "data": {"a": "y"}, "metadata": {"yy": 1}}, patch)
    assert message.endswith(
        'strict decoding error: duplicate field "data.a", unknown field "metadata.yy",'
        ' unknown field "zz"'
    )


def test_a_patched_custom_object_tells_of_its_metadata_first() -> None:
    gadget = {**make_gadget({"zz": 1, "aa": 2}), "data": 1, "metadata": {"yy": 1}}
    assert refusal("Gadget", gadget).endswith(
        'strict decoding error: unknown field "metadata.yy", unknown field "data",'
        ' unknown field "spec.aa", unknown field "spec.zz"'
    )


def test_without_strictness_the_complaints_are_warnings() -> None:
    obj, warnings = conform_patched(builtin("ConfigMap"), {"zz": 1, "data": {"a": "b"}}, NOTHING)
    assert obj == {"data": {"a": "b"}}
    assert warnings == ['unknown field "zz"']


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        # All of these are what a real kube-apiserver answered.
        pytest.param(
            "ConfigMap", {"data": {"a": 1}}, "cannot convert int64 to string", id="number"
        ),
        pytest.param("ConfigMap", {"data": {"a": True}}, "unrecognized type: string", id="boolean"),
        pytest.param("ConfigMap", {"data": [1]}, "cannot restore map from slice", id="list"),
        pytest.param("ConfigMap", {"immutable": "x"}, "unrecognized type: bool", id="text"),
        pytest.param(
            "ConfigMap", {"metadata": 1}, "cannot restore struct from: int64", id="struct"
        ),
        pytest.param(
            "ConfigMap",
            {"binaryData": {"a": "!!"}},
            "error decoding from json: illegal base64 data at input byte 0",
            id="base64",
        ),
        pytest.param(
            "Deployment",
            {"spec": {"replicas": 1.5}},
            "cannot convert float64 to int32",
            id="fraction",
        ),
        pytest.param("Deployment", {"spec": []}, "cannot restore struct from: slice", id="spec"),
        pytest.param(
            "Deployment",
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": {}}}}},
            "json: cannot unmarshal object into Go value of type int32",
            id="int-or-string",
        ),
    ],
)
def test_a_strategic_patch_of_the_wrong_type_is_told_in_words_of_its_own(
    kind: str, body: Any, reason: str
) -> None:
    patch = Patch(body, [], strategic=True)
    message = refusal(kind, body, patch)
    assert message == f' "" is invalid: patch: Invalid value: "{go_text(body)}": {reason}'


def test_a_value_is_printed_as_go_prints_it() -> None:
    value = {"zz": {"b": [1, "x", None, True, 1.5, {}]}, "aa": 1}
    assert go_text(value) == "map[aa:1 zz:map[b:[1 x <nil> true 1.5 map[]]]]"


def test_a_patch_may_not_turn_an_object_into_one_of_another_kind() -> None:
    message = refusal("ConfigMap", {"kind": "Foo", "apiVersion": "v1"})
    assert message.endswith(
        'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
    )


def test_a_kind_that_is_no_text_is_refused() -> None:
    message = refusal("ConfigMap", {"kind": 1})
    assert message.endswith("cannot unmarshal number into Go struct field .kind of type string")


def test_a_strategic_patch_cannot_touch_the_kind() -> None:
    patch = Patch({"kind": "Foo"}, [], strategic=True)
    obj, _ = conform_patched(builtin("ConfigMap"), {"kind": "Foo", "apiVersion": "v1"}, patch)
    assert obj["kind"] == "ConfigMap"
