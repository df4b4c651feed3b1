"""Requests that another server answers behind this one, on behalf of their callers."""

import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from backends import FIXTURES, Backend
from behind import Asked, behind
from registering import PATIENCE_S, SERVICES, TRUST, Fish, register_server, until
from transports import HttpBackend


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
        register_server(networked, server, unique, names)
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
