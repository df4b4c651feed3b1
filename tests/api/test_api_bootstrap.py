"""What every cluster and every namespace has from the start."""

import time
from collections.abc import Callable, Iterator

import pytest
from backends import Backend
from ours import running
from transports import ProcessBackend

from atoll.wire import Wire

PATIENCE_S = 120.0


def wait_for(look: Callable[[], Wire | None]) -> Wire:
    """What is found, once it is there."""
    until = time.monotonic() + PATIENCE_S
    while (found := look()) is None:
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)
    return found


def there(api: Backend, path: str) -> Wire | None:
    answer = api.request("GET", path)
    return answer.object() if answer.status == 200 else None


@pytest.mark.parametrize("name", ["default", "kube-node-lease", "kube-public", "kube-system"])
def test_a_cluster_has_its_namespaces(api: Backend, name: str) -> None:
    found = api.read(f"/api/v1/namespaces/{name}")
    assert found["status"]["phase"] == "Active"


def test_the_server_is_a_service_in_its_cluster(api: Backend) -> None:
    core = "/api/v1/namespaces/default"
    service = wait_for(lambda: there(api, f"{core}/services/kubernetes"))
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    spec = service["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    [port] = spec["ports"]
    assert (port["name"], port["port"], port["protocol"]) == ("https", 443, "TCP")
    endpoints = wait_for(lambda: there(api, f"{core}/endpoints/kubernetes"))
    [subset] = endpoints["subsets"]
    behind = {"name": "https", "port": port["targetPort"], "protocol": "TCP"}
    assert subset["ports"] == [behind]
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    told = wait_for(lambda: there(api, f"{slices}/kubernetes"))
    assert told["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert told["endpoints"][0]["addresses"] == [subset["addresses"][0]["ip"]]
    assert told["ports"] == [behind]


def test_addresses_of_services_are_from_a_range(api: Backend) -> None:
    path = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
    found = wait_for(lambda: there(api, path))
    assert len(found["spec"]["cidrs"]) == 1
    assert found["status"]["conditions"][0]["type"] == "Ready"


def comes_back(api: Backend, path: str) -> Wire:
    """What is there some time after somebody has deleted what was there."""
    first = wait_for(lambda: there(api, path))
    api.delete(path)

    def another() -> Wire | None:
        found = there(api, path)
        return found if found and found["metadata"]["uid"] != first["metadata"]["uid"] else None

    return wait_for(another)


def test_the_service_of_the_server_comes_back(api: Backend) -> None:
    path = "/api/v1/namespaces/default/services/kubernetes"
    before = wait_for(lambda: there(api, path))["spec"]
    after = comes_back(api, path)["spec"]
    assert (after["clusterIP"], after["ports"]) == (before["clusterIP"], before["ports"])


@pytest.mark.parametrize(
    ("name", "value"),
    [("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)],
)
def test_a_cluster_has_priorities_of_its_own(api: Backend, name: str, value: int) -> None:
    found = api.read(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
    assert found["value"] == value
    assert found["description"].startswith("Used for system critical pods that must ")


@pytest.fixture(scope="module")
def furnishing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    """A server of ours with all its controllers; a kube-apiserver alone makes none of this."""
    with running(tmp_path_factory.mktemp("furnishing"), furnishes=True) as ours:
        yield ProcessBackend(ours.handler, ours.loop)


@pytest.fixture
def furnished(furnishing: Backend, unique: str) -> str:
    furnishing.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    return unique


@pytest.mark.parametrize("path", ["serviceaccounts/default", "configmaps/kube-root-ca.crt"])
def test_what_every_namespace_has_comes_back(
    furnishing: Backend, furnished: str, path: str
) -> None:
    whole = f"/api/v1/namespaces/{furnished}/{path}"
    first = wait_for(lambda: there(furnishing, whole))
    assert comes_back(furnishing, whole).get("data") == first.get("data")


WHERE = {
    "endpoints": ("/api/v1/namespaces/default/endpoints/kubernetes", "subsets"),
    "slice": (
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
        "endpoints",
    ),
    "range": ("/apis/networking.k8s.io/v1/servicecidrs/kubernetes", "spec"),
}


@pytest.mark.parametrize(("path", "field"), WHERE.values(), ids=WHERE)
def test_where_the_server_is_comes_back(furnishing: Backend, path: str, field: str) -> None:
    first = wait_for(lambda: there(furnishing, path))
    assert comes_back(furnishing, path)[field] == first[field]


def test_where_the_server_is_is_put_right_again(furnishing: Backend) -> None:
    path, field = WHERE["endpoints"]
    first = wait_for(lambda: there(furnishing, path))
    furnishing.patch(path, {field: [], "metadata": {"labels": {"mine": "kept"}}})

    def right() -> Wire | None:
        found = furnishing.read(path)
        return found if found.get(field) == first[field] else None

    assert wait_for(right)["metadata"]["labels"]["mine"] == "kept"


def test_the_ca_in_a_namespace_is_put_right_again(furnishing: Backend, furnished: str) -> None:
    api, path = furnishing, f"/api/v1/namespaces/{furnished}/configmaps/kube-root-ca.crt"
    ca = wait_for(lambda: there(api, path))["data"]["ca.crt"]
    assert ca.startswith("-----BEGIN CERTIFICATE-----")
    api.patch(path, {"data": {"ca.crt": "mine", "more": "x"}})

    def right() -> Wire | None:
        found = api.read(path)
        return found if found["data"] == {"ca.crt": ca} else None

    assert wait_for(right)["metadata"]["annotations"].keys() == {"kubernetes.io/description"}
