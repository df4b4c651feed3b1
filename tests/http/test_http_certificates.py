"""The plane's own CA and credentials, and whom a client's certificate makes it."""

import asyncio
import os
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.certificate_forms import key_pem
from atoll.apiserver.certificates import ensure_credentials, sign_request
from atoll.apiserver.credentials import Credentials
from atoll.errors import Damaged
from atoll.exchange import Request, Response
from tests.http.talking import client_tls, run, serving

NOW = datetime.now(UTC)


def test_keys_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        credentials = ensure_credentials(tmp_path / "a" / "pki", NOW)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(credentials.directory.stat().st_mode) == 0o700
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in credentials.directory.iterdir()
    }
    assert modes == dict.fromkeys(
        [
            "ca.crt",
            "ca.key",
            "server.crt",
            "server.key",
            "admin.crt",
            "admin.key",
            "admin.token",
            "front-proxy-ca.crt",
            "front-proxy-ca.key",
            "front-proxy-client.crt",
            "front-proxy-client.key",
            "sa.key",
            "good.json",
        ],
        0o600,
    )


def snapshot(credentials: Credentials) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in credentials.all if path.exists()}


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    before = snapshot(ensure_credentials(tmp_path, NOW))
    assert snapshot(ensure_credentials(tmp_path, NOW + timedelta(days=200))) == before


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in after if after[name] != before.get(name)}


SERVER, ADMIN = {"server.crt", "server.key"}, {"admin.crt", "admin.key"}
FRONT = {"front-proxy-client.crt", "front-proxy-client.key"}


def test_certificates_near_their_end_are_renewed_under_the_same_ca(tmp_path: Path) -> None:
    before = snapshot(ensure_credentials(tmp_path, NOW))
    after = snapshot(ensure_credentials(tmp_path, NOW + timedelta(days=300)))
    assert changed(before, after) == SERVER | ADMIN | FRONT


@pytest.mark.parametrize(
    ("name", "content", "renewed"),
    [
        pytest.param("server.crt", b"garbage", SERVER, id="unreadable-certificate"),
        pytest.param("server.key", None, SERVER, id="missing-key"),
        pytest.param("admin.crt", None, ADMIN, id="missing-admin"),
        pytest.param("admin.token", None, {"admin.token"}, id="missing-token"),
        pytest.param("sa.key", None, {"sa.key"}, id="missing-key-of-tokens"),
        pytest.param("front-proxy-client.key", None, FRONT, id="missing-key-of-front-proxy"),
        pytest.param("ca.crt", None, {"ca.crt"}, id="ca-missing-but-its-key-is-there"),
    ],
)
def test_what_is_broken_and_replaceable_is_replaced(
    name: str, content: bytes | None, renewed: set[str], tmp_path: Path
) -> None:
    before = snapshot(ensure_credentials(tmp_path, NOW))
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    assert changed(before, snapshot(ensure_credentials(tmp_path, NOW))) == renewed


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("ca.key", b"garbage", id="unreadable-key"),
        pytest.param("ca.crt", b"garbage", id="unreadable-ca"),
        pytest.param("ca.key", None, id="no-key"),
    ],
)
def test_a_broken_ca_is_never_replaced(name: str, content: bytes | None, tmp_path: Path) -> None:
    ensure_credentials(tmp_path, NOW)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    before = snapshot(Credentials(tmp_path))
    with pytest.raises(Damaged, match=r"ca\.|CA"):
        ensure_credentials(tmp_path, NOW)
    assert snapshot(Credentials(tmp_path)) == before


def test_a_broken_key_of_tokens_is_never_replaced(tmp_path: Path) -> None:
    credentials = ensure_credentials(tmp_path, NOW)
    credentials.account_key.write_bytes(b"garbage")
    with pytest.raises(Damaged, match=r"a key in .* cannot be read"):
        ensure_credentials(tmp_path, NOW)
    assert credentials.account_key.read_bytes() == b"garbage"


def test_a_new_name_of_the_server_gives_a_new_certificate(tmp_path: Path) -> None:
    before = snapshot(ensure_credentials(tmp_path, NOW))
    credentials = ensure_credentials(tmp_path, NOW, more_names=["10.1.2.3", "plane.example"])
    assert changed(before, snapshot(credentials)) == SERVER
    certificate = x509.load_pem_x509_certificate(credentials.server.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {str(name.value) for name in names} >= {
        *("127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default.svc"),
        *("10.1.2.3", "plane.example"),
    }


def issue(
    authority: Credentials, directory: Path, name: str, groups: list[str], now: datetime = NOW
) -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    named = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    named.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(named))
    asked = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    signing = Signing(0, authority.ca.read_bytes(), authority.ca_key.read_bytes())
    certificate = sign_request(signing, asked, now, timedelta(days=365))
    directory.mkdir(exist_ok=True)
    (directory / "c.crt").write_bytes(certificate)
    (directory / "c.key").write_bytes(key_pem(key))
    return str(directory / "c.crt"), str(directory / "c.key")


async def whoami(request: Request) -> Response:
    return Response(
        200, {}, repr(request.peer and (request.peer.name, request.peer.groups)).encode()
    )


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        pytest.param("alice", [], id="no-groups"),
        pytest.param("alice", ["b", "a", "c"], id="groups-in-order"),
        pytest.param("system:node:ünï", ["system:nodes", "x, y"], id="odd-characters"),
    ],
)
def test_a_client_is_who_its_certificate_says(
    name: str, groups: list[str], loop_kind: str, credentials: Credentials, tmp_path: Path
) -> None:
    async def main() -> None:
        async with serving(credentials, whoami) as it:
            pair = issue(credentials, tmp_path, name, groups)
            client = await it.connect(tls=client_tls(credentials, pair))
            assert (await client.get("/")).body.decode() == repr((name, tuple(groups)))
            nobody = await it.connect()
            assert (await nobody.get("/")).body == b"None"

    run(loop_kind, main())


def test_the_admin_is_a_master(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials, whoami) as it:
            pair = (str(credentials.admin), str(credentials.admin_key))
            client = await it.connect(tls=client_tls(credentials, pair))
            answer = await client.get("/")
            assert answer.body.decode() == repr(("kubernetes-admin", ("system:masters",)))

    run("asyncio", main())


@pytest.mark.parametrize(
    "which",
    [
        pytest.param("stranger", id="of-an-unknown-ca"),
        pytest.param("expired", id="expired"),
    ],
)
def test_a_certificate_that_cannot_be_believed_ends_the_handshake(
    which: str, loop_kind: str, credentials: Credentials, tmp_path: Path
) -> None:
    authority, now = credentials, NOW - timedelta(days=800)
    if which == "stranger":
        authority, now = ensure_credentials(tmp_path / "other", NOW), NOW
    pair = issue(authority, tmp_path / "client", "mallory", ["system:masters"], now)

    async def main() -> None:
        async with serving(credentials, whoami) as it:
            client = await it.connect(tls=client_tls(credentials, pair))
            # With TLS 1.3 the client learns of the refusal with the first bytes it reads.
            with pytest.raises((ssl.SSLError, asyncio.IncompleteReadError, ConnectionError)):
                await client.get("/")
            good = await it.connect()
            assert (await good.get("/")).status == 200

    run(loop_kind, main())


def test_only_http_1_1_is_offered(credentials: Credentials) -> None:
    async def main() -> None:
        async with serving(credentials) as it:
            tls = client_tls(credentials)
            tls.set_alpn_protocols(["h2", "http/1.1"])
            client = await it.connect(tls=tls)
            chosen = client.writer.get_extra_info("ssl_object").selected_alpn_protocol()
            assert chosen == "http/1.1"

    run("asyncio", main())
