"""Proxies: which one leads where, and that both clients go through every kind."""

import asyncio
import ssl
from dataclasses import replace

import pytest
from proxying import proxy
from threads import Serve

from atoll.apiserver.credentials import Credentials
from atoll.client.endpoint import Endpoint
from atoll.client.https import Https
from atoll.client.plain import PlainClient
from atoll.client.proxies import Proxy, read_proxy, usual_proxy
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.exchange import Request, Response


async def hello(request: Request) -> Response:
    return Response(200, {}, b"hello")


def plainly(endpoint: Endpoint) -> bytes:
    client = PlainClient(endpoint)
    try:
        assert client.request("GET", "/").body == b"hello"
        return client.request("GET", "/").body
    finally:
        client.close()


def by_loop(endpoint: Endpoint) -> bytes:
    async def main() -> bytes:
        transport = Https(endpoint)
        try:
            return (await transport.send(Request("GET", "/"))).body
        finally:
            await transport.close()

    return asyncio.run(main())


CLIENTS = pytest.mark.parametrize("ask", [plainly, by_loop])


@CLIENTS
@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_the_server_is_reached_through_the_proxy(
    serve: Serve, credentials: Credentials, scheme: str, ask
) -> None:
    tls = None
    if scheme == "https":
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(credentials.server, credentials.server_key)
    serving = serve(hello)
    with proxy(scheme, tls) as between:
        url = f"{scheme}://me:secret@127.0.0.1:{between.port}"
        assert ask(replace(serving.endpoint, proxy=url)) == b"hello"
        assert set(between.asked) == {f"127.0.0.1:{serving.port}"}


@CLIENTS
def test_names_are_left_to_a_socks_proxy_to_look_up(serve: Serve, ask) -> None:
    serving = serve(hello)
    with proxy("socks5") as between:
        endpoint = replace(serving.endpoint, proxy=f"socks5://127.0.0.1:{between.port}")
        assert ask(replace(endpoint, server=f"https://localhost:{serving.port}")) == b"hello"
        assert set(between.asked) == {f"localhost:{serving.port}"}


@CLIENTS
def test_a_proxy_is_told_who_asks_and_what_its_cluster_wants_it_to_know(serve: Serve, ask) -> None:
    with proxy("http") as between:
        url = f"http://me:secret@127.0.0.1:{between.port}"
        endpoint = replace(serve(hello).endpoint, proxy=url, proxy_headers={"X-Tenant": "blue"})
        assert ask(endpoint) == b"hello"
        assert "Proxy-Authorization: Basic bWU6c2VjcmV0" in between.heads[0]
        assert "X-Tenant: blue" in between.heads[0]


@CLIENTS
@pytest.mark.parametrize(
    ("scheme", "rest", "says"),
    [
        pytest.param("http", "refuse-me:x@127.0.0.1:{}", "407", id="refused"),
        pytest.param("socks5", "me:wrong@127.0.0.1:{}", "user name and password", id="password"),
        pytest.param("socks5", "127.0.0.1:1", "proxy socks5://127.0.0.1:1", id="not-there"),
    ],
)
def test_a_proxy_that_does_not_connect_is_named(
    serve: Serve, scheme: str, rest: str, says: str, ask
) -> None:
    endpoint = serve(hello).endpoint
    with proxy(scheme) as between:
        url = f"{scheme}://{rest.format(between.port)}"
        if "refuse-me" in rest:
            endpoint = replace(endpoint, proxy_headers={"X-Say": "refuse-me"})
        with pytest.raises(Unreachable, match=says) as caught:
            ask(replace(endpoint, proxy=url))
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("proxy:3128", Proxy("http", "proxy", 3128), id="an-address"),
        pytest.param("https://p", Proxy("https", "p", 443), id="https"),
        pytest.param("socks5://u:p%40@p", Proxy("socks5", "p", 1080, "u", "p@"), id="password"),
    ],
)
def test_a_url_says_where_a_proxy_is_and_as_whom_to_speak_to_it(url: str, expected: Proxy) -> None:
    assert read_proxy(url) == expected


@pytest.mark.parametrize("url", ["ftp://p", "http://", "http://u:secret@p:x", "http://p:99999"])
def test_what_is_no_proxy_is_refused_without_giving_the_password_away(url: str) -> None:
    with pytest.raises(UsageError, match="is no URL of a proxy") as caught:
        read_proxy(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("server", "exceptions", "is_direct"),
    [
        pytest.param("https://k8s.example.com", "", False, id="no-exception"),
        pytest.param("https://127.0.0.5:6443", "", True, id="loopback"),
        pytest.param("https://localhost", "", True, id="localhost"),
        pytest.param("https://k8s.example.com", "*", True, id="all"),
        pytest.param("https://k8s.example.com", "a, example.com", True, id="a-domain"),
        pytest.param("https://example.com", ".example.com", False, id="only-below"),
        pytest.param("https://k8s.example.com", ".example.com", True, id="below"),
        pytest.param("https://badexample.com", "example.com", False, id="only-ends-alike"),
        pytest.param("https://example.com:6443", "example.com:6443", True, id="that-port"),
        pytest.param("https://example.com", "example.com:6443", False, id="another-port"),
        pytest.param("https://10.1.2.3", "10.0.0.0/8", True, id="a-network"),
        pytest.param("https://11.1.2.3", "10.0.0.0/8", False, id="another-network"),
        pytest.param("https://[fd00::1]:6443", "fd00::1", True, id="ipv6"),
        pytest.param("https://10.1.2.3", "10.1.2.3:443,nonsense/x", True, id="address-and-port"),
    ],
)
def test_the_environment_names_a_proxy_and_its_exceptions(
    server: str, exceptions: str, *, is_direct: bool
) -> None:
    environment = {"https_proxy": "http://p:1", "NO_PROXY": exceptions}
    assert usual_proxy(server, environment) == (None if is_direct else "http://p:1")
    assert usual_proxy(server, {"NO_PROXY": exceptions}) is None
