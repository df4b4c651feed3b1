"""One object in the form the client asks for: JSON, YAML, a table, metadata alone."""

import pytest
import yaml
from backends import Backend
from manifests import configmap, deployment

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
MEDIA = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


def test_a_list_as_a_table_has_a_row_for_each_object(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="1", m="2"))
    api.create(configmaps, configmap("b"))
    table = api.read(configmaps, TABLE)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert int(table["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    columns = [
        (one["name"], one["type"], one["format"], one["priority"])
        for one in table["columnDefinitions"]
    ]
    assert columns == [
        ("Name", "string", "name", 0),
        ("Data", "string", "", 0),
        ("Age", "string", "", 0),
    ]
    assert [row["cells"][:2] for row in table["rows"]] == [["a", 2], ["b", 0]]
    assert table["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }


def test_columns_of_a_table_are_described(api: Backend, configmaps: str) -> None:
    columns = api.read(configmaps, TABLE)["columnDefinitions"]
    assert columns[0]["description"].startswith("Name must be unique within a namespace.")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_one_object_as_a_table_has_one_row(api: Backend, configmaps: str, version: str) -> None:
    made = api.create(configmaps, configmap("a"))
    table = api.read(f"{configmaps}/a", TABLE.replace("v=v1", f"v={version}"))
    assert table["apiVersion"] == f"meta.k8s.io/{version}"
    assert table["metadata"] == {"resourceVersion": made["metadata"]["resourceVersion"]}
    (row,) = table["rows"]
    assert row["object"]["apiVersion"] == f"meta.k8s.io/{version}"


def test_a_table_can_carry_whole_objects_or_none(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="v"))
    (whole,) = api.read(f"{configmaps}?includeObject=Object", TABLE)["rows"]
    assert whole["object"] == made
    (bare,) = api.read(f"{configmaps}?includeObject=None", TABLE)["rows"]
    assert bare["object"] is None
    (usual,) = api.read(f"{configmaps}?includeObject=Metadata", TABLE)["rows"]
    assert usual["object"]["kind"] == "PartialObjectMetadata"


def test_an_unknown_include_object_is_refused(api: Backend, configmaps: str) -> None:
    api.request("GET", f"{configmaps}?includeObject=Zzz", headers={"accept": TABLE}).refusal(
        400,
        "BadRequest",
        'Unable to convert to Table as requested: includeObject: Invalid value: "Zzz": '
        "must be 'Metadata', 'Object', 'None', or empty",
    )


def test_a_table_pages_like_a_list(api: Backend, configmaps: str) -> None:
    for name in "abc":
        api.create(configmaps, configmap(name))
    first = api.read(f"{configmaps}?limit=2", TABLE)
    assert first["metadata"]["remainingItemCount"] == 1
    rest = api.read(f"{configmaps}?limit=2&continue={first['metadata']['continue']}", TABLE)
    assert [row["cells"][0] for row in rest["rows"]] == ["c"]


def test_a_deployment_table_shows_replicas_and_hides_wide_columns(
    api: Backend, deployments: str
) -> None:
    api.create(deployments, deployment("web", replicas=3))
    table = api.read(deployments, TABLE)
    names = [(one["name"], one["priority"]) for one in table["columnDefinitions"]]
    assert names == [
        ("Name", 0),
        ("Ready", 0),
        ("Up-to-date", 0),
        ("Available", 0),
        ("Age", 0),
        ("Containers", 1),
        ("Images", 1),
        ("Selector", 1),
    ]
    (row,) = table["rows"]
    cells = row["cells"]
    assert [*cells[:4], *cells[5:]] == ["web", "0/3", 0, 0, "main", "nginx:1.0", "app=web"]


def test_metadata_alone_can_be_read_listed_and_watched(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", k="v"))
    partial = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }
    assert api.read(f"{configmaps}/a", PARTIAL) == partial
    listed = api.read(configmaps, PARTIALS)
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert listed["items"] == [partial]
    with api.watch(f"{configmaps}?watch=1", {"accept": PARTIAL}) as watch:
        assert watch.next() == {"type": "ADDED", "object": partial}


def test_metadata_of_a_list_must_be_asked_for_as_a_list(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    for path, accept in ((configmaps, PARTIAL), (f"{configmaps}/a", PARTIALS)):
        answer = api.request("GET", path, headers={"accept": accept})
        assert answer.refusal(406, "NotAcceptable") == {}


def test_a_watched_table_names_its_columns_once(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    with api.watch(f"{configmaps}?watch=1", {"accept": TABLE}) as watch:
        first = watch.next()
        assert first["object"]["columnDefinitions"]
        api.create(configmaps, configmap("b"))
        second = watch.next()
    assert (second["type"], second["object"]["kind"]) == ("ADDED", "Table")
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "b"


def test_a_watched_table_ends_its_initial_events_with_a_row(api: Backend, configmaps: str) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    path = f"{configmaps}?{query}&allowWatchBookmarks=true"
    with api.watch(path, {"accept": TABLE}) as watch:
        bookmark = watch.next()
    assert bookmark["type"] == "BOOKMARK"
    metadata = bookmark["object"]["rows"][0]["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(metadata["resourceVersion"]) > 0


def test_an_error_is_a_status_even_if_a_table_was_asked_for(api: Backend, configmaps: str) -> None:
    answer = api.request("GET", f"{configmaps}/nope", headers={"accept": TABLE})
    details = answer.refusal(404, "NotFound", 'configmaps "nope" not found')
    assert details == {"name": "nope", "kind": "configmaps"}


def test_what_is_created_and_deleted_can_be_a_table_too(api: Backend, configmaps: str) -> None:
    headers = {"accept": TABLE}
    made = api.request("POST", configmaps, body=configmap("a"), headers=headers).object(201)
    assert (made["kind"], made["rows"][0]["cells"][0]) == ("Table", "a")
    gone = api.request("DELETE", f"{configmaps}/a", headers=headers).object()
    assert (gone["kind"], gone["status"]) == ("Status", "Success")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        pytest.param("", "application/json", id="nothing"),
        pytest.param("*/*", "application/json", id="anything"),
        pytest.param("text/html, */*", "application/json", id="a browser"),
        pytest.param("application/yaml", "application/yaml", id="yaml"),
        pytest.param(
            "application/json;q=0.1,application/yaml;q=0.9", "application/yaml", id="by quality"
        ),
        pytest.param(
            "application/json;as=Table;v=v3;g=meta.k8s.io,application/json",
            "application/json",
            id="the second if the first is unknown",
        ),
        pytest.param(f"{TABLE},application/json", "application/json", id="kubectl"),
    ],
)
def test_the_best_acceptable_form_is_sent(
    api: Backend, configmaps: str, accept: str, content_type: str
) -> None:
    api.create(configmaps, configmap("a"))
    answer = api.request("GET", f"{configmaps}/a", headers={"accept": accept})
    assert (answer.status, answer.headers["content-type"]) == (200, content_type)


@pytest.mark.parametrize("accept", ["text/html", "application/cbor", "application/*"])
def test_a_form_that_is_not_there_is_refused(api: Backend, configmaps: str, accept: str) -> None:
    api.create(configmaps, configmap("a"))
    answer = api.request("GET", f"{configmaps}/a", headers={"accept": accept})
    answer.refusal(406, "NotAcceptable")
    wanted = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
    assert answer.json()["message"].startswith(wanted)


def test_a_transformation_that_is_not_there_is_refused(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    accept = TABLE.replace("v=v1", "v=v3")
    answer = api.request("GET", f"{configmaps}/a", headers={"accept": accept})
    answer.refusal(406, "NotAcceptable")
    wanted = "only the following media types are accepted: application/json, application/yaml"
    assert answer.json()["message"].startswith(wanted)


def test_objects_can_be_had_as_protobuf(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    accept = "application/vnd.kubernetes.protobuf"
    answer = api.request("GET", f"{configmaps}/a", headers={"accept": accept})
    assert (answer.status, answer.body[:4]) == (200, b"k8s\x00")


def test_whoever_reads_json_too_can_ask_for_protobuf_first(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a"))
    accept = "application/json,application/vnd.kubernetes.protobuf"
    assert api.read(f"{configmaps}/a", accept) == made


def test_objects_can_be_sent_as_protobuf(api: Backend, configmaps: str) -> None:
    # runtime.Unknown{TypeMeta{v1, ConfigMap}, raw: ConfigMap{ObjectMeta{name: a}, data{k: v}}}
    raw = b"\x0a\x03\x0a\x01a" + b"\x12\x06\x0a\x01k\x12\x01v"
    kind = b"\x0a\x02v1\x12\x09ConfigMap"
    body = b"k8s\x00" + b"\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(raw)]) + raw
    headers = {
        "content-type": "application/vnd.kubernetes.protobuf",
        "accept": "application/json",
    }
    made = api.request("POST", configmaps, body=body, headers=headers).object(201)
    assert (made["metadata"]["name"], made["data"]) == ("a", {"k": "v"})


def test_yaml_comes_back_as_yaml_says_it(api: Backend, configmaps: str) -> None:
    made = api.create(configmaps, configmap("a", number="1", truth="yes"))
    answer = api.request("GET", f"{configmaps}/a", headers={"accept": "application/yaml"})
    assert yaml.safe_load(answer.body) == made


def test_yaml_can_be_sent(api: Backend, configmaps: str) -> None:
    text = b"metadata:\n  name: made\ndata:\n  a: '1'\n"
    headers = {"content-type": "application/yaml", "accept": "application/yaml"}
    answer = api.request("POST", configmaps, body=text, headers=headers)
    assert (answer.status, answer.headers["content-type"]) == (201, "application/yaml")
    assert api.read(f"{configmaps}/made")["data"] == {"a": "1"}


def test_yaml_reads_a_bare_y_as_truth(api: Backend, configmaps: str) -> None:
    headers = {"content-type": "application/yaml"}
    api.request("POST", configmaps, body=b"metadata: {name: y}", headers=headers).refusal(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool '
        "into Go struct field ObjectMeta.metadata.name of type string",
    )


def test_errors_are_told_in_yaml_to_those_who_read_yaml(api: Backend, configmaps: str) -> None:
    answer = api.request("GET", f"{configmaps}/no", headers={"accept": "application/yaml"})
    assert (answer.status, answer.headers["content-type"]) == (404, "application/yaml")
    assert yaml.safe_load(answer.body)["reason"] == "NotFound"


@pytest.mark.parametrize("kind", ["text/plain", "application/cbor", "application/xml"])
def test_a_body_of_unknown_form_is_refused(api: Backend, configmaps: str, kind: str) -> None:
    answer = api.request("POST", configmaps, body=b"{}", headers={"content-type": kind})
    message = "the body of the request was in an unknown format - accepted media types include: "
    answer.refusal(415, "UnsupportedMediaType", message + MEDIA)


def test_a_body_may_say_its_character_set(api: Backend, configmaps: str) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    answer = api.request("POST", configmaps, body=configmap("a"), headers=headers)
    assert answer.status == 201


def test_people_get_indented_json(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    plain = api.request("GET", f"{configmaps}/a")
    assert b"\n  " not in plain.body
    for path, headers in (
        ("?pretty=true", {}),
        ("", {"user-agent": "curl/8.5.0"}),
        ("", {"accept": "application/json;pretty=1"}),
    ):
        answer = api.request("GET", f"{configmaps}/a{path}", headers=headers)
        assert answer.body.startswith(b'{\n  "kind": "ConfigMap",\n')
        assert answer.json() == plain.json()


def test_every_answer_has_an_audit_id_and_is_not_to_be_cached(api: Backend, unique: str) -> None:
    answer = api.request("GET", f"/api/v1/namespaces/{unique}")
    assert len(answer.headers["audit-id"]) == 36
    assert answer.headers["cache-control"] == "no-cache, private"
    mine = api.request("GET", "/api/v1/namespaces/default", headers={"audit-id": "mine"})
    assert mine.headers["audit-id"] == "mine"
