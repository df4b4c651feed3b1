"""What a host asks its webhooks, and how it is answered."""

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from atoll.apiserver.patching.json_patch import apply_json_patch
from atoll.apiserver.status import ApiError, forbidden
from atoll.hosting.reviewing import allowed, asked_in, converted, refused, shown_place, steps

RECORD = {"apiVersion": "placement.atoll.io/v1alpha1", "kind": "ClusterRecord"}
NEWER, OLDER = "work.karmada.io/v1alpha2", "work.karmada.io/v1alpha1"


def review(**request: Any) -> bytes:
    asked = {"uid": "7", "operation": "CREATE", **request}
    return orjson.dumps({"kind": "AdmissionReview", "request": asked})


def conversion(wanted: str, *objects: dict[str, Any]) -> dict[str, Any]:
    request = {"uid": "7", "desiredAPIVersion": wanted, "objects": objects}
    body = orjson.dumps({"kind": "ConversionReview", "request": request})
    found: dict[str, Any] = converted(body)["response"]
    return found


def binding(version: str) -> dict[str, Any]:
    spec = {"resource": {"kind": "Deployment", "uid": "u"}, "replicas": 2, "placement": {}}
    head = {"apiVersion": version, "kind": "ResourceBinding", "metadata": {"name": "b"}}
    return {**head, "spec": spec}


texts = some.text("ab/~", max_size=3)
values = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = some.dictionaries(texts, values, max_size=4)


@given(objects, objects)
def test_a_patch_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]):
    assert apply_json_patch(before, steps(before, after)) == after


@given(objects)
def test_what_is_the_same_needs_no_patch(value: dict[str, Any]):
    assert steps(value, value) == []


def test_a_write_that_changes_nothing_is_just_allowed():
    asked = asked_in(review(object={"a": 1}))
    assert allowed(asked, {"a": 1}) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "7", "allowed": True},
    }


def test_what_is_filled_in_is_told_as_a_patch():
    response = allowed(asked_in(review(object={"a": 1})), {"a": 1, "b": 2})["response"]
    assert response["patchType"] == "JSONPatch"
    patch = orjson.loads(base64.b64decode(response["patch"]))
    assert patch == [{"op": "add", "path": "/b", "value": 2}]


def test_a_record_is_judged_as_the_cluster_it_is_of():
    record = {**RECORD, "metadata": {"name": "m1"}, "spec": {}}
    named = {"group": "placement.atoll.io", "resource": "clusterrecords"}
    asked = asked_in(review(object=record, resource=named, name="m1"))
    assert shown_place(asked.place) == ("cluster.karmada.io", "clusters")
    shown = {**record, "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    assert allowed(asked, shown)["response"] == {"uid": "7", "allowed": True}


def test_a_refusal_keeps_its_code_and_its_words():
    response = refused(asked_in(review()), forbidden("clusters", "x", "m1", "so it is"))["response"]
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert response["status"]["message"] == 'clusters.x "m1" is forbidden: so it is'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"kind":"AdmissionReview"}',
        b'{"kind":"Pod","request":{"uid":"1"}}',
    ],
)
def test_what_is_no_review_is_refused(body: bytes):
    with pytest.raises(ApiError) as wrong:
        asked_in(body)
    assert (wrong.value.code, wrong.value.message) == (400, "this is no AdmissionReview")


def test_a_binding_is_shown_in_its_older_version():
    response = conversion(OLDER, binding(NEWER), binding(OLDER))
    assert response["result"] == {"status": "Success"}
    shown, same = response["convertedObjects"]
    assert shown["spec"] == {"resource": {"kind": "Deployment", "replicas": 2}}
    assert same == binding(OLDER)


def test_a_binding_is_not_written_in_its_older_version():
    response = conversion(NEWER, binding(OLDER))
    assert response["result"]["status"] == "Failure"
    assert response["result"]["message"].startswith("work.karmada.io/v1alpha1 can only be read")


def test_there_is_no_way_to_versions_that_nobody_knows():
    response = conversion("work.karmada.io/v9", binding(NEWER))
    assert response["result"]["message"] == f"there is no way from {NEWER} to work.karmada.io/v9"
