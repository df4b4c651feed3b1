"""What a client can find out before its first request: versions, groups, resources."""

import re

import pytest
from backends import Backend

from atoll.wire import Wire

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NOT_FOUND = "the server could not find the requested resource"
ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


@pytest.mark.parametrize("path", ["/version", "/version/"])
def test_the_version_is_a_release_that_clients_know(api: Backend, path: str) -> None:
    version = api.read(path)
    assert (version["major"], version["minor"]) == ("1", "36")
    assert re.fullmatch(r"v1\.36\.\d+(\+[0-9A-Za-z.-]+)?", version["gitVersion"])


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_the_word_ok(api: Backend, path: str) -> None:
    answer = api.request("GET", path)
    assert (answer.status, answer.body) == (200, b"ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_readiness_can_be_asked_for_in_detail(api: Backend) -> None:
    text = api.request("GET", "/readyz?verbose").body.decode()
    assert text.startswith("[+]ping ok\n")
    assert text.endswith("readyz check passed\n")


@pytest.mark.parametrize("path", ["/api", "/api/"])
def test_the_core_group_has_one_version(api: Backend, path: str) -> None:
    found = api.read(path)
    assert (found["kind"], found["versions"]) == ("APIVersions", ["v1"])


def test_groups_come_in_the_order_that_clients_resolve_names_by(api: Backend) -> None:
    groups = api.read("/apis")
    assert (groups["kind"], groups["apiVersion"]) == ("APIGroupList", "v1")
    names = [group["name"] for group in groups["groups"]]
    builtin = ["apps", "events.k8s.io", "batch", "rbac.authorization.k8s.io", "coordination.k8s.io"]
    assert [name for name in names if name in builtin] == builtin
    apps = next(group for group in groups["groups"] if group["name"] == "apps")
    v1 = {"groupVersion": "apps/v1", "version": "v1"}
    assert apps == {"name": "apps", "versions": [v1], "preferredVersion": v1}


def test_a_group_can_be_read_alone(api: Backend) -> None:
    v1 = {"groupVersion": "apps/v1", "version": "v1"}
    assert api.read("/apis/apps") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [v1],
        "preferredVersion": v1,
    }


@pytest.mark.parametrize("path", ["/apis/apps/v1", "/apis/apps/v1/"])
def test_resources_of_a_version_are_listed_with_their_subresources(api: Backend, path: str) -> None:
    found = api.read(path)
    assert (found["kind"], found["apiVersion"]) == ("APIResourceList", "v1")
    assert found["groupVersion"] == "apps/v1"
    resources = {resource["name"]: resource for resource in found["resources"]}
    assert resources["deployments"].pop("storageVersionHash")
    assert resources["deployments"] == {
        "name": "deployments",
        "singularName": "deployment",
        "namespaced": True,
        "kind": "Deployment",
        "verbs": ALL_VERBS,
        "shortNames": ["deploy"],
        "categories": ["all"],
    }
    assert resources["deployments/scale"] == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }
    assert list(resources) == sorted(resources)


def test_the_core_resource_list_names_its_group_version_only(api: Backend) -> None:
    found = api.read("/api/v1")
    assert (found["kind"], found["groupVersion"]) == ("APIResourceList", "v1")
    assert "apiVersion" not in found
    names = {resource["name"] for resource in found["resources"]}
    assert {"namespaces/finalize", "namespaces/status", "configmaps", "pods/status"} <= names


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_discovery_can_be_had_in_one_piece(api: Backend, path: str) -> None:
    answer = api.request("GET", path, headers={"accept": AGGREGATED})
    found = answer.object()
    assert answer.headers["content-type"] == AGGREGATED
    assert answer.headers["vary"] == "Accept"
    assert answer.headers["cache-control"] == "public"
    assert (found["kind"], found["apiVersion"]) == (
        "APIGroupDiscoveryList",
        "apidiscovery.k8s.io/v2",
    )
    versions = [version for group in found["items"] for version in group["versions"]]
    assert {version["freshness"] for version in versions} == {"Current"}


def test_the_core_group_has_no_name_in_aggregated_discovery(api: Backend) -> None:
    (core,) = api.read("/api", AGGREGATED)["items"]
    assert not core["metadata"].get("name")
    resources = {one["resource"]: one for one in core["versions"][0]["resources"]}
    assert resources["configmaps"] == {
        "resource": "configmaps",
        "responseKind": {"group": "", "version": "", "kind": "ConfigMap"},
        "scope": "Namespaced",
        "singularResource": "configmap",
        "verbs": ALL_VERBS,
        "shortNames": ["cm"],
    }


def test_scale_is_a_kind_of_another_group_in_aggregated_discovery(api: Backend) -> None:
    groups = api.read("/apis", AGGREGATED)["items"]
    apps = next(group for group in groups if group["metadata"].get("name") == "apps")
    resources = {one["resource"]: one for one in apps["versions"][0]["resources"]}
    subresources = {one["subresource"]: one for one in resources["deployments"]["subresources"]}
    assert subresources["scale"] == {
        "subresource": "scale",
        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "verbs": ["get", "patch", "update"],
    }


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_an_unchanged_discovery_is_not_sent_twice(api: Backend, path: str) -> None:
    etag = api.request("GET", path, headers={"accept": AGGREGATED}).headers["etag"]
    assert etag.startswith('"')
    again = api.request("GET", path, headers={"accept": AGGREGATED, "if-none-match": etag})
    assert (again.status, again.body) == (304, b"")
    other = api.request("GET", path, headers={"accept": AGGREGATED, "if-none-match": '"x"'})
    assert other.status == 200


def test_the_first_acceptable_form_of_discovery_wins(api: Backend) -> None:
    accept = f"{AGGREGATED},application/json;q=0.9"
    assert api.read("/api", accept)["kind"] == "APIGroupDiscoveryList"
    assert api.read("/api", "application/json")["kind"] == "APIVersions"
    unknown = AGGREGATED.replace("v=v2", "v=v3")
    assert api.read("/api", f"{unknown},application/json")["kind"] == "APIVersions"


@pytest.mark.parametrize("path", ["/apis/apps/v2", "/api/v2", "/api/v1/nope", "/apis/apps/v1/nope"])
def test_what_is_missing_inside_a_group_is_a_status(api: Backend, path: str) -> None:
    assert api.request("GET", path).refusal(404, "NotFound", NOT_FOUND) == {}


@pytest.mark.parametrize(
    "path", ["/nope", "/apis/nope.io", "/apis/nope.io/v1", "/apis/nope.io/v1/x"]
)
def test_what_is_missing_outside_is_plain_text(api: Backend, path: str) -> None:
    answer = api.request("GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_every_listable_resource_can_be_listed_and_watched(api: Backend) -> None:
    for group in [*api.read("/api", AGGREGATED)["items"], *api.read("/apis", AGGREGATED)["items"]]:
        name = group["metadata"].get("name")
        for version in group["versions"]:
            root = f"/apis/{name}/{version['version']}" if name else f"/api/{version['version']}"
            for resource in version["resources"]:
                path = f"{root}/{resource['resource']}"
                if "list" in resource["verbs"]:
                    found = api.read(f"{path}?limit=1")
                    assert found["kind"] == f"{resource['responseKind']['kind']}List"
                    assert isinstance(found["items"], list)
                if "watch" in resource["verbs"]:
                    with api.watch(f"{path}?watch=1") as watch:
                        assert watch.status == 200


def test_openapi_names_its_documents_by_their_hash(api: Backend) -> None:
    paths = api.read("/openapi/v3")["paths"]
    url = paths["apis/apps/v1"]["serverRelativeURL"]
    assert url.startswith("/openapi/v3/apis/apps/v1?hash=")
    answer = api.request("GET", url, headers={"accept": "application/json"})
    document = answer.object()
    assert answer.headers["etag"] == f'"{url.partition("hash=")[2]}"'
    assert answer.headers["cache-control"] == "public, immutable"
    patched = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "fieldValidation" in {one["name"] for one in patched["parameters"]}
    kind = patched["x-kubernetes-group-version-kind"]
    assert kind == {"group": "apps", "version": "v1", "kind": "Deployment"}


def test_openapi_under_an_old_hash_points_to_the_new_one(api: Backend) -> None:
    url = api.read("/openapi/v3")["paths"]["apis/apps/v1"]["serverRelativeURL"]
    answer = api.request("GET", "/openapi/v3/apis/apps/v1?hash=OLD")
    assert (answer.status, answer.headers["location"]) == (301, url)
    assert api.request("GET", "/openapi/v3/apis/apps/v1").status == 200


def builtin_resources(backend: Backend) -> dict[str, Wire]:
    """Every built-in resource and subresource by its place, as aggregated discovery tells of it."""
    found: dict[str, Wire] = {}
    for path in ("/api", "/apis"):
        for group in backend.read(path, AGGREGATED)["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"] if is_builtin(name) else ():
                for resource in version["resources"]:
                    place = f"{name}/{version['version']}/{resource['resource']}"
                    parts = resource.pop("subresources", [])
                    found[place] = resource
                    found |= {f"{place}/{part['subresource']}": part for part in parts}
    return found


def is_builtin(group: str) -> bool:
    return "." not in group or group.endswith(".k8s.io")


@pytest.mark.testenv
def test_every_builtin_resource_is_served_with_its_verbs_names_and_parts(
    in_process: Backend, real: Backend
) -> None:
    assert builtin_resources(in_process) == builtin_resources(real)
