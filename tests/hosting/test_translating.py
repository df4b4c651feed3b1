"""Requests for Clusters and what is answered, in the names of what a host keeps and back."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from atoll.apiserver.status import ApiError
from atoll.exchange import Request, Response
from atoll.hosting.translating import (
    KEPT,
    SHOWN,
    in_shown_words,
    inward,
    is_for_objects,
    line_outward,
    outward,
    shown_object,
)

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
RECORDS = "/apis/placement.atoll.io/v1alpha1/clusterrecords"
JSON = {"content-type": "application/json"}
MANAGED = {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}


def cluster(**more: Any) -> dict[str, Any]:
    head = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    return {**head, "metadata": {"name": "m1"}, **more}


def record(**more: Any) -> dict[str, Any]:
    head = {"apiVersion": "placement.atoll.io/v1alpha1", "kind": "ClusterRecord"}
    return {**cluster(**more), **head}


def managed(wire: dict[str, Any], version: str) -> dict[str, Any]:
    entries = [{**MANAGED, "apiVersion": version}, {**MANAGED, "apiVersion": "v1"}]
    return {**wire, "metadata": {"name": "m1", "managedFields": entries}}


def sent(method: str, below: str = "", body: Any = None, **headers: str) -> Request:
    content = b"" if body is None else orjson.dumps(body)
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return inward(Request(method, f"{CLUSTERS}{below}", "q=1", said, content))


@pytest.mark.parametrize("below", ["", "/m1", "/m1/status", "/a%2Fb"])
def test_paths_lead_to_what_is_kept(below: str):
    request = sent("GET", below)
    assert (request.path, request.query) == (f"{RECORDS}{below}", "q=1")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CLUSTERS, True),
        (f"{CLUSTERS}/m1", True),
        (f"{CLUSTERS}/m1/status", True),
        (f"{CLUSTERS}s", False),
        ("/apis/cluster.karmada.io/v1alpha1", False),
        ("/apis/work.karmada.io/v1alpha1/works", False),
    ],
)
def test_only_paths_of_clusters_are_translated(path: str, *, expected: bool):
    assert is_for_objects(path) is expected


def test_only_what_a_host_needs_to_know_of_the_caller_is_said_on():
    headers = {"user-agent": "kubectl/v1", "x-remote-user": "ada", "authorization": "Bearer x"}
    request = inward(Request("GET", CLUSTERS, "", headers))
    assert request.headers == {"user-agent": "kubectl/v1", "accept": "application/json"}


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/yaml", "application/json"),
        ("application/vnd.kubernetes.protobuf,application/json", "application/json"),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
        ),
        (
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        ),
    ],
)
def test_a_host_is_asked_for_json_in_the_shape_that_is_wanted(accept: str, expected: str):
    assert sent("GET", accept=accept).headers["accept"] == expected


def test_a_form_that_nobody_serves_is_not_acceptable():
    with pytest.raises(ApiError) as refused:
        sent("GET", accept="application/vnd.kubernetes.protobuf")
    assert refused.value.code == 406


@pytest.mark.parametrize(
    "form",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    ],
)
def test_a_body_is_sent_under_the_other_names(form: str):
    body = managed(cluster(spec={"syncMode": "Push"}), SHOWN.api_version)
    request = sent("PUT", "/m1", body, content_type=form)
    expected = managed(record(spec={"syncMode": "Push"}), KEPT.api_version)
    assert orjson.loads(request.body) == expected
    assert request.headers["content-type"] == form


def test_a_body_in_yaml_is_sent_as_json():
    body = b"apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: m1}\n"
    request = inward(Request("POST", CLUSTERS, "", {"content-type": "application/yaml"}, body))
    assert request.headers["content-type"] == "application/json"
    assert orjson.loads(request.body) == record()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"op": "test", "path": "/kind", "value": "Cluster"}, "ClusterRecord"),
        ({"op": "test", "path": "/apiVersion", "value": SHOWN.api_version}, KEPT.api_version),
        ({"op": "replace", "path": "", "value": cluster()}, record()),
        ({"op": "add", "path": "/spec/kind", "value": "Cluster"}, "Cluster"),
        (
            {"op": "test", "path": "/metadata/managedFields/0/apiVersion", "value": "v1"},
            "v1",
        ),
        (
            {
                "op": "replace",
                "path": "/metadata/managedFields",
                "value": [{"apiVersion": SHOWN.api_version}],
            },
            [{"apiVersion": KEPT.api_version}],
        ),
        (
            {
                "op": "replace",
                "path": "/metadata/managedFields/0",
                "value": {"apiVersion": SHOWN.api_version},
            },
            {"apiVersion": KEPT.api_version},
        ),
        (
            {"op": "replace", "path": "/metadata", "value": {"name": "m1"}},
            {"name": "m1"},
        ),
    ],
    ids=lambda value: value.get("path", "") if isinstance(value, dict) else "",
)
def test_steps_of_a_patch_mean_the_same(step: dict[str, Any], expected: Any):
    form = "application/json-patch+json"
    (found,) = orjson.loads(sent("PATCH", "/m1", [step], content_type=form).body)
    assert found == {**step, "value": expected}


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff", b'"x"'])
@pytest.mark.parametrize(
    "form", ["application/json", "application/json-patch+json", "application/apply-patch+yaml"]
)
def test_what_makes_no_sense_is_left_to_the_host(form: str, body: bytes):
    request = inward(Request("PATCH", f"{CLUSTERS}/m1", "", {"content-type": form}, body))
    assert request.body == body


def test_what_is_kept_cannot_be_written_by_its_own_name():
    with pytest.raises(ApiError) as refused:
        sent("POST", body=record(), content_type="application/json")
    assert refused.value.message == (
        "the API version in the data (placement.atoll.io/v1alpha1) does not match the expected"
        " API version (cluster.karmada.io/v1alpha1)"
    )


def answered(document: Any, accept: str = "", status: int = 200) -> Any:
    request = Request("GET", CLUSTERS, "", {"accept": accept})
    response = outward(request, Response(status, JSON, orjson.dumps(document)))
    return orjson.loads(response.body)


def test_objects_and_lists_are_told_under_the_names_they_are_shown_by():
    kept, shown = (
        managed(record(), KEPT.api_version),
        managed(cluster(), SHOWN.api_version),
    )
    assert answered(kept) == shown
    listed = {"apiVersion": KEPT.api_version, "kind": "ClusterRecordList", "metadata": {}}
    expected = {"apiVersion": SHOWN.api_version, "kind": "ClusterList", "metadata": {}}
    assert answered({**listed, "items": [kept]}) == {**expected, "items": [shown]}


def test_rows_of_a_table_carry_what_is_shown():
    head = {"apiVersion": "meta.k8s.io/v1", "kind": "Table"}
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    rows = [
        {"cells": ["m1"], "object": managed(partial, KEPT.api_version)},
        {"cells": ["m1"], "object": record()},
        {"cells": ["m1"]},
    ]
    assert answered({**head, "rows": rows})["rows"] == [
        {"cells": ["m1"], "object": managed(partial, SHOWN.api_version)},
        {"cells": ["m1"], "object": cluster()},
        {"cells": ["m1"]},
    ]


def test_yaml_is_given_to_who_wants_it():
    request = Request("GET", f"{CLUSTERS}/m1", "", {"accept": "application/yaml"})
    response = outward(request, Response(200, JSON, orjson.dumps(record())))
    assert response.headers["content-type"] == "application/yaml"
    assert b"kind: Cluster\n" in response.body


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        (
            'clusterrecords.placement.atoll.io "m1" not found',
            'clusters.cluster.karmada.io "m1" not found',
        ),
        (
            'ClusterRecord.placement.atoll.io "m1" is invalid: spec.syncMode: Required value',
            'Cluster.cluster.karmada.io "m1" is invalid: spec.syncMode: Required value',
        ),
        (
            'admission webhook "rules-of-clusters.placement.atoll.io" denied the request:'
            ' Cluster.cluster.karmada.io "m1" is invalid',
            'Cluster.cluster.karmada.io "m1" is invalid',
        ),
        (
            'admission webhook "rules.example.com" denied the request: no',
            'admission webhook "rules.example.com" denied the request: no',
        ),
    ],
)
def test_refusals_speak_of_clusters(kept: str, shown: str):
    assert in_shown_words(kept) == shown


def test_a_status_names_what_is_shown_in_its_details():
    details = {"name": "m1", "group": KEPT.group, "kind": "clusterrecords", "uid": "1"}
    causes = [{"message": "of a ClusterRecord", "field": "spec"}, {"reason": "x"}]
    status = {"kind": "Status", "details": {**details, "causes": causes}, "code": 404}
    assert answered(status, status=404)["details"] == {
        "name": "m1",
        "group": SHOWN.group,
        "kind": "clusters",
        "uid": "1",
        "causes": [{"message": "of a Cluster", "field": "spec"}, {"reason": "x"}],
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"type": "ADDED", "object": record()}, {"type": "ADDED", "object": cluster()}),
        (
            {"type": "ERROR", "object": {"kind": "Status", "message": "no ClusterRecord"}},
            {"type": "ERROR", "object": {"kind": "Status", "message": "no Cluster"}},
        ),
    ],
)
def test_events_of_a_watch_are_told_one_by_one(line: dict[str, Any], expected: dict[str, Any]):
    assert orjson.loads(line_outward(orjson.dumps(line))) == expected


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"type":"ADDED"}', b"null"])
def test_an_event_that_makes_no_sense_is_told_as_it_came(line: bytes):
    assert line_outward(line) == line


texts = some.text(max_size=5)
values = some.recursive(
    some.none() | some.booleans() | some.integers(-(2**53), 2**53) | texts,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
versions = some.sampled_from([SHOWN.api_version, "v1", "cluster.karmada.io/v1"])
entries = some.fixed_dictionaries({"manager": texts, "apiVersion": versions})
clusters = some.fixed_dictionaries(
    {
        "apiVersion": some.just(SHOWN.api_version),
        "kind": some.just(SHOWN.kind),
        "metadata": some.fixed_dictionaries(
            {"name": texts}, optional={"managedFields": some.lists(entries, max_size=3)}
        ),
    },
    optional={"spec": values, "status": values},
)


@given(clusters)
def test_a_cluster_that_was_kept_is_shown_as_it_was_written(wire: dict[str, Any]):
    kept = orjson.loads(sent("POST", body=wire, content_type="application/json").body)
    assert (kept["apiVersion"], kept["kind"]) == (KEPT.api_version, KEPT.kind)
    assert shown_object(kept) == wire


@given(values)
def test_nothing_that_a_host_says_is_too_odd_to_be_told(document: Any):
    assert type(answered(document)) is type(document)
