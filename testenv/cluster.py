"""Starts a real Kubernetes API server on loopback, for the length of a `with` block.

In: the binaries of `testenv.build`. Out: a Cluster to talk to, with an empty etcd of its own in a
temporary directory. There are no controllers and no nodes: what is written stays as written.
"""

import base64
import json
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testenv.build import Binaries, find
from testenv.certificates import Certificates, Pair, make_certificates
from testenv.errors import StartFailed
from testenv.process import free_ports, running

TOKEN = "testenv-administrator"
START_TIMEOUT_S = 120
ATTEMPTS = 3  # a free port may be taken between finding and using it


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, read to its end; a status of 400 and above is an answer like any other."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running API server and the ways to be its administrator."""

    url: str
    directory: Path  # of everything below, and of the logs: etcd.log and kube-apiserver.log
    kubeconfig: Path
    authority: Path  # the certificate that its own is signed by
    administrator: Pair  # a client certificate and key
    user: Pair  # the same, of one whose name is `user` and who may do only what roles allow
    front_proxy: Pair  # the same, of one who may say for whom it asks
    token: str  # the same, as a bearer token
    kubectl: Path
    _tls: ssl.SSLContext = field(repr=False)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Asks as administrator, unless the headers say otherwise."""
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        request = urllib.request.Request(self.url + path, body, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self._tls) as response:
                return Answer(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, dict(refusal.headers), refusal.read())

    def get(self, path: str, accept: str = "application/json") -> Any:
        """A JSON document that must be there."""
        answer = self.request("GET", path, headers={"Accept": accept})
        if answer.status != 200:
            raise LookupError(f"GET {path}: {answer.status} {answer.body[:300]!r}")
        return answer.json()

    def ready(self) -> bool:
        try:
            return self.request("GET", "/readyz").status == 200
        except OSError:
            return False


@contextmanager
def kubernetes(binaries: Binaries | None = None) -> Iterator[Cluster]:
    """A running API server; raises Unavailable if not built, StartFailed with the log's tail."""
    with ExitStack() as started:
        yield _start(binaries or find(), started)


def _start(binaries: Binaries, started: ExitStack) -> Cluster:
    for attempt in range(1, ATTEMPTS + 1):
        with ExitStack() as attempted:
            try:
                cluster = _start_once(binaries, attempted)
            except StartFailed as failure:
                if attempt == ATTEMPTS or "address already in use" not in str(failure):
                    raise
            else:
                started.push(attempted.pop_all())
                return cluster
    raise AssertionError("the last attempt returns or raises")


def _start_once(binaries: Binaries, started: ExitStack) -> Cluster:
    prefix = "atoll-testenv-"
    directory = Path(started.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
    certificates = make_certificates(directory / "certificates")
    etcd_client, etcd_peer, port = free_ports(3)
    cluster = _cluster(f"https://127.0.0.1:{port}", directory, certificates, binaries)
    etcd_url = f"http://127.0.0.1:{etcd_client}"
    etcd = _etcd_command(binaries, directory, etcd_url, f"http://127.0.0.1:{etcd_peer}")
    store = started.enter_context(running("etcd", etcd, directory / "etcd.log"))
    store.wait_until(lambda: _answers(f"{etcd_url}/readyz"), START_TIMEOUT_S)
    command = _apiserver_command(binaries, directory, certificates, etcd_url, port)
    log = directory / "kube-apiserver.log"
    server = started.enter_context(running("kube-apiserver", command, log))
    server.wait_until(cluster.ready, START_TIMEOUT_S)
    return cluster


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _cluster(url: str, directory: Path, certificates: Certificates, binaries: Binaries) -> Cluster:
    kubeconfig = directory / "kubeconfig"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(json.dumps(_kubeconfig(url, certificates)))
    return Cluster(
        url=url,
        directory=directory,
        kubeconfig=kubeconfig,
        authority=certificates.authority.certificate,
        administrator=certificates.administrator,
        user=certificates.user,
        front_proxy=certificates.front_proxy,
        token=TOKEN,
        kubectl=binaries.kubectl,
        _tls=ssl.create_default_context(cafile=certificates.authority.certificate),
    )


def _etcd_command(
    binaries: Binaries, directory: Path, client_url: str, peer_url: str
) -> list[str | Path]:
    return [
        binaries.etcd,
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client_url}",
        f"--advertise-client-urls={client_url}",
        f"--listen-peer-urls={peer_url}",
        f"--initial-advertise-peer-urls={peer_url}",
        f"--initial-cluster=default={peer_url}",
        "--unsafe-no-fsync",
    ]


def _apiserver_command(
    binaries: Binaries, directory: Path, certificates: Certificates, etcd_url: str, port: int
) -> list[str | Path]:
    tokens = directory / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    return [
        binaries.kube_apiserver,
        f"--etcd-servers={etcd_url}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        # Reserved for documentation: a loopback address is refused, and there may be no other.
        "--advertise-address=192.0.2.1",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--tls-cert-file={certificates.server.certificate}",
        f"--tls-private-key-file={certificates.server.key}",
        f"--client-ca-file={certificates.authority.certificate}",
        *_front_proxy_flags(certificates),
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--enable-bootstrap-token-auth",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={certificates.service_account_key}",
        f"--service-account-signing-key-file={certificates.service_account_key}",
        # Without controllers there are no service accounts, which it would insist on.
        "--disable-admission-plugins=ServiceAccount",
    ]


def _front_proxy_flags(certificates: Certificates) -> list[str]:
    """Whom it believes that they ask for others, and as whom it asks servers behind it."""
    return [
        f"--requestheader-client-ca-file={certificates.front_authority.certificate}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-uid-headers=X-Remote-Uid",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={certificates.front_proxy.certificate}",
        f"--proxy-client-key-file={certificates.front_proxy.key}",
    ]


def _kubeconfig(url: str, certificates: Certificates) -> dict[str, Any]:
    """As a cluster's administrator would get it: self-contained, in one file."""

    def inline(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    administrator = certificates.administrator
    user = {
        "client-certificate-data": inline(administrator.certificate),
        "client-key-data": inline(administrator.key),
    }
    authority = inline(certificates.authority.certificate)
    cluster = {"server": url, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testenv",
        "clusters": [{"name": "testenv", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "testenv", "context": {"cluster": "testenv", "user": "admin"}}],
    }
