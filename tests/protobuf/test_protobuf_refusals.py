"""Bodies that say nothing sensible: refused as kube-apiserver refuses them, and in its words."""

import pytest
from protobuf_bodies import PROTOBUF, body, field, named, resource

from atoll.apiserver.bodies.decoding import decode_body, decode_options
from atoll.apiserver.custom import resources_of
from atoll.apiserver.status import ApiError
from testenv.cluster import Cluster

UNRECOGNIZED = "the object provided is unrecognized (must be of type Namespace): "
PLAIN = 'Namespace in version "v1" cannot be handled as a Namespace: '


def namespace(raw: bytes) -> bytes:
    return body("Namespace", raw)


def in_metadata(raw: bytes) -> bytes:
    return namespace(field(1, raw))


CASES = [
    pytest.param(b"", UNRECOGNIZED + "empty data (<empty>)", id="nothing"),
    pytest.param(
        b"{}",
        UNRECOGNIZED + "provided data does not appear to be a protobuf message,"
        " expected prefix [107 56 115 0] ({})",
        id="JSON",
    ),
    pytest.param(b"k8s\0", UNRECOGNIZED + "empty body (6b387300)", id="only the prefix"),
    pytest.param(
        b"k8s\0\x0a\x20abc",
        UNRECOGNIZED + "unexpected EOF (6b3873000a20616263)",
        id="an envelope cut off",
    ),
    pytest.param(
        b"k8s\0\0\x01",
        UNRECOGNIZED + "proto: Unknown: illegal tag 0 (wire type 0) (6b3873000001)",
        id="an envelope with a field 0",
    ),
    pytest.param(
        b"k8s\0\x08\x01",
        UNRECOGNIZED + "proto: wrong wireType = 0 for field TypeMeta (6b3873000801)",
        id="an envelope with a number for a kind",
    ),
    pytest.param(
        body("Pod", named("a")),
        'Pod in version "v1" cannot be handled as a Namespace: converting (v1.Pod) to'
        " (core.Namespace): unknown conversion",
        id="another kind",
    ),
    pytest.param(
        body("Foo", named("a")),
        'Foo in version "v1" cannot be handled as a Namespace: no kind "Foo" is registered for'
        ' version "v1" in scheme "pkg/runtime/scheme.go:111"',
        id="an unknown kind",
    ),
    pytest.param(namespace(b"\x0a\x20abc"), PLAIN + "unexpected EOF", id="cut off"),
    pytest.param(
        namespace(field(1, 1)),
        PLAIN + "proto: wrong wireType = 0 for field ObjectMeta",
        id="a number for metadata",
    ),
    pytest.param(
        in_metadata(field(1, 1)),
        PLAIN + "proto: wrong wireType = 0 for field Name",
        id="a number for a name",
    ),
    pytest.param(
        in_metadata(b"\x0f\x01"),
        PLAIN + "proto: wrong wireType = 7 for field Name",
        id="a known field of a wire type that does not exist",
    ),
    pytest.param(
        in_metadata(b"\xff\x7f\x01"),
        PLAIN + "proto: illegal wireType 7",
        id="an unknown field of a wire type that does not exist",
    ),
    pytest.param(
        in_metadata(b"\0\x01"),
        PLAIN + "proto: ObjectMeta: illegal tag 0 (wire type 0)",
        id="a field 0",
    ),
    pytest.param(
        in_metadata(b"\x0c\x01"),
        PLAIN + "proto: ObjectMeta: wiretype end group for non-group",
        id="the end of no group",
    ),
    pytest.param(
        namespace(named("a") + b"\xa3\x06\x08\x01"), PLAIN + "unexpected EOF", id="an open group"
    ),
    pytest.param(
        namespace(b"\x0a" + b"\xff" * 9 + b"\x01"),
        PLAIN + "proto: negative length found during unmarshaling",
        id="a negative length",
    ),
    pytest.param(
        namespace(b"\x0a" + b"\xff" * 11 + b"\x01"),
        PLAIN + "proto: integer overflow",
        id="a length without end",
    ),
    pytest.param(
        namespace(b"\x0a\xff\xff\xff\xff\x07"), PLAIN + "unexpected EOF", id="a length that lies"
    ),
]


@pytest.mark.parametrize(("sent", "expected"), CASES)
def test_a_senseless_body_is_refused(sent: bytes, expected: str) -> None:
    with pytest.raises(ApiError) as refusal:
        decode_body(sent, PROTOBUF, resource("Namespace"))
    assert (refusal.value.code, refusal.value.message) == (400, expected)


@pytest.mark.parametrize(("sent", "expected"), CASES)
def test_kubernetes_refuses_it_in_the_same_words(
    kubernetes: Cluster, sent: bytes, expected: str
) -> None:
    headers = {"Content-Type": PROTOBUF, "Accept": "application/json"}
    answer = kubernetes.request("POST", "/api/v1/namespaces", sent, headers)
    assert (answer.status, answer.json()["message"]) == (400, expected)


OPTIONS = [
    pytest.param(
        b"{}",
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        id="JSON",
    ),
    pytest.param(
        body("Pod", b""),
        'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        id="another kind",
    ),
    pytest.param(
        body("DeleteOptions", field(1, b"")),
        "proto: wrong wireType = 2 for field GracePeriodSeconds",
        id="a text for a number",
    ),
]


@pytest.mark.parametrize(("sent", "expected"), OPTIONS)
def test_senseless_options_are_refused(sent: bytes, expected: str) -> None:
    with pytest.raises(ApiError) as refusal:
        decode_options(sent, PROTOBUF)
    assert (refusal.value.code, refusal.value.message) == (400, expected)


@pytest.mark.parametrize(("sent", "expected"), OPTIONS)
def test_kubernetes_refuses_options_in_the_same_words(
    kubernetes: Cluster, sent: bytes, expected: str
) -> None:
    headers = {"Content-Type": PROTOBUF, "Accept": "application/json"}
    answer = kubernetes.request("DELETE", "/api/v1/namespaces/missing", sent, headers)
    assert (answer.status, answer.json()["message"]) == (400, expected)


def test_an_amount_that_is_none_is_refused() -> None:
    hard = field(1, field(1, b"cpu") + field(2, field(1, b"much")))
    with pytest.raises(ApiError, match="quantities must match the regular expression") as refusal:
        decode_body(
            body("ResourceQuota", named("a") + field(2, hard)), PROTOBUF, resource("ResourceQuota")
        )
    assert refusal.value.code == 400


def test_a_time_beyond_all_calendars_is_refused() -> None:
    metadata = field(1, b"a") + field(8, field(1, 2**62))
    with pytest.raises(ApiError, match="beyond the years") as refusal:
        decode_body(namespace(field(1, metadata)), PROTOBUF, resource("Namespace"))
    assert refusal.value.code == 400


def nested(number: int, depth: int) -> bytes:
    """A definition whose schema has another schema in this field, and so on."""
    schema = b""
    for _ in range(depth):
        schema = field(number, schema)
    version = field(4, field(1, schema))
    return body("CustomResourceDefinition", field(2, field(7, version)), "apiextensions.k8s.io/v1")


@pytest.mark.parametrize("number", [pytest.param(28, id="not"), pytest.param(25, id="allOf")])
@pytest.mark.parametrize("depth", [300, 5_000])
def test_what_is_nested_too_deeply_is_refused(number: int, depth: int) -> None:
    expected = resource("CustomResourceDefinition", "apiextensions.k8s.io/v1")
    with pytest.raises(ApiError, match="exceeded max depth") as refusal:
        decode_body(nested(number, depth), PROTOBUF, expected)
    assert refusal.value.code == 400


def test_what_is_nested_as_deeply_as_json_may_be_is_read() -> None:
    expected = resource("CustomResourceDefinition", "apiextensions.k8s.io/v1")
    decoded = decode_body(nested(28, 240), PROTOBUF, expected).object
    schema, depth = decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"], 0
    while "not" in schema:
        schema, depth = schema["not"], depth + 1
    assert depth == 240


def test_custom_objects_are_not_read_from_protobuf() -> None:
    version = {"name": "v1", "served": True, "storage": True}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    definition = {
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
        "status": {"acceptedNames": names},
    }  # fmt: skip
    (gadgets,) = resources_of(definition)
    with pytest.raises(ApiError) as refusal:
        decode_body(body("Gadget", named("a"), "example.com/v1"), PROTOBUF, gadgets)
    assert refusal.value.code == 415
    assert refusal.value.message.endswith("include: application/json, application/yaml")
