"""What webhooks answer is read with care: it comes from outside, and may be anything."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.apiserver.webhooks.reviews import (
    WARNING_MAX,
    WARNINGS_MAX,
    BadAnswer,
    denial,
    verdict_of,
)

HEAD = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = ("allowed", "status", "patch", "patchType", "warnings", "auditAnnotations")
STATUS = st.fixed_dictionaries({}, optional=dict.fromkeys(("code", "message", "reason"), ANYTHING))
RESPONSES = ANYTHING | st.fixed_dictionaries(
    {"uid": st.just("u")}, optional=dict.fromkeys(FIELDS, ANYTHING | STATUS)
)


def answer(**response: Any) -> bytes:
    return json.dumps({**HEAD, "response": {"uid": "u", "allowed": True, **response}}).encode()


@given(response=RESPONSES, version=st.sampled_from(["v1", "v1beta1"]), mutating=st.booleans())
def test_any_answer_is_a_verdict_or_a_bad_answer(
    *, response: Any, version: str, mutating: bool
) -> None:
    body = json.dumps({**HEAD, "response": response}).encode()
    try:
        verdict = verdict_of(body, "u", version, mutating=mutating)
    except BadAnswer:
        return
    refusal = denial("a.example.io", verdict.status)
    assert 400 <= refusal.code <= 599
    assert refusal.message.startswith('admission webhook "a.example.io" denied the request')
    assert all(isinstance(each, str) for each in verdict.warnings)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(b"{", "the answer is no JSON", id="no JSON"),
        pytest.param(b"[]", "the answer is no object", id="no object"),
        pytest.param(
            json.dumps({**HEAD, "response": {"uid": "other"}}).encode(),
            'expected response.uid="u", got "other"',
            id="another's",
        ),
        pytest.param(
            b'{"response": {"uid": "u"}}',
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
            id="no kind",
        ),
        pytest.param(answer(patch="%"), "response.patch is no base64", id="no base64"),
    ],
)
def test_bad_answers_are_told(body: bytes, told: str) -> None:
    with pytest.raises(BadAnswer) as error:
        verdict_of(body, "u", "v1", mutating=True)
    assert told in str(error.value)


def test_the_older_review_is_read_more_leniently() -> None:
    body = b'{"response": {"uid": "other", "allowed": true, "patch": "W10="}}'
    verdict = verdict_of(body, "u", "v1beta1", mutating=True)
    assert (verdict.is_allowed, verdict.patch, verdict.patch_type) == (True, b"[]", "JSONPatch")


def test_many_or_long_warnings_are_cut() -> None:
    few = verdict_of(answer(warnings=["a", "b"]), "u", "v1", mutating=False)
    assert few.warnings == ("a", "b")
    many = verdict_of(answer(warnings=["x" * 1000] * 1000), "u", "v1", mutating=False)
    assert {len(each) for each in many.warnings} == {WARNING_MAX}
    assert sum(map(len, many.warnings)) <= WARNINGS_MAX
