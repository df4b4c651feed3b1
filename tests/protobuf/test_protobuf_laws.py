"""What holds for every body: what is read, what is refused, and that it is nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protobuf_bodies import PROTOBUF, RESOURCES, body, field, named, recorded, resource, varint

from atoll.apiserver.bodies.decoding import decode_body, decode_options
from atoll.apiserver.resource import Resource
from atoll.apiserver.schemas.facts import load
from atoll.apiserver.status import ApiError

SENT = [
    (RESOURCES[said["apiVersion"], said["kind"]], sent)
    for said, sent in (
        *recorded("kubectl.json", "commands").values(),
        *recorded("client-go.json", "objects").values(),
    )
    if (said["apiVersion"], said["kind"]) in RESOURCES
]
OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
MOST = 400  # bytes; larger bodies are for other tests


def outcome(sent: bytes, expected: Resource) -> int:
    """201 if a body is read, else the code it is refused with."""
    try:
        decoded = decode_body(sent, PROTOBUF, expected)
    except ApiError as refusal:
        return refusal.code
    assert decoded.object["kind"] == expected.kind
    return 201


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_an_object_or_refused(noise: bytes) -> None:
    nested = body("Pod", field(1, noise) + field(2, noise))
    for sent in (noise, b"k8s\0" + noise, body("Pod", noise), nested):
        assert outcome(sent, resource("Pod")) in (201, 400)


@given(st.binary(max_size=60))
def test_arbitrary_options_are_read_or_refused(noise: bytes) -> None:
    try:
        read = decode_options(body("DeleteOptions", noise), PROTOBUF)
    except ApiError as refusal:
        code = refusal.code
    else:
        code = 200 if read.keys() <= load().schema(OPTIONS).fields.keys() else 500
    assert code in (200, 400)


@settings(max_examples=300)
@given(
    st.sampled_from([(kind, sent) for kind, sent in SENT if len(sent) < MOST]),
    st.lists(st.tuples(st.integers(0, MOST), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_a_damaged_body_is_read_or_refused(
    case: tuple[Resource, bytes], damages: list[tuple[int, int]]
) -> None:
    expected, sent = case
    damaged = bytearray(sent)
    for place, byte in damages:
        damaged[place % len(damaged)] = byte
    assert outcome(bytes(damaged), expected) in (201, 400)


@pytest.mark.parametrize("number", range(len(SENT)))
def test_a_body_cut_off_anywhere_is_read_or_refused(number: int) -> None:
    expected, sent = SENT[number]
    step = max(1, len(sent) // 100)
    codes = {outcome(sent[:end], expected) for end in range(0, len(sent), step)}
    assert 400 in codes
    assert codes <= {201, 400}


@given(st.integers(6, 2**29 - 1), st.sampled_from([b"", b"abc", 0, 2**63]))
def test_fields_nobody_knows_change_nothing(number: int, content: bytes | int) -> None:
    unknown = field(number, content)
    raw = named("a") + field(2, field(1, b"k") + field(2, b"v"))
    expected = decode_body(body("ConfigMap", raw), PROTOBUF, resource("ConfigMap"))
    for sent in (unknown + raw, raw + unknown):
        assert decode_body(body("ConfigMap", sent), PROTOBUF, resource("ConfigMap")) == expected


def test_groups_nobody_knows_are_passed_over() -> None:
    start, end = varint(100 << 3 | 3), varint(100 << 3 | 4)
    fixed = varint(9 << 3 | 1) + bytes(8) + varint(9 << 3 | 5) + bytes(4)
    group = start + field(7, 1) + fixed + field(8, b"abc") + start + end + end
    decoded = decode_body(body("ConfigMap", group + named("a")), PROTOBUF, resource("ConfigMap"))
    assert decoded.object["metadata"] == {"name": "a"}


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_number_arrives(number: int) -> None:
    sent = field(1, number & (2**64 - 1))
    options = decode_options(body("DeleteOptions", sent), PROTOBUF)
    assert options == {"gracePeriodSeconds": number}


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_a_list_of_numbers_may_be_packed(groups: list[int]) -> None:
    encoded = [number & (2**64 - 1) for number in groups]
    one_by_one = b"".join(field(4, number) for number in encoded)
    packed = field(4, b"".join(map(varint, encoded)))
    for context in (one_by_one, packed):
        spec = field(14, context)
        decoded = decode_body(body("Pod", named("a") + field(2, spec)), PROTOBUF, resource("Pod"))
        assert decoded.object["spec"]["securityContext"] == {"supplementalGroups": groups}


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_every_text_arrives(text: str) -> None:
    entry = field(1, b"k") + field(2, text.encode())
    sent = body("ConfigMap", named("a") + field(2, entry))
    assert decode_body(sent, PROTOBUF, resource("ConfigMap")).object["data"] == {"k": text}


def test_bytes_that_are_no_text_become_replacements() -> None:
    entry = field(1, b"k") + field(2, b"a\xff\xfeb")
    sent = body("ConfigMap", named("a") + field(2, entry))
    decoded = decode_body(sent, PROTOBUF, resource("ConfigMap"))
    assert decoded.object["data"] == {"k": "a\ufffd\ufffdb"}


def test_what_is_said_again_counts() -> None:
    """The last of two values; two messages are one, and lists go on."""
    first = field(1, field(1, b"a") + field(2, b"prefix") + field(14, b"x"))
    second = field(1, field(1, b"b") + field(2, b"") + field(14, b"y"))
    decoded = decode_body(body("ConfigMap", first + second), PROTOBUF, resource("ConfigMap"))
    assert decoded.object["metadata"] == {"name": "b", "finalizers": ["x", "y"]}


def test_the_kind_need_not_be_said() -> None:
    sent = b"k8s\0" + field(2, named("a"))
    decoded = decode_body(sent, PROTOBUF, resource("ConfigMap"))
    assert decoded.object == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(field(1, 0), {"gracePeriodSeconds": 0}, id="zero behind a pointer is kept"),
        pytest.param(field(3, 0), {"orphanDependents": False}, id="so is false"),
        pytest.param(field(5, b"All"), {"dryRun": ["All"]}, id="lists"),
        pytest.param(
            field(2, field(1, b"u") + field(2, b"7")),
            {"preconditions": {"uid": "u", "resourceVersion": "7"}},
            id="messages",
        ),
        pytest.param(b"", {}, id="nothing"),
    ],
)
def test_options_are_read(raw: bytes, expected: dict[str, object]) -> None:
    for version in ("v1", "apps/v1", "meta.k8s.io/v1"):
        sent = body("DeleteOptions", raw, version)
        assert decode_options(sent, PROTOBUF) == expected
