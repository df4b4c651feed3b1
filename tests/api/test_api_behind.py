"""What is found of servers behind this one, and what becomes of it when they are lost."""

import base64
import json
import socket

import pytest
from backends import Backend
from behind import AGGREGATED
from registering import (
    SERVICES,
    TRUST,
    Fish,
    condition,
    definition,
    said,
    service,
    until,
)

from atoll.wire import Wire


def aggregated(api: Backend, group: str) -> Wire | None:
    for item in api.read("/apis", AGGREGATED)["items"]:
        if item["metadata"]["name"] == group:
            (version,) = item["versions"]
            found: Wire = version
            return found
    return None


def test_what_a_server_serves_is_found_in_discovery(api: Backend, fish: Fish) -> None:
    group = api.read(f"/apis/{fish.group}")
    assert group["preferredVersion"] == {"groupVersion": f"{fish.group}/v1", "version": "v1"}
    assert api.read(fish.root)["resources"][0]["name"] == "fish"
    current = until(
        lambda: (v := aggregated(api, fish.group)) and v["freshness"] == "Current" and v
    )
    assert [(each["resource"], each["verbs"]) for each in current["resources"]] == [
        ("fish", ["get", "list"])
    ]
    place = f"apis/{fish.group}/v1"
    paths = until(lambda: (p := api.read("/openapi/v3")["paths"]).get(place) and p)
    assert api.read(paths[place]["serverRelativeURL"])["info"]["title"] == "fish"


def test_a_server_of_the_old_kind_is_found_in_discovery(
    api: Backend, fish: Fish, unregister: list[str]
) -> None:
    fish.server.modern = False
    name = f"v1.{fish.group}"
    api.patch(f"{SERVICES}/{name}", {"metadata": {"annotations": {"look": "again"}}})
    api.patch(f"{SERVICES}/{name}", {"spec": {"versionPriority": 21}})

    def with_all_verbs() -> Wire | None:
        version = aggregated(api, fish.group)
        found = version.get("resources", []) if version else []
        return found[0] if found and "watch" in found[0]["verbs"] else None

    found = until(with_all_verbs)
    assert (found["resource"], found["scope"], found["shortNames"]) == (
        "fish",
        "Namespaced",
        ["fi"],
    )
    assert [each["subresource"] for each in found["subresources"]] == ["fins"]


def test_a_server_that_is_lost_is_unavailable_and_its_discovery_stale(
    api: Backend, fish: Fish
) -> None:
    until(lambda: (v := aggregated(api, fish.group)) and v["freshness"] == "Current")
    name = f"v1.{fish.group}"
    nobody = {"spec": {"service": {"port": 1}}}
    api.patch(f"{SERVICES}/{name}", nobody)
    found = said(api, name, "FailedDiscoveryCheck")
    assert found["status"] == "False"
    start = f"failing or missing response from https://localhost:1{fish.root}: "
    assert found["message"].startswith(start)
    until(lambda: api.request("GET", fish.path).status == 503)
    stale = until(lambda: (v := aggregated(api, fish.group)) and v["freshness"] == "Stale" and v)
    assert stale["version"] == "v1"
    api.patch(f"{SERVICES}/{name}", {"spec": {"service": {"port": fish.server.port}}})
    said(api, name, "Passed")
    until(lambda: api.request("GET", f"{fish.path}/nemo").status == 200)


def test_a_server_that_is_not_trusted_is_not_asked(api: Backend, fish: Fish) -> None:
    name = f"v1.{fish.group}"
    other = json.loads(json.dumps(api.read(TRUST)["data"]))["client-ca-file"]
    bundle = base64.b64encode(other.encode()).decode()
    api.patch(f"{SERVICES}/{name}", {"spec": {"caBundle": bundle}})
    assert "certificate" in said(api, name, "FailedDiscoveryCheck")["message"]
    until(lambda: api.request("GET", f"{fish.path}/nemo").status == 503)


def test_a_server_that_is_taken_off_is_gone(api: Backend, fish: Fish) -> None:
    assert api.request("GET", f"{fish.path}/nemo").status == 200
    api.delete(f"{SERVICES}/v1.{fish.group}")
    until(lambda: api.request("GET", f"{fish.path}/nemo").status == 404)
    until(lambda: fish.group not in [each["name"] for each in api.read("/apis")["groups"]])


def test_a_server_goes_before_custom_resources_of_the_same_version(
    api: Backend, fish: Fish
) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.create(definitions, definition(fish.group))
    reefs = f"{fish.root}/namespaces/{fish.namespace}/reefs"
    assert api.request("GET", f"{fish.path}/nemo").status == 200
    assert api.request("GET", reefs).status == 418
    kept = api.read(f"{SERVICES}/v1.{fish.group}")
    assert kept["spec"]["service"]["name"] == "fish"
    api.delete(f"{SERVICES}/v1.{fish.group}")
    assert until(lambda: api.request("GET", reefs).status == 200)
    until(lambda: api.request("GET", f"{SERVICES}/v1.{fish.group}").status == 200)
    assert said(api, f"v1.{fish.group}", "Local")["status"] == "True"
    api.delete(f"{definitions}/reefs.{fish.group}")


@pytest.fixture
def once(api: Backend) -> None:
    """For what takes a while: once on ours is enough."""
    if api.name == "in-process":
        pytest.skip("the same server is asked over HTTPS")


@pytest.mark.usefixtures("once")
def test_a_server_that_is_silent_keeps_nobody_waiting(
    api: Backend, fish: Fish, unregister: list[str]
) -> None:
    group = f"silent.{fish.group}"
    unregister.append(f"v1.{group}")
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        port = silent.getsockname()[1]
        place = {"namespace": fish.namespace, "name": "fish", "port": port}
        api.create(SERVICES, service(group, fish.namespace, service=place))
        asked = 0
        while not condition(api, f"v1.{group}"):
            assert api.request("GET", f"{fish.path}/nemo").status == 200
            assert "items" in api.read("/apis", AGGREGATED)
            asked += 1
        assert asked > 1
        found = condition(api, f"v1.{group}")
        assert (found["status"], found["reason"]) == ("False", "FailedDiscoveryCheck")
        assert api.request("GET", f"/apis/{group}/v1/fish").status == 503


@pytest.fixture
def swept(api: Backend) -> None:
    """A server that ends namespaces by itself; the real one leaves that to a controller."""
    if api.name == "kubernetes":
        pytest.skip("nobody ends namespaces beside this kube-apiserver")


@pytest.mark.usefixtures("swept")
def test_what_servers_have_in_a_namespace_goes_with_it(api: Backend, fish: Fish) -> None:
    fish.server.modern = False  # what it serves, it tells with all verbs then
    api.patch(f"{SERVICES}/v1.{fish.group}", {"spec": {"versionPriority": 21}})
    until(lambda: "watch" in str(aggregated(api, fish.group)))
    name = f"{fish.namespace}-ends"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    api.delete(f"/api/v1/namespaces/{name}")
    wanted = ("DELETE", f"{fish.root}/namespaces/{name}/fish")
    assert until(lambda: wanted in [(each.method, each.path) for each in fish.server.asked])


@pytest.mark.usefixtures("swept")
def test_no_namespace_waits_for_a_server_that_is_dead(api: Backend, fish: Fish) -> None:
    until(lambda: (v := aggregated(api, fish.group)) and v["freshness"] == "Current")
    api.patch(f"{SERVICES}/v1.{fish.group}", {"spec": {"service": {"port": 1}}})
    said(api, f"v1.{fish.group}", "FailedDiscoveryCheck")
    name = f"{fish.namespace}-ends"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    api.delete(f"/api/v1/namespaces/{name}")
    assert until(lambda: api.request("GET", f"/api/v1/namespaces/{name}").status == 404)
