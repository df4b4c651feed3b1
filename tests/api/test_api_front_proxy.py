"""Front proxies: whom the server believes that they ask for others, and how others learn of it."""

import json
import ssl
import time
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from backends import Backend
from ours import Ours
from transports import HttpBackend

from atoll.wire import Wire
from testenv.cluster import Cluster

TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PATIENCE_S = 120.0


def trust(api: Backend) -> dict[str, str]:
    deadline = time.monotonic() + PATIENCE_S
    while (answer := api.request("GET", TRUST)).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    found: dict[str, str] = answer.json()["data"]
    return found


def test_servers_behind_this_one_can_learn_whom_to_believe(api: Backend) -> None:
    data = trust(api)
    bundles = {name: data.pop(name) for name in list(data) if name.endswith("ca-file")}
    assert sorted(bundles) == ["client-ca-file", "requestheader-client-ca-file"]
    assert all(each.startswith("-----BEGIN CERTIFICATE-----") for each in bundles.values())
    assert {name: json.loads(value) for name, value in data.items()} == {
        "requestheader-allowed-names": ["front-proxy-client"],
        "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
        "requestheader-group-headers": ["X-Remote-Group"],
        "requestheader-uid-headers": ["X-Remote-Uid"],
        "requestheader-username-headers": ["X-Remote-User"],
    }


def test_who_takes_it_away_gets_it_back(api: Backend) -> None:
    before = trust(api)
    api.delete(TRUST)
    assert trust(api) == before


@pytest.fixture(params=["https", pytest.param("kubernetes", marks=pytest.mark.testenv)])
def proxied(request: pytest.FixtureRequest) -> tuple[HttpBackend, tuple[Path, Path]]:
    """A server over the network, and the certificate and key of its front proxy."""
    if request.param == "https":
        ours: Ours = request.getfixturevalue("ours")
        pki = ours.authority.parent
        pair = pki / "front-proxy-client.crt", pki / "front-proxy-client.key"
        return request.getfixturevalue("https"), pair
    cluster: Cluster = request.getfixturevalue("kubernetes")
    pair = cluster.front_proxy.certificate, cluster.front_proxy.key
    return request.getfixturevalue("real"), pair


def who(
    backend: HttpBackend, pair: tuple[Path, Path], headers: list[tuple[str, str]]
) -> tuple[int, Wire]:
    """Who the server takes the sender of these headers for."""
    tls = ssl.create_default_context(cafile=backend.authority)
    tls.load_cert_chain(*pair)
    address = urlsplit(backend.url)
    connection = HTTPSConnection(
        str(address.hostname), address.port, timeout=PATIENCE_S, context=tls
    )
    try:
        connection.putrequest("POST", WHO)
        body = b"{}"
        sent = [("content-type", "application/json"), ("content-length", str(len(body)))]
        for name, value in [*sent, *headers]:
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_a_front_proxy_says_for_whom_it_asks(
    proxied: tuple[HttpBackend, tuple[Path, Path]],
) -> None:
    headers = [
        ("X-Remote-User", "jane"),
        ("X-Remote-Group", "a, b"),
        ("X-Remote-Group", "c"),
        ("X-Remote-Uid", "7"),
        ("X-Remote-Extra-Acme.com%2FTeam", "blue"),
        ("X-Remote-Extra-Acme.com%2FTeam", "green"),
    ]
    status, review = who(*proxied, headers)
    assert status == 201
    assert review["status"]["userInfo"] == {
        "username": "jane",
        "uid": "7",
        "groups": ["a, b", "c", "system:authenticated"],
        "extra": {"acme.com/team": ["blue", "green"]},
    }


def test_a_front_proxy_that_names_nobody_is_nobody(
    proxied: tuple[HttpBackend, tuple[Path, Path]],
) -> None:
    status, refusal = who(*proxied, [("X-Remote-Group", "system:masters")])
    assert (status, refusal["reason"]) == (401, "Unauthorized")


def test_nobody_else_says_for_whom_it_asks(
    proxied: tuple[HttpBackend, tuple[Path, Path]],
) -> None:
    backend, _ = proxied
    claim = [("X-Remote-User", "jane"), ("X-Remote-Group", "c")]
    status, review = who(backend, backend.pair, claim)
    info: dict[str, Any] = review["status"]["userInfo"]
    assert status == 201
    assert info["username"] != "jane"
    assert "c" not in info["groups"]
