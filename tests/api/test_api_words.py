"""What is said to who asks for what cannot be: the same words from every server."""

import pytest
from backends import PATCHES, Backend
from manifests import configmap

from atoll.wire import Wire

OWNERLESS = {"metadata": {"name": "orphan", "ownerReferences": [{}]}}
NOT_A_NAME = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def causes(details: Wire) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in details["causes"]]


@pytest.fixture
def present(api: Backend, configmaps: str) -> str:
    api.create(configmaps, configmap("a"))
    return f"{configmaps}/a"


def test_an_owner_says_who_it_is(api: Backend, configmaps: str) -> None:
    details = api.request("POST", configmaps, body=OWNERLESS).refusal(422, "Invalid")
    said = {
        "apiVersion": "version must not be empty",
        "kind": "must not be empty",
        "name": "must not be empty",
        "uid": "must not be empty",
    }
    assert causes(details) == [
        (f"metadata.ownerReferences.{field}", f'Invalid value: "": {words}')
        for field, words in said.items()
    ]


@pytest.mark.parametrize("name", ["", "named"])
def test_a_prefix_for_a_name_is_judged_as_a_prefix(
    api: Backend, configmaps: str, name: str
) -> None:
    wanted = {"metadata": {"name": name, "generateName": "A_"}}
    details = api.request("POST", configmaps, body=wanted).refusal(422, "Invalid")
    assert causes(details)[0] == (
        "metadata.generateName",
        f'Invalid value: "A_": {NOT_A_NAME}',
    )


def test_a_prefix_may_end_in_what_no_name_may_end_in(api: Backend, configmaps: str) -> None:
    made = api.create(f"{configmaps}?dryRun=All", {"metadata": {"generateName": "a-"}})
    assert made["metadata"]["name"].startswith("a-")


def test_a_field_manager_is_printable(api: Backend, configmaps: str) -> None:
    asked = api.request("POST", f"{configmaps}?fieldManager=a%01b", body=configmap("a"))
    assert causes(asked.refusal(422, "Invalid")) == [
        ("fieldManager", 'Invalid value: "a\\x01b": invalid character U+0001 (at position 1)')
    ]


def test_an_object_too_large_is_named_as_a_whole(api: Backend, configmaps: str) -> None:
    large = {**configmap("large"), "data": {"a": "x" * 1_100_000}}
    details = api.request("POST", configmaps, body=large).refusal(422, "Invalid")
    assert causes(details) == [("[]", "Too long: may not be more than 1048576 bytes")]


def test_initial_events_are_never_of_exactly_one_version(api: Backend, configmaps: str) -> None:
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1"
    details = api.request("GET", f"{configmaps}?{query}").refusal(422, "Invalid")
    assert [message for _, message in causes(details)] == [
        "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ]


def test_one_object_is_read_at_least_as_new_as_asked(api: Backend, present: str) -> None:
    version = api.read(present)["metadata"]["resourceVersion"]
    for asked in ("", "0", version):
        assert api.read(f"{present}?resourceVersion={asked}")["metadata"]["name"] == "a"


def test_one_object_of_a_version_to_come_is_waited_for_in_vain(api: Backend, present: str) -> None:
    details = api.request("GET", f"{present}?resourceVersion=99999999").refusal(504, "Timeout")
    assert details["retryAfterSeconds"] == 1
    assert details["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]


def test_one_object_is_not_read_at_what_is_no_version(api: Backend, present: str) -> None:
    why = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    api.request("GET", f"{present}?resourceVersion=abc").refusal(500, None, why)


def test_an_update_without_a_name_is_told_which_was_meant(api: Backend, present: str) -> None:
    why = "the name of the object (a based on URL) was undeterminable: name must be provided"
    api.request("PUT", present, body={"data": {}}).refusal(400, "BadRequest", why)


def test_null_is_no_merge_patch(api: Backend, present: str) -> None:
    api.try_patch(present, b"null").refusal(400, "BadRequest", "Invalid JSON Patch")


@pytest.mark.parametrize("body", [b"", b"{}"], ids=["nothing", "an empty object"])
def test_what_is_applied_says_its_kind(api: Backend, present: str, body: bytes) -> None:
    headers = {"content-type": PATCHES["apply"]}
    answer = api.request("PATCH", f"{present}?fieldManager=m", body=body, headers=headers)
    answer.refusal(400, "BadRequest", "invalid object type: /, Kind=")


def test_a_namespace_is_held_by_qualified_names_only(api: Backend, unique: str) -> None:
    api.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    held = {"metadata": {"name": unique}, "spec": {"finalizers": ["x", "kubernetes"]}}
    asked = api.request("PUT", f"/api/v1/namespaces/{unique}/finalize", body=held)
    why = "name is neither a standard finalizer name nor is it fully qualified"
    assert causes(asked.refusal(422, "Invalid")) == [
        ("spec.finalizers[0]", f'Invalid value: "x": {why}')
    ]


@pytest.mark.parametrize(
    ("shape", "at", "why"),
    [
        (
            "PartialObjectMetadata",
            "",
            "you requested PartialObjectMetadata, but the requested object is a list"
            " (*core.ConfigMapList)",
        ),
        (
            "PartialObjectMetadataList",
            "/a",
            "you requested PartialObjectMetadataList, but the requested object is not a list"
            " (*core.ConfigMap)",
        ),
    ],
)
def test_metadata_of_one_is_not_of_many(
    api: Backend, configmaps: str, present: str, shape: str, at: str, why: str
) -> None:
    accept = f"application/json;as={shape};v=v1;g=meta.k8s.io"
    answer = api.request("GET", f"{configmaps}{at}", headers={"accept": accept})
    answer.refusal(406, "NotAcceptable", why)


def test_an_answer_to_a_question_is_no_table(api: Backend) -> None:
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    asked = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = api.request("POST", path, body=asked, headers=accept)
    assert (answer.status, answer.json()["reason"]) == (406, "NotAcceptable")


def test_times_are_quoted_in_yaml_as_everywhere(api: Backend, present: str) -> None:
    text = api.request("GET", present, headers={"accept": "application/yaml"}).body.decode()
    line = next(line for line in text.splitlines() if "creationTimestamp" in line)
    assert line.split(": ", 1)[1].startswith('"20')


@pytest.mark.parametrize("path", ["/nope", "/healthz"])
def test_plain_text_is_not_to_be_taken_for_anything_else(api: Backend, path: str) -> None:
    assert api.request("GET", path).headers["x-content-type-options"] == "nosniff"


def test_a_refusal_to_a_stranger_is_not_to_be_taken_for_anything_else(
    api: Backend, configmaps: str
) -> None:
    refused = api.stranger("GET", configmaps, {})
    refused.refusal(403, "Forbidden")
    assert refused.headers["x-content-type-options"] == "nosniff"


def test_the_version_says_what_it_emulates(api: Backend) -> None:
    version = api.read("/version")
    assert (version["major"], version["minor"]) == (
        version["emulationMajor"],
        version["emulationMinor"],
    )
    assert int(version["minCompatibilityMinor"]) < int(version["minor"])
    assert version["platform"].split("/")[1] in ("amd64", "arm64")
