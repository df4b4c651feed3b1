"""Who may ask: bad credentials, no credentials, and paths that are not what they seem."""

import pytest
from backends import Backend
from manifests import configmap

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"


def test_an_unknown_token_is_refused(api: Backend) -> None:
    headers = {"authorization": "Bearer nobody"}
    answer = api.stranger("GET", "/api/v1/namespaces", headers)
    answer.refusal(401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize(
    ("path", "message", "details"),
    [
        (
            "/api/v1/namespaces",
            'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in '
            'API group "" at the cluster scope',
            {"kind": "namespaces"},
        ),
        (
            "/api/v1/namespaces/default/configmaps/a",
            'configmaps "a" is forbidden: User "system:anonymous" cannot get resource "configmaps" '
            'in API group "" in the namespace "default"',
            {"name": "a", "kind": "configmaps"},
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments?watch=1",
            'deployments.apps is forbidden: User "system:anonymous" cannot watch resource '
            '"deployments" in API group "apps" in the namespace "default"',
            {"group": "apps", "kind": "deployments"},
        ),
        (
            "/apis/nope.io/v1/things",
            'things.nope.io is forbidden: User "system:anonymous" cannot list resource "things" in '
            'API group "nope.io" at the cluster scope',
            {"group": "nope.io", "kind": "things"},
        ),
        (
            "/metrics",
            'forbidden: User "system:anonymous" cannot get path "/metrics"',
            {},
        ),
    ],
    ids=["list", "get", "watch", "unknown group", "path"],
)
def test_strangers_may_not_read(
    api: Backend, path: str, message: str, details: dict[str, str]
) -> None:
    assert api.stranger("GET", path, {}).refusal(403, "Forbidden", message) == details


def test_strangers_may_not_write(api: Backend) -> None:
    answer = api.stranger("DELETE", "/api/v1/namespaces/default", {})
    details = answer.refusal(
        403,
        "Forbidden",
        'namespaces "default" is forbidden: User "system:anonymous" cannot delete resource '
        '"namespaces" in API group "" in the namespace "default"',
    )
    assert details == {"name": "default", "kind": "namespaces"}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_strangers_may_ask_for_health_and_version(api: Backend, path: str) -> None:
    assert api.stranger("GET", path, {}).status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/version"),
        ("PUT", "/api/v1/namespaces"),
        ("POST", "/api/v1/namespaces/default"),
        ("PATCH", "/api/v1/namespaces"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("OPTIONS", "/api/v1/namespaces"),
        ("DELETE", "/apis/apps/v1/namespaces/default/deployments/a/status"),
    ],
)
def test_methods_that_make_no_sense_are_refused(api: Backend, method: str, path: str) -> None:
    answer = api.request(method, path, body={} if method != "OPTIONS" else None)
    assert answer.refusal(405, "MethodNotAllowed", NOT_ALLOWED) == {}


def test_the_head_of_a_collection_cannot_be_had(api: Backend) -> None:
    assert api.request("HEAD", "/api/v1/namespaces").status == 405


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/api/v1/configmaps/x", id="namespaced without a namespace"),
        pytest.param("/api/v1/namespaces/default/namespaces", id="cluster wide in a namespace"),
        pytest.param("/api/v1/namespaces/default/configmaps/a/b", id="unknown subresource"),
        pytest.param("/api/v1/namespaces/default/configmaps/a/status", id="no status"),
        pytest.param("/api/v1/Namespaces", id="case"),
    ],
)
def test_paths_that_lead_nowhere_are_not_found(api: Backend, path: str) -> None:
    assert api.request("GET", path).refusal(404, "NotFound", NOT_FOUND) == {}


def test_a_path_does_not_lead_upwards(api: Backend) -> None:
    assert api.request("GET", "/api/v1/../v1/namespaces").status == 404
    answer = api.request("GET", "/api/v1/namespaces/default/configmaps/../secrets")
    assert answer.status == 404


def test_an_encoded_slash_ends_a_name(api: Backend, configmaps: str) -> None:
    answer = api.request("GET", f"{configmaps}/a%2Fb")
    assert answer.refusal(404, "NotFound", NOT_FOUND) == {}


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        pytest.param("system:node", "system:node", id="colon"),
        pytest.param("a.b-c", "a.b-c", id="dots"),
        pytest.param("a%20b", "a b", id="blank"),
        pytest.param("%C3%A4", "ä", id="umlaut"),
        pytest.param("x" * 2000, "x" * 2000, id="long"),
        pytest.param("a%3Fb", "a?b", id="question mark"),
    ],
)
def test_a_name_is_read_as_it_is_meant(api: Backend, configmaps: str, sent: str, name: str) -> None:
    details = api.request("GET", f"{configmaps}/{sent}").refusal(
        404, "NotFound", f'configmaps "{name}" not found'
    )
    assert details == {"name": name, "kind": "configmaps"}


def test_names_with_colons_can_be_used(api: Backend, namespace: str) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles"
    api.create(path, {"metadata": {"name": "system:some:role"}, "rules": []})
    assert api.read(f"{path}/system:some:role")["metadata"]["name"] == "system:some:role"
    assert api.read(f"{path}/system%3Asome%3Arole")["metadata"]["name"] == "system:some:role"


def test_a_trailing_slash_does_no_harm(api: Backend, configmaps: str) -> None:
    api.create(configmaps, configmap("a"))
    assert api.read(f"{configmaps}/")["kind"] == "ConfigMapList"
    assert api.read(f"{configmaps}/a/")["kind"] == "ConfigMap"


def test_two_slashes_are_another_path(api: Backend) -> None:
    answer = api.request("GET", "//api/v1/namespaces")
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
