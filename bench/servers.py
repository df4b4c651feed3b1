"""The servers that are measured, each as its users run it, for the length of a `with` block.

Ours is `atoll up` with a data directory of its own; the other is kube-apiserver with etcd from the
testenv. Both listen on loopback, with TLS and client certificates, and write to the disk for good
before they answer.
"""

import os
import shlex
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from atoll.apiserver.access.signing import Signing
from atoll.apiserver.certificate_forms import key_pem
from atoll.apiserver.certificates import sign_request
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.tls import client_context
from atoll.config import Config
from atoll.errors import UsageError
from bench.processes import Usage, children, usage
from testenv.build import Binaries
from testenv.cluster import kubernetes
from testenv.process import running

OURS = "atoll"
THEIRS = "kubernetes"
USER = "user"
START_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Target:
    """A running server: how to reach it, what it costs, how long it took."""

    name: str
    url: str
    administrator: ssl.SSLContext
    user: ssl.SSLContext  # of one whose name is `user` and who may do only what roles allow
    roots: frozenset[int]  # its processes
    started_s: float  # from the command to the first time it said that it is ready

    def usage(self) -> Usage:
        return usage(self.roots)


@contextmanager
def atoll(directory: Path) -> Iterator[Target]:
    """Our server, with its data in this directory, which may have been used before."""
    config = Config(directory / "data")
    config.kubeconfig.unlink(missing_ok=True)  # of an earlier start
    command = [sys.executable, "-m", "atoll", "up", "--foreground", "--port", "0"]
    command += ["--data-dir", str(config.data_dir)]
    before = children(os.getpid())
    begun = time.monotonic()
    with running("atoll", command, directory / "atoll.log") as server:
        server.wait_until(lambda: _is_ready(config.kubeconfig), START_TIMEOUT_S)
        yield _target(OURS, config.kubeconfig, _user(config.pki_dir), before, begun)


def _user(pki: Path) -> tuple[bytes, bytes]:
    """A certificate of somebody without rights of his own, and its key, both PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, USER)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    asked = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    signing = Signing(0, (pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    certificate = sign_request(signing, asked, datetime.now(UTC), timedelta(days=1))
    return certificate, key_pem(key)


@contextmanager
def kubernetes_with_etcd(binaries: Binaries) -> Iterator[Target]:
    with tempfile.TemporaryDirectory(prefix="atoll-bench-") as directory:
        durable = _with_durable_etcd(binaries, Path(directory))
        before = children(os.getpid())
        begun = time.monotonic()
        with kubernetes(durable) as cluster:
            user = (cluster.user.certificate.read_bytes(), cluster.user.key.read_bytes())
            yield _target(THEIRS, cluster.kubeconfig, user, before, begun)


def _with_durable_etcd(binaries: Binaries, directory: Path) -> Binaries:
    """The same binaries, but an etcd that waits for the disk, which the testenv's need not do."""
    (directory / "kube-apiserver").symlink_to(binaries.kube_apiserver)
    (directory / "kubectl").symlink_to(binaries.kubectl)
    wrapper = directory / "etcd"
    wrapper.write_text(
        "#!/bin/sh\n"
        'for flag; do shift; [ "$flag" = --unsafe-no-fsync ] || set -- "$@" "$flag"; done\n'
        f'exec {shlex.quote(str(binaries.etcd))} "$@"\n'
    )
    wrapper.chmod(0o700)
    return Binaries(directory)


def _target(
    name: str, kubeconfig: Path, user: tuple[bytes, bytes], before: set[int], begun: float
) -> Target:
    endpoint = read_kubeconfig(kubeconfig)
    as_user = replace(endpoint, certificate=user[0], key=user[1])
    return Target(
        name=name,
        url=endpoint.server,
        administrator=client_context(endpoint),
        user=client_context(as_user),
        roots=frozenset(children(os.getpid()) - before),
        started_s=time.monotonic() - begun,
    )


def _is_ready(kubeconfig: Path) -> bool:
    """Whether the server says so itself; it writes its kubeconfig on the way there."""
    try:
        endpoint = read_kubeconfig(kubeconfig)
        context = client_context(endpoint)
        with urllib.request.urlopen(f"{endpoint.server}/readyz", timeout=5, context=context):
            return True
    except (UsageError, OSError, urllib.error.HTTPError):
        return False
