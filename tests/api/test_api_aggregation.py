"""Versions of groups that another server serves, behind this one."""

import base64
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from backends import FIXTURES, Backend, Object
from behind import AGGREGATED, Asked, BehindServer, behind
from transports import HttpBackend

GROUP = "apiregistration.k8s.io"
SERVICES = f"/apis/{GROUP}/v1/apiservices"
TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
PATIENCE_S = 60.0


def until(found: Callable[[], Any]) -> Any:
    """What is found, once it is."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := found()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return answer


def condition(api: Backend, name: str) -> Object:
    conditions = api.read(f"{SERVICES}/{name}")["status"].get("conditions", [])
    found: Object = next((one for one in conditions if one["type"] == "Available"), {})
    return found


def said(api: Backend, name: str, reason: str) -> Object:
    """The condition of a service, once it says this."""
    found: Object = until(lambda: (c := condition(api, name)).get("reason") == reason and c)
    return found


def service(group: str, namespace: str, name: str = "fish", **spec: Any) -> Object:
    return {
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 1500,
            "versionPriority": 20,
            "service": {"namespace": namespace, "name": name},
            "insecureSkipTLSVerify": True,
            **spec,
        },
    }


@pytest.fixture
def unregister(api: Backend) -> Iterator[list[str]]:
    """Names of services that go when the test is over, lest they trouble the others."""
    names: list[str] = []
    yield names
    for name in names:
        api.request("DELETE", f"{SERVICES}/{name}")


@dataclass(frozen=True)
class Fish:
    """A server behind the one under test, registered and available."""

    server: BehindServer
    group: str
    namespace: str

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/v1"

    @property
    def path(self) -> str:
        return f"{self.root}/namespaces/{self.namespace}/fish"


@pytest.fixture
def fish(api: Backend, namespace: str, tmp_path: Path, unregister: list[str]) -> Iterator[Fish]:
    group = f"{namespace}.example.com"
    until(lambda: api.request("GET", TRUST).status == 200)
    front_ca = api.read(TRUST)["data"]["requestheader-client-ca-file"]
    with behind(tmp_path, group, "fish", namespace, front_ca) as server:
        register(api, server, namespace, unregister)
        yield Fish(server, group, namespace)


def register(api: Backend, server: BehindServer, namespace: str, unregister: list[str]) -> None:
    name = f"v1.{server.group}"
    spec = {"type": "ExternalName", "externalName": "localhost"}
    kept = {"metadata": {"name": "fish"}, "spec": spec}
    api.create(f"/api/v1/namespaces/{namespace}/services", kept)
    trust: dict[str, Any] = {
        "caBundle": base64.b64encode(server.ca).decode(),
        "insecureSkipTLSVerify": False,
    }
    place = {"namespace": namespace, "name": "fish", "port": server.port}
    unregister.append(name)
    api.create(SERVICES, service(server.group, namespace, service=place, **trust))
    passed = said(api, name, "Passed")
    assert (passed["status"], passed["message"]) == ("True", "all checks passed")


def test_every_version_that_is_served_has_a_service(api: Backend) -> None:
    groups = api.read("/apis")["groups"]
    served = {f"{v['version']}.{g['name']}" for g in groups for v in g["versions"]}
    names = {each["metadata"]["name"] for each in api.read(SERVICES)["items"]}
    local = {
        each["metadata"]["name"]
        for each in api.read(SERVICES)["items"]
        if "service" not in each["spec"]
    }
    assert {"v1.", "v1.apps", "v1.rbac.authorization.k8s.io"} <= local
    assert served - names <= {f"v1.{GROUP}"}


def test_a_service_of_what_is_served_here_is_available(api: Backend) -> None:
    apps = api.read(f"{SERVICES}/v1.apps")
    assert apps["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    assert apps["spec"] == {
        "group": "apps",
        "version": "v1",
        "groupPriorityMinimum": 17800,
        "versionPriority": 15,
    }
    (available,) = apps["status"]["conditions"]
    assert available.pop("lastTransitionTime")
    assert available == {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def test_services_of_custom_resources_come_and_go_with_them(api: Backend, unique: str) -> None:
    group = f"{unique}.example.com"
    name, path = f"v1.{group}", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.create(path, definition(group))
    until(lambda: api.request("GET", f"{SERVICES}/{name}").status == 200)
    kept = api.read(f"{SERVICES}/{name}")
    assert kept["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    assert (kept["spec"]["groupPriorityMinimum"], kept["spec"]["versionPriority"]) == (1000, 100)
    api.delete(f"{SERVICES}/{name}")

    def made_anew() -> bool:
        answer = api.request("GET", f"{SERVICES}/{name}")
        return answer.status == 200 and answer.json()["metadata"]["uid"] != kept["metadata"]["uid"]

    until(made_anew)
    api.delete(f"{path}/reefs.{group}")
    until(lambda: api.request("GET", f"{SERVICES}/{name}").status == 404)


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        pytest.param(
            {"metadata": {"name": "bad"}, "spec": {"group": "ex.io", "version": "v1"}},
            'APIService.apiregistration.k8s.io "bad" is invalid: [metadata.name: Invalid value:'
            ' "bad": must be `spec.version+"."+spec.group`: "v1.ex.io",'
            " spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000,"
            " spec.versionPriority: Invalid value: 0: must be positive and less than 1000]",
            id="another name",
        ),
        pytest.param(
            service("ex.io", "", "", caBundle="aGk=", service={"port": 70000}),
            'APIService.apiregistration.k8s.io "v1.ex.io" is invalid: ['
            "spec.service.namespace: Required value, spec.service.name: Required value,"
            " spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and"
            " 65535, inclusive, spec.insecureSkipTLSVerify: Invalid value: true:"
            " may not be true if caBundle is present]",
            id="no service, and both kinds of trust",
        ),
        pytest.param(
            service("ex.io", "", "", caBundle="aGk=", service=None),
            'APIService.apiregistration.k8s.io "v1.ex.io" is invalid: [spec.caBundle: Invalid'
            ' value: "2 bytes": local APIServices may not have a caBundle,'
            " spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have"
            " insecureSkipTLSVerify]",
            id="trust where nobody is asked",
        ),
        pytest.param(
            {
                "metadata": {"name": "v2."},
                "spec": {"version": "v2", "groupPriorityMinimum": 10, "versionPriority": 10},
            },
            'APIService.apiregistration.k8s.io "v2." is invalid: spec.group: Required value:'
            " only v1 may have an empty group and it better be legacy kube",
            id="no group",
        ),
    ],
)
def test_mistakes_in_services_are_told(api: Backend, obj: Object, message: str) -> None:
    api.request("POST", SERVICES, body=obj).refusal(422, "Invalid", message)


def test_a_service_cannot_be_replaced_blindly(api: Backend, unique: str) -> None:
    answer = api.request(
        "PUT", f"{SERVICES}/v1.apps", body={**service("apps", "x"), "spec": {"group": "apps"}}
    )
    assert answer.status == 422
    assert "must be specified for an update" in answer.json()["message"]


def test_a_server_whose_service_is_missing_is_unavailable(
    api: Backend, namespace: str, unregister: list[str]
) -> None:
    group = f"{namespace}.example.com"
    unregister.append(f"v1.{group}")
    made = api.create(SERVICES, service(group, namespace))
    assert made["status"] == {}
    assert made["spec"]["service"]["port"] == 443
    found = said(api, f"v1.{group}", "ServiceNotFound")
    assert found["status"] == "False"
    assert found["message"] == f'service/fish in "{namespace}" is not present'
    answer = api.request("GET", f"/apis/{group}/v1/fish")
    assert (answer.status, answer.body) == (503, b"service unavailable\n")
    assert group in [each["name"] for each in api.read("/apis")["groups"]]
    wide = "application/json;as=Table;g=meta.k8s.io;v=v1"
    cells = api.read(f"{SERVICES}/v1.{group}", wide)["rows"][0]["cells"]
    assert cells[:3] == [f"v1.{group}", f"{namespace}/fish", "False (ServiceNotFound)"]


def test_what_stands_in_the_way_to_a_server_is_told(
    api: Backend, namespace: str, unregister: list[str]
) -> None:
    group = f"{namespace}.example.com"
    name = f"v1.{group}"
    unregister.append(name)
    services = f"/api/v1/namespaces/{namespace}/services"
    kept = {"metadata": {"name": "fish"}, "spec": {"ports": [{"name": "tls", "port": 444}]}}
    api.create(services, kept)
    api.create(SERVICES, service(group, namespace))
    told = f'service/fish in "{namespace}"'
    assert said(api, name, "ServicePortError")["message"] == f"{told} is not listening on port 443"
    api.patch(f"{services}/fish", {"spec": {"ports": [{"name": "tls", "port": 443}]}})
    found = said(api, name, "EndpointsNotFound")
    assert found["message"] == f"cannot find endpointslices for {told}"
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    empty = {
        "metadata": {"name": "fish-1", "labels": {"kubernetes.io/service-name": "fish"}},
        "addressType": "IPv4",
        "endpoints": [],
        "ports": [{"name": "tls", "port": 1}],
    }
    api.create(slices, empty)
    found = said(api, name, "MissingEndpoints")
    assert found["message"] == (f'endpointslices for {told} have no addresses with port name "tls"')


def test_a_server_is_asked_as_front_proxy_on_behalf_of_the_caller(api: Backend, fish: Fish) -> None:
    headers = {
        "impersonate-user": "jane",
        "impersonate-group": "system:masters",
        "impersonate-extra-acme.com%2Fteam": "blue",
        "impersonate-uid": "7",
        "authorization": "Bearer nonsense",
        "x-remote-user": "root",
        "x-remote-extra-lie": "yes",
        "x-custom": "kept",
    }
    found = api.request("GET", f"{fish.path}/nemo?pretty=0&a=b", headers=headers).object()
    assert found["metadata"] == {"name": "nemo"}
    (asked,) = fish.server.of_callers()
    assert (asked.method, asked.path.partition("?")[0]) == ("GET", f"{fish.path}/nemo")
    assert sorted(asked.path.partition("?")[2].split("&")) == ["a=b", "pretty=0"]
    assert asked.certificate == "front-proxy-client"
    assert claims(asked) == {
        "x-remote-user": ["jane"],
        "x-remote-uid": ["7"],
        "x-remote-group": ["system:masters", "system:authenticated"],
        "x-remote-extra-acme.com%2fteam": ["blue"],
    }
    assert "authorization" not in asked.headers
    assert not [name for name in asked.headers if name.startswith("impersonate-")]
    assert asked.headers["x-custom"] == ["kept"]
    assert asked.headers["audit-id"]


def claims(asked: Asked) -> dict[str, list[str]]:
    found = {name: each for name, each in asked.headers.items() if name.startswith("x-remote-")}
    return {name.lower(): values for name, values in found.items()}


def test_bodies_and_statuses_go_through_and_redirections_do_not(api: Backend, fish: Fish) -> None:
    body = b'{"kind": "Fish", "metadata": {"name": "dory"}}'
    kind = {"content-type": "application/json"}
    assert api.request("POST", fish.path, body=body, headers=kind).status == 201
    assert fish.server.of_callers()[-1].body == body
    assert api.request("GET", f"{fish.path}/none").status == 418
    assert len(api.request("GET", f"{fish.path}/huge").json()["padding"]) == 3_000_000
    moved = api.request("GET", f"{fish.path}/moved")
    refused = b"the backend attempted to redirect this request, which is not permitted"
    assert (moved.status, moved.body, moved.headers.get("location")) == (502, refused, None)
    assert api.request("DELETE", f"{fish.path}/nemo").status == 200


def test_a_watch_goes_through_event_by_event(api: Backend, fish: Fish) -> None:
    fish.server.events.put({"type": "ADDED", "object": {"n": 0}})
    with api.watch(f"{fish.path}?watch=true") as watch:
        for number in range(1, 4):
            assert watch.next()["object"] == {"n": number - 1}
            fish.server.events.put({"type": "ADDED", "object": {"n": number}})
        fish.server.events.put(None)
        assert watch.rest() == [{"type": "ADDED", "object": {"n": 3}}]


def test_whoever_may_not_is_refused_before_the_server_is_asked(api: Backend, fish: Fish) -> None:
    answer = api.request("GET", fish.path, headers={"impersonate-user": "nobody"})
    refused = (
        f'fish.{fish.group} is forbidden: User "nobody" cannot list resource "fish" in API group'
        f' "{fish.group}" in the namespace "{fish.namespace}"'
    )
    assert (answer.status, answer.json()["message"]) == (403, refused)
    assert fish.server.of_callers() == []


def aggregated(api: Backend, group: str) -> Object | None:
    for item in api.read("/apis", AGGREGATED)["items"]:
        if item["metadata"]["name"] == group:
            (version,) = item["versions"]
            found: Object = version
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

    def with_all_verbs() -> Object | None:
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


def definition(group: str) -> Object:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    return {
        "metadata": {"name": f"reefs.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "reefs", "kind": "Reef"},
            "versions": [version],
        },
    }


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


@pytest.fixture(params=["https", pytest.param("kubernetes", marks=pytest.mark.testenv)])
def networked(request: pytest.FixtureRequest) -> HttpBackend:
    found: HttpBackend = request.getfixturevalue(FIXTURES[request.param])
    return found


def test_another_protocol_goes_through(networked: HttpBackend, unique: str, tmp_path: Path) -> None:
    networked.create("/api/v1/namespaces", {"metadata": {"name": unique}})
    group, names = f"{unique}.example.com", list[str]()
    until(lambda: networked.request("GET", TRUST).status == 200)
    front_ca = networked.read(TRUST)["data"]["requestheader-client-ca-file"]
    with behind(tmp_path, group, "fish", unique, front_ca) as server:
        register(networked, server, unique, names)
        try:
            assert echoed(networked, f"/apis/{group}/v1/fish/echo") == [b"ONE\n", b"TWO\n"]
        finally:
            networked.request("DELETE", f"{SERVICES}/{names[0]}")
        (asked,) = server.of_callers()
        assert asked.certificate == "front-proxy-client"
        assert asked.headers["x-remote-user"]


def echoed(backend: HttpBackend, path: str) -> list[bytes]:
    """What comes back of two lines, in the protocol that the server behind speaks."""
    tls = ssl.create_default_context(cafile=backend.authority)
    tls.load_cert_chain(*backend.pair)
    address = urlsplit(backend.url)
    host, port = str(address.hostname), int(address.port or 443)
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    with (
        socket.create_connection((host, port), timeout=PATIENCE_S) as plain,
        tls.wrap_socket(plain, server_hostname=host) as secret,
        secret.makefile("rwb", buffering=0) as stream,
    ):
        stream.write(head.encode())
        assert b" 101 " in stream.readline()
        while stream.readline().strip():
            pass
        lines = []
        for word in (b"one\n", b"two\n"):
            stream.write(word)
            lines.append(stream.readline())
        return lines


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
