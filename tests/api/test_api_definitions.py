"""Custom resource definitions: what is checked, what they bring, and how they go."""

import time
from collections.abc import Iterator

import pytest
from backends import Backend
from manifests import definition

from atoll.wire import Wire

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def group(unique: str) -> str:
    return f"{unique}.example.com"


def establish(api: Backend, made: Wire) -> str:
    """Create a definition, wait until it is served; the path of its group version."""
    api.create(CRDS, made)
    group, version = made["spec"]["group"], made["spec"]["versions"][0]["name"]
    root = f"/apis/{group}/{version}"
    deadline = time.monotonic() + 120
    while api.request("GET", f"{root}/{made['spec']['names']['plural']}").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return root


def conditions(found: Wire) -> dict[str, str]:
    return {one["type"]: one["status"] for one in found["status"]["conditions"]}


def refused(api: Backend, made: Wire) -> list[tuple[str, str]]:
    details = api.request("POST", CRDS, body=made).refusal(422, "Invalid")
    return [(cause["field"], cause["message"]) for cause in details["causes"]]


@pytest.fixture
def simple(group: str) -> Wire:
    return definition("Thing", group, {"type": "object", "properties": {"n": {"type": "integer"}}})


def test_a_definition_is_established(api: Backend, simple: Wire, group: str) -> None:
    establish(api, simple)
    found = api.read(f"{CRDS}/things.{group}")
    assert conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    assert found["spec"]["names"] == {
        "plural": "things",
        "singular": "thing",
        "shortNames": ["th"],
        "kind": "Thing",
        "listKind": "ThingList",
    }
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert found["status"]["acceptedNames"] == found["spec"]["names"]
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["metadata"]["generation"] == 1


def test_a_definition_brings_its_resource_into_discovery(
    api: Backend, simple: Wire, group: str
) -> None:
    simple["spec"]["names"]["categories"] = ["all"]
    root = establish(api, simple)
    deadline = time.monotonic() + 120
    while api.request("GET", root).status != 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    (resource,) = api.read(root)["resources"]
    assert resource.pop("storageVersionHash")
    assert resource == {
        "name": "things",
        "singularName": "thing",
        "namespaced": True,
        "kind": "Thing",
        "verbs": [
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ],
        "shortNames": ["th"],
        "categories": ["all"],
    }


def test_its_group_prefers_the_stabler_version(api: Backend, simple: Wire, group: str) -> None:
    (v1,) = simple["spec"]["versions"]
    others = [{**v1, "name": name, "storage": False} for name in ("v1beta1", "v2", "v2alpha1")]
    simple["spec"]["versions"] += others
    establish(api, simple)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        answer = api.request("GET", f"/apis/{group}")
        if answer.status == 200 and len(answer.json()["versions"]) == 4:
            break
        time.sleep(0.05)
    found = api.read(f"/apis/{group}")
    assert [one["version"] for one in found["versions"]] == ["v2", "v1", "v1beta1", "v2alpha1"]
    assert found["preferredVersion"]["version"] == "v2"


def test_all_versions_show_the_same_object(
    api: Backend, simple: Wire, group: str, namespace: str
) -> None:
    (v1,) = simple["spec"]["versions"]
    simple["spec"]["versions"].append({**v1, "name": "v2", "storage": False})
    establish(api, simple)
    paths = [f"/apis/{group}/{one}/namespaces/{namespace}/things" for one in ("v1", "v2")]
    thing = {"kind": "Thing", "metadata": {"name": "a"}, "spec": {"n": 1}}
    made = api.create(paths[1], {**thing, "apiVersion": f"{group}/v2"})
    seen = api.read(f"{paths[0]}/a")
    assert (made["apiVersion"], seen["apiVersion"]) == (f"{group}/v2", f"{group}/v1")
    assert seen["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    start = made["metadata"]["resourceVersion"]
    with api.watch(f"{paths[1]}?watch=1&resourceVersion={start}") as watch:
        api.patch(f"{paths[0]}/a", {"spec": {"n": 2}})
        event = watch.next()
    assert (event["type"], event["object"]["apiVersion"]) == ("MODIFIED", f"{group}/v2")


def test_the_name_of_a_definition_is_plural_and_group(api: Backend, simple: Wire) -> None:
    simple["metadata"]["name"] = "other"
    assert refused(api, simple) == [
        (
            "metadata.name",
            'Invalid value: "other": must be spec.names.plural+"."+spec.group',
        )
    ]


def test_a_schema_must_be_structural(api: Backend, group: str) -> None:
    made = definition("Thing", group, {"properties": {"n": {"type": "integer"}}})
    ((field, message),) = refused(api, made)
    assert field == "spec.validation.openAPIV3Schema.properties[spec].type"
    assert message == "Required value: must not be empty for specified object fields"


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "array"}}},
            "properties[a].items",
            "Required value: must be specified",
            id="array without items",
        ),
        pytest.param(
            {"type": "strange"},
            "type",
            'Unsupported value: "strange": supported values: "array", "boolean", "integer", '
            '"number", "object", "string"',
            id="unknown type",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            "properties[a].default",
            'Invalid value: "string":  in body must be of type integer: "string"',
            id="wrong default",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
            "properties[a].pattern",
            'Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing '
            "regexp: missing closing ): `(`",
            id="broken pattern",
        ),
    ],
)
def test_schemas_are_checked(
    api: Backend, group: str, spec: Wire, field: str, message: str
) -> None:
    causes = refused(api, definition("Thing", group, spec))
    prefix = "spec.validation.openAPIV3Schema.properties[spec]."
    assert (prefix + field, message) in causes


def test_one_version_must_be_the_stored_one(api: Backend, simple: Wire) -> None:
    simple["spec"]["versions"][0]["storage"] = False
    causes = refused(api, simple)
    expected = "must have exactly one version marked as storage version"
    assert any(field == "spec.versions" and message.endswith(expected) for field, message in causes)


def test_names_that_are_taken_are_not_accepted(api: Backend, simple: Wire, group: str) -> None:
    establish(api, simple)
    rival = definition("Rival", group, {"type": "object"})
    rival["spec"]["names"]["shortNames"] = ["th"]
    api.create(CRDS, rival)
    deadline = time.monotonic() + 120
    found = api.read(f"{CRDS}/rivals.{group}")
    while "conditions" not in found.get("status", {}) or not found["status"]["conditions"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        found = api.read(f"{CRDS}/rivals.{group}")
    told = {one["type"]: one for one in found["status"]["conditions"]}
    assert told["NamesAccepted"]["status"] == "False"
    assert told["NamesAccepted"]["reason"] == "ShortNamesConflict"
    assert told["NamesAccepted"]["message"] == '"th" is already in use'
    assert "Established" not in told or told["Established"]["status"] == "False"


def test_a_definition_takes_its_objects_along(
    api: Backend, simple: Wire, group: str, namespace: str
) -> None:
    root = establish(api, simple)
    things = f"{root}/namespaces/{namespace}/things"
    api.create(things, {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}})
    with api.watch(f"{things}?watch=1") as watch:
        assert watch.next()["type"] == "ADDED"
        ending = api.delete(f"{CRDS}/things.{group}")
        assert ending["kind"] == "CustomResourceDefinition"
        assert ending["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        assert watch.next()["type"] == "DELETED"
        assert watch.rest(15) == []
    deadline = time.monotonic() + 120
    while api.request("GET", f"{CRDS}/things.{group}").status != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    while api.request("GET", things).status != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_definition_can_come_back(api: Backend, simple: Wire, group: str, namespace: str) -> None:
    root = establish(api, simple)
    things = f"{root}/namespaces/{namespace}/things"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}}
    first = api.create(things, thing)
    api.delete(f"{CRDS}/things.{group}")
    deadline = time.monotonic() + 120
    while api.request("GET", things).status != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    establish(api, simple)
    assert api.read(things)["items"] == []
    second = api.create(things, thing)
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])


def test_a_definition_of_a_built_in_kind_changes_nothing_and_takes_nothing_along(
    api: Backend, namespace: str
) -> None:
    made = definition("EndpointSlice", "discovery.k8s.io", {"type": "object"})
    made["metadata"]["annotations"] = {"api-approved.kubernetes.io": "https://example.com/pull/1"}
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    slice_ = {"metadata": {"name": "a"}, "addressType": "IPv4", "endpoints": []}
    api.create(slices, slice_)
    path = f"{CRDS}/endpointslices.discovery.k8s.io"
    try:
        api.create(CRDS, made)
        refusal = api.request("POST", slices, body={"metadata": {"name": "b"}})
        assert "addressType" in refusal.refusal(422, "Invalid")["causes"][0]["field"]
        assert api.read(f"{slices}/a")["addressType"] == "IPv4"
    finally:
        api.request("DELETE", path)
    deadline = time.monotonic() + 120
    while api.request("GET", path).status != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert api.read(f"{slices}/a")["addressType"] == "IPv4"


@pytest.fixture(autouse=True)
def swept(api: Backend, group: str) -> Iterator[None]:
    """Every definition costs the real server threads and watches: none outlives its test."""
    yield
    for found in api.read(CRDS)["items"]:
        if found["spec"]["group"] == group:
            api.request("DELETE", f"{CRDS}/{found['metadata']['name']}")
