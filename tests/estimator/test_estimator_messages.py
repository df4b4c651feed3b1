"""The estimator's messages: what is written is what Karmada's estimators read, and back."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.errors import Malformed
from atoll.estimator.messages import (
    REPLICAS,
    SETS,
    UNSCHEDULABLE,
    read_answer,
    read_request,
    write_answer,
    write_request,
)
from atoll.protobuf.tables import Listed, Mapped, Table, decode, encode
from atoll.wire import Wire

NEEDS: Wire = {
    "nodeClaim": {
        "hardNodeAffinity": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
            ]
        },
        "nodeSelector": {"arch": "arm64"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 30}],
    },
    "resourceRequest": {"cpu": "250m", "memory": "1Gi"},
    "namespace": "shop",
    "priorityClassName": "high",
}


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        pytest.param(REPLICAS, {"cluster": "m1", "replicaRequirements": NEEDS}, id="replicas"),
        pytest.param(REPLICAS, {"cluster": "m1"}, id="without needs"),
        pytest.param(
            SETS,
            {
                "cluster": "m1",
                "namespace": "shop",
                "components": [
                    {
                        "name": "driver",
                        "replicas": 2,
                        "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
                    }
                ],
                "assumedWorkloads": [
                    {"namespace": "a", "components": [{"name": "x", "replicas": 1}]}
                ],
            },
            id="sets",
        ),
        pytest.param(
            UNSCHEDULABLE,
            {
                "cluster": "m1",
                "resource": {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "namespace": "shop",
                    "name": "web",
                },
                "unschedulableThreshold": 300_000_000_000,
            },
            id="unschedulable",
        ),
    ],
)
def test_a_request_is_read_as_it_was_meant(method: str, request_: Wire) -> None:
    assert read_request(method, write_request(method, request_)) == request_


RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())["requests"]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each["method"])
def test_karmadas_own_requests_are_read_and_written(recorded: Wire) -> None:
    method, data = recorded["method"], bytes.fromhex(recorded["bytes"])
    assert read_request(method, data) == recorded["says"]
    plain = _without_empty(recorded["says"])
    written = write_request(method, recorded["says"])
    assert read_request(method, written) == plain
    if plain == recorded["says"]:  # Karmada writes the empty texts of a toleration, too
        assert written == data


def _without_empty(said: Any) -> Any:
    if isinstance(said, dict):
        return {key: _without_empty(value) for key, value in said.items() if value != ""}
    return [_without_empty(each) for each in said] if isinstance(said, list) else said


def test_quantities_are_on_the_wire_where_older_and_newer_estimators_look() -> None:
    data = write_request(REPLICAS, {"replicaRequirements": {"resourceRequest": {"cpu": "250m"}}})
    quantity = b"\x0a\x04250m"  # the quantity's one field, its text
    entry = b"\x0a\x03cpu\x12" + bytes([len(quantity)]) + quantity
    older = b"\x12" + bytes([len(entry)]) + entry
    newer = b"\x2a" + bytes([len(entry)]) + entry
    assert data == b"\x12" + bytes([len(older) + len(newer)]) + older + newer


def test_an_older_schedulers_request_without_the_newer_fields_is_understood() -> None:
    entry = b"\x0a\x03cpu\x12\x06\x0a\x04250m"
    needs = b"\x12" + bytes([len(entry)]) + entry
    data = b"\x0a\x02m1\x12" + bytes([len(needs)]) + needs
    assert read_request(REPLICAS, data) == {
        "cluster": "m1",
        "replicaRequirements": {"resourceRequest": {"cpu": "250m"}},
    }


@given(st.integers(-(2**31), 2**31 - 1))
def test_an_answer_is_one_number(count: int) -> None:
    assert read_answer(write_answer(count)) == count


_LEAF = Table({1: ("a", "text"), 2: ("b", "number"), 3: ("c", "bytes")})
_TREE = Table(
    {
        1: ("leaf", _LEAF),
        2: ("leaves", Listed(_LEAF)),
        3: ("names", Mapped("text")),
        200: ("more", Mapped(_LEAF)),
    }
)
_leaves = st.fixed_dictionaries(
    {},
    optional={
        "a": st.text(min_size=1),
        "b": st.integers(-(2**63), 2**63 - 1).filter(bool),
        "c": st.binary(min_size=1),
    },
)
_trees = st.fixed_dictionaries(
    {},
    optional={
        "leaf": _leaves,
        "leaves": st.lists(_leaves, min_size=1, max_size=3),
        "names": st.dictionaries(st.text(), st.text(), min_size=1, max_size=3),
        "more": st.dictionaries(st.text(), _leaves, min_size=1, max_size=3),
    },
)


@given(_trees)
def test_what_is_encoded_is_decoded_again(tree: Wire) -> None:
    assert decode(encode(tree, _TREE), _TREE) == tree


@given(_trees, st.integers(0, 300))
def test_a_message_cut_short_is_malformed_or_shorter_but_never_a_crash(
    tree: Wire, cut: int
) -> None:
    data = encode(tree, _TREE)
    try:
        found = decode(data[:cut], _TREE)
    except Malformed:
        return
    assert found.keys() <= tree.keys()


@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_malformed(data: bytes) -> None:
    try:
        found = decode(data, _TREE)
    except Malformed:
        return
    assert found.keys() <= {"leaf", "leaves", "names", "more"}
