"""Where bodies are read otherwise than by Kubernetes, and what no body may do to the server."""

from typing import Any

import pytest
from schemas_cases import JSON, YAML
from schemas_gadgets import CRD
from test_schemas_recorded import builtin

from atoll.apiserver.bodies.decoding import COMPLAINTS_MAX, decode_body, decode_options
from atoll.apiserver.bodies.json_text import DEPTH_MAX
from atoll.apiserver.custom import resources_of
from atoll.apiserver.status import ApiError

CONFIG_MAPS = builtin("ConfigMap")
GADGETS = resources_of(CRD)[0]
_HEAD = (
    '{"apiVersion":"rec.example.io/v1","kind":"Gadget","metadata":{"name":"a"},"spec":{"req":"r"'
)


def refusal(body: bytes, media_type: str = JSON, resource: Any = CONFIG_MAPS) -> ApiError:
    with pytest.raises(ApiError) as refused:
        decode_body(body, media_type, resource)
    return refused.value


def nested(levels: int) -> bytes:
    return f'{_HEAD},"any":{"[" * levels}{"]" * levels}}}}}'.encode()


@pytest.mark.parametrize(
    ("body", "media_type", "message"),
    [
        pytest.param(nested(DEPTH_MAX), JSON, "exceeded max depth of 254", id="json"),
        pytest.param(nested(2000), JSON, "exceeded max depth of 254", id="deeper-than-any-parser"),
        pytest.param(b"[" * 10_001, JSON, "exceeded max depth", id="deeper-than-go"),
        pytest.param(b'{"a":' * 100_000, JSON, "depth", id="half-a-megabyte-deep"),
        pytest.param(b"a: " + b"[" * 1_000_000, YAML, "exceeded max depth of 254", id="yaml"),
        pytest.param(b"- " * 100_000, YAML, "exceeded max depth of 254", id="yaml-blocks"),
    ],
)
def test_a_body_that_is_too_deep_is_refused(body: bytes, media_type: str, message: str) -> None:
    refused = refusal(body, media_type, GADGETS)
    assert refused.code == 400
    assert message in refused.message


def test_a_body_just_deep_enough_is_read() -> None:
    read = decode_body(nested(DEPTH_MAX - 2), JSON, GADGETS)
    assert read.object["spec"]["req"] == "r"


def test_aliases_may_not_multiply() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x,x]"]
    for name, before in zip("bcdefgh", "abcdefg", strict=True):
        lines.append(f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]")
    assert "excessive aliasing" in refusal("\n".join(lines).encode(), YAML).message


def test_aliases_may_not_repeat_a_large_text() -> None:
    body = f"a: &a {'x' * 100_000}\nb: [{','.join(['*a'] * 100)}]"
    assert "excessive aliasing" in refusal(body.encode(), YAML).message


def test_a_second_document_is_refused_rather_than_ignored() -> None:
    body = b"metadata: {name: x}\n---\nmetadata: {name: y}\n"
    assert "yaml: expected a single document" in refusal(body, YAML).message


def test_a_large_malformed_body_is_refused_without_a_long_look() -> None:
    body = b'{"a":[' + b"1," * 1_000_000 + b"}"
    assert refusal(body).message.startswith(
        "the object provided is unrecognized (must be of type ConfigMap):"
        " couldn't get version/kind; json parse error:"
    )


@pytest.mark.parametrize(
    ("body", "data"),
    [
        pytest.param(b'{"data":{"a":"\xff"}}', "\ufffd", id="no-utf-8"),
        pytest.param(b'{"data":{"a":"\xe2\x82"}}', "\ufffd\ufffd", id="half-a-character"),
        pytest.param(b'{"data":{"a":"\\ud800x"}}', "\ufffdx", id="half-a-pair-of-surrogates"),
        pytest.param(b'{"data":{"a":"\\ud83d\\ude00"}}', "😀", id="a-whole-pair"),
    ],
)
def test_text_that_is_no_unicode_is_replaced(body: bytes, data: str) -> None:
    assert decode_body(body, JSON, CONFIG_MAPS).object == {"data": {"a": data}}


@pytest.mark.parametrize(
    "content_type",
    [
        pytest.param("", id="none"),
        pytest.param("application/json; charset=utf-8", id="with-charset"),
        pytest.param("Application/JSON", id="in-capitals"),
    ],
)
def test_json_may_be_announced_in_many_ways(content_type: str) -> None:
    assert decode_body(b"{}", content_type, CONFIG_MAPS).object == {}


def test_an_unknown_content_type_is_refused_with_those_that_are_known() -> None:
    refused = refusal(b"", "application/cbor")
    assert (refused.code, refused.reason) == (415, "UnsupportedMediaType")
    assert "application/json, application/yaml" in refused.message


def test_warnings_are_what_strict_reading_complains_of() -> None:
    body = b'{"data":{"a":"1","a":"2"},"foo":1}'
    read = decode_body(body, JSON, CONFIG_MAPS, validation="Warn")
    assert read.warnings == ['duplicate field "data.a"', 'unknown field "foo"']
    assert decode_body(body, JSON, CONFIG_MAPS, validation="Ignore").warnings == []


def test_a_repeated_key_is_found_behind_an_escaped_colon() -> None:
    body = rb'{"data":{"a":"\u003a","a":"2"}}'
    assert decode_body(body, JSON, CONFIG_MAPS).warnings == ['duplicate field "data.a"']


def test_complaints_end_after_a_hundred() -> None:
    fields = ",".join(f'"f{index}":1' for index in range(500))
    assert len(decode_body(f"{{{fields}}}".encode(), JSON, CONFIG_MAPS).warnings) == COMPLAINTS_MAX


def test_options_need_not_say_their_kind() -> None:
    body = b'{"propagationPolicy":"Background"}'
    assert decode_options(body, JSON) == {"propagationPolicy": "Background"}


def test_an_integer_keeps_all_its_digits() -> None:
    body = f'{_HEAD},"any":[9223372036854775807,-9223372036854775808,2.0]}}}}'.encode()
    read = decode_body(body, JSON, GADGETS).object["spec"]["any"]
    assert read == [2**63 - 1, -(2**63), 2]
    assert [type(number) for number in read] == [int, int, int]
