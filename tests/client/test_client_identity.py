"""As whom clients speak: tokens, files, plug-ins and impersonation, by both clients."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from threads import Serve

from atoll.apiserver.credentials import Credentials
from atoll.client.endpoint import Endpoint, Impersonation, Plugin
from atoll.client.https import Https
from atoll.client.identity import Credential, Identity
from atoll.client.plain import PlainClient
from atoll.client.plugins import ask
from atoll.client.transport import Unreachable, whole
from atoll.errors import UsageError
from atoll.exchange import Request, Response

VERSION = "client.authentication.k8s.io/v1"
Asked = Callable[[Endpoint, int], list[bytes]]


def plainly(endpoint: Endpoint, times: int) -> list[bytes]:
    client = PlainClient(endpoint)
    try:
        return [client.request("GET", "/").body for _ in range(times)]
    finally:
        client.close()


def by_loop(endpoint: Endpoint, times: int, query: str = "") -> list[bytes]:
    async def main() -> list[bytes]:
        async with AsyncExitStack() as stack:
            transport = Https(endpoint)
            stack.push_async_callback(transport.close)
            request = Request("GET", "/", query)
            return [(await whole(await transport.send(request))).body for _ in range(times)]

    return asyncio.run(main())


def by_watch(endpoint: Endpoint, times: int) -> list[bytes]:
    return by_loop(endpoint, times, "watch=1&resourceVersion=1")


CLIENTS = pytest.mark.parametrize("asked", [plainly, by_loop, by_watch])


async def tell(request: Request) -> Response:
    """Who the server takes this for."""
    headers = request.headers
    said = [headers.get("authorization", "-"), headers.get("impersonate-user", "-")]
    said += [headers.get("impersonate-group", "-"), request.peer.name if request.peer else "-"]
    return Response(200, {}, " ".join(said).encode())


def anonymous(endpoint: Endpoint) -> Endpoint:
    return replace(endpoint, certificate=None, key=None)


def program(path: Path, body: str) -> Plugin:
    """A plug-in that counts in a file beside it how often it ran."""
    count = path.with_name("count")
    path.write_text(
        f"#!{sys.executable}\nimport json, os, sys, time\n"
        f"count = {str(count)!r}\n"
        "turn = len(open(count).read()) + 1 if os.path.exists(count) else 1\n"
        "open(count, 'a').write('x')\n"
        "told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "def say(**status):\n"
        "    said = {'apiVersion': told['apiVersion'], 'kind': 'ExecCredential'}\n"
        "    print(json.dumps({**said, 'status': status}))\n"
        f"{body}\n"
    )
    path.chmod(0o700)
    return Plugin(str(path), VERSION, hint="get it from\n  there")


@CLIENTS
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"token": "t"}, b"Bearer t - - -", id="token"),
        pytest.param({"username": "u", "password": "p"}, b"Basic dTpw - - -", id="basic"),
        pytest.param({}, b"- - - -", id="nobody"),
        pytest.param(
            {"token": "t", "acting_as": Impersonation("jo", groups=("g",))},
            b"Bearer t jo g -",
            id="as-another",
        ),
    ],
)
def test_the_server_hears_who_speaks(serve: Serve, asked: Asked, changes, expected: bytes) -> None:
    endpoint = replace(anonymous(serve(tell).endpoint), **changes)
    assert asked(endpoint, 1) == [expected]


@CLIENTS
def test_every_group_and_extra_is_said(serve: Serve, asked: Asked) -> None:
    seen: list[Request] = []

    async def handler(request: Request) -> Response:
        seen.append(request)
        return Response(200)

    acting = Impersonation("jo", "7", ("g", "h"), {"Example.com/Why": ("x", "y")})
    asked(replace(serve(handler).endpoint, acting_as=acting), 1)
    headers = seen[0].headers
    assert headers["impersonate-uid"] == "7"
    groups = headers["impersonate-group"].replace(",", "\n").split("\n")
    assert [each.strip() for each in groups] == ["g", "h"]
    assert "impersonate-extra-example.com%2fwhy" in {name.lower() for name in headers}


def test_a_token_file_is_read_again_and_survives_being_exchanged(tmp_path: Path) -> None:
    file = tmp_path / "token"
    identity = Identity(Endpoint("https://x", token_file=file))
    with pytest.raises(UsageError, match="cannot read the token file"):
        identity.headers()
    for content in ("one\n", "two\n"):
        file.write_text(content)
        assert identity.headers() == [("authorization", f"Bearer {content.strip()}")]
    file.unlink()
    assert identity.headers() == [("authorization", "Bearer two")]


@CLIENTS
def test_a_plug_in_is_asked_once_for_a_token_that_lasts(
    serve: Serve, asked: Asked, tmp_path: Path
) -> None:
    plugin = program(tmp_path / "login", "say(token=f'secret-{turn}')")
    endpoint = replace(anonymous(serve(tell).endpoint), plugin=plugin)
    assert asked(endpoint, 3) == [b"Bearer secret-1 - - -"] * 3


@CLIENTS
def test_a_plug_in_is_asked_again_when_its_token_is_refused(
    serve: Serve, asked: Asked, tmp_path: Path
) -> None:
    async def handler(request: Request) -> Response:
        is_good = request.headers.get("authorization") == "Bearer secret-2"
        return Response(200, {}, b"in") if is_good else Response(401, {}, b"{}")

    plugin = program(tmp_path / "login", "say(token=f'secret-{turn}')")
    endpoint = replace(anonymous(serve(handler).endpoint), plugin=plugin)
    assert asked(endpoint, 2) == [b"in", b"in"]


def test_a_plug_in_is_asked_again_for_a_stream_too(serve: Serve, tmp_path: Path) -> None:
    async def handler(request: Request) -> Response:
        is_good = request.headers.get("authorization") == "Bearer secret-2"
        return Response(200, {}, b"a\nb\n") if is_good else Response(401, {}, b"{}")

    plugin = program(tmp_path / "login", "say(token=f'secret-{turn}')")
    client = PlainClient(replace(anonymous(serve(handler).endpoint), plugin=plugin))
    with client.stream("/") as lines:
        assert list(lines) == [b"a\n", b"b\n"]


@pytest.mark.parametrize("token", ["two\nlines", "schlüssel"])
def test_a_token_that_cannot_be_one_is_found_out_before_it_is_sent(token: str) -> None:
    with pytest.raises(UsageError, match="the token has characters it may not have"):
        Identity(Endpoint("https://x", token=token)).headers()


@CLIENTS
def test_a_plug_in_may_give_a_certificate(
    serve: Serve, asked: Asked, tmp_path: Path, credentials: Credentials
) -> None:
    files = {"clientCertificateData": credentials.admin, "clientKeyData": credentials.admin_key}
    said = {key: path.read_text() for key, path in files.items()}
    endpoint = anonymous(serve(tell).endpoint)
    plugin = program(tmp_path / "login", f"say(**{said!r})")
    assert asked(replace(endpoint, plugin=plugin), 2) == [b"- - - kubernetes-admin"] * 2


def test_what_a_plug_in_said_counts_until_it_expires() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    clock = [now]
    endpoint = Endpoint("https://x", plugin=Plugin("p", VERSION))
    identity = Identity(endpoint, lambda: clock[0])
    assert identity.needs_plugin
    identity.learn(Credential("t", until=now + timedelta(minutes=5)))
    assert not identity.needs_plugin
    clock[0] = now + timedelta(minutes=5)
    assert identity.needs_plugin


def test_a_plug_in_is_told_of_the_cluster_and_has_its_environment(tmp_path: Path) -> None:
    body = "say(token=told['spec']['cluster']['server'] + os.environ['MARK'] + sys.argv[1])"
    plugin = program(tmp_path / "login", body)
    told = replace(plugin, cluster={"server": "s"}, environment={"MARK": "-m-"}, arguments=("arg",))
    assert ask(Endpoint("https://x", plugin=told)).token == "s-m-arg"


BROKEN = [
    pytest.param("sys.exit('no login')", "exit code 1; no login", id="fails"),
    pytest.param("print('rubbish')", "did not print an ExecCredential", id="rubbish"),
    pytest.param("print('[]')", "did not print an ExecCredential", id="a-list"),
    pytest.param("say()", "neither a token nor a certificate", id="nothing"),
    pytest.param("say(clientKeyData='k')", "without the other", id="half-a-pair"),
    pytest.param("say(token='t', expirationTimestamp='soon')", "ExecCredential", id="no-time"),
    pytest.param(
        "say(token='t', expirationTimestamp='2030-01-01T00:00:00')", "no time zone", id="no-zone"
    ),
    pytest.param("told['apiVersion'] = 'v0'; say(token='t')", "answered in v0", id="version"),
]


@pytest.mark.parametrize(("body", "says"), BROKEN)
def test_a_plug_in_that_gives_nothing_usable_is_named(tmp_path: Path, body: str, says: str) -> None:
    endpoint = Endpoint("https://x", plugin=program(tmp_path / "login", body), origin="here")
    with pytest.raises(UsageError, match=says) as caught:
        ask(endpoint)
    assert str(caught.value).startswith(f"credential plug-in {tmp_path / 'login'} (here): ")
    assert "\n" not in str(caught.value)


def test_a_plug_in_that_is_not_there_or_hangs_or_needs_a_person_is_named(tmp_path: Path) -> None:
    missing = Plugin(str(tmp_path / "nowhere"), VERSION, hint="get it from\n  there")
    with pytest.raises(UsageError, match="nowhere: is not installed; get it from there"):
        ask(Endpoint("https://x", plugin=missing))
    hanging = program(tmp_path / "login", "time.sleep(600)")
    with pytest.raises(UsageError, match="no answer within"):
        ask(Endpoint("https://x", plugin=hanging), patience_s=0.2)
    personal = replace(hanging, interactive="Always")
    with pytest.raises(UsageError, match="needs a terminal"):
        ask(Endpoint("https://x", plugin=personal))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param("sys.exit('no login')", "exit code 1; no login", id="fails"),
        pytest.param(None, "is not installed", id="not-there"),
    ],
)
def test_in_a_loop_a_plug_in_that_fails_makes_the_server_unreachable(
    tmp_path: Path, body: str | None, says: str
) -> None:
    plugin = (
        Plugin(str(tmp_path / "no"), VERSION) if body is None else program(tmp_path / "p", body)
    )
    with pytest.raises(Unreachable, match=says):
        by_loop(Endpoint("https://127.0.0.1:1", plugin=plugin, skip_verification=True), 1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"ca": b"nonsense"}, "certificate authority of .*PEM", id="authority"),
        pytest.param({"ca": b"\xff"}, "certificate authority of .*PEM", id="not-even-text"),
        pytest.param({"certificate": b"x"}, "client certificate for .*PEM", id="certificate"),
        pytest.param({"key": b"x"}, "client certificate for .*PEM", id="key"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(serve: Serve, changes, says: str) -> None:
    endpoint = replace(serve(tell).endpoint, origin="k", **changes)
    with pytest.raises(UsageError, match=says):
        plainly(endpoint, 1)


def test_a_key_of_another_certificate_is_found_out(serve: Serve, credentials: Credentials) -> None:
    endpoint = replace(serve(tell).endpoint, key=credentials.server_key.read_bytes())
    with pytest.raises(UsageError, match="belongs to another certificate"):
        plainly(endpoint, 1)


@CLIENTS
def test_a_name_may_be_expected_that_is_not_in_the_address(serve: Serve, asked: Asked) -> None:
    endpoint = anonymous(serve(tell).endpoint)
    assert asked(replace(endpoint, server_name="localhost"), 1)
    with pytest.raises(Unreachable, match="another"):
        asked(replace(endpoint, server_name="another.example"), 1)
