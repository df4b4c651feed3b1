"""Starts a real Kubernetes cluster on loopback, for the length of a `with` block.

In: the binaries of `testenv.build` and the shape of the cluster. Out: a Cluster to talk to, with an
empty etcd of its own in a temporary directory. Of the plainest shape it is an API server alone:
what is written stays as written. A member has controllers, a scheduler, and nodes that kwok plays.
"""

import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testenv import commands
from testenv.build import KWOK, Binaries, find
from testenv.certificates import Certificates, Pair, make_certificates
from testenv.commands import TOKEN, Site
from testenv.errors import StartFailed
from testenv.nodes import are_ready, create_nodes
from testenv.process import POLL_S, Part, free_ports, temporary_directory

START_TIMEOUT_S = 240
ATTEMPTS = 3  # a free port may be taken between finding and using it


@dataclass(frozen=True, slots=True)
class Shape:
    """What runs besides etcd and kube-apiserver; where there are nodes, also a scheduler.

    One that is audited notes who asked for what, in the file AUDIT of its directory. One with
    controllers is meant to have others beside it, and to share the machine with them; one with
    nodes stands for a machine of its own, and yields to those who speak to it.
    """

    controllers: tuple[str, ...] = ()
    nodes: int = 0
    is_audited: bool = False

    def suited(self, command: commands.Command) -> commands.Command:
        """A server's command, as it is run in a cluster of this shape."""
        if self.nodes:
            command = commands.yielding(command)
        return commands.sharing(command) if self.controllers else command


BARE = Shape()
HOST = Shape(commands.HOST_CONTROLLERS)


def member(nodes: int) -> Shape:
    """A cluster in which workloads run, as far as an API can tell."""
    return Shape(commands.MEMBER_CONTROLLERS, nodes)


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
    directory: Path  # of everything below, and of the logs: one of each part
    kubeconfig: Path
    authority: Path  # the certificate that its own is signed by
    administrator: Pair  # a client certificate and key
    user: Pair  # the same, of one whose name is `user` and who may do only what roles allow
    front_proxy: Pair  # the same, of one who may say for whom it asks
    token: str  # the same, as a bearer token
    kubectl: Path
    parts: Mapping[str, Part]  # its servers, by the names of their commands
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
        return self.answers("/readyz")

    def answers(self, path: str) -> bool:
        """Whether something is there, and somebody to ask."""
        try:
            return self.request("GET", path).status == 200
        except OSError:
            return False

    def kubeconfig_by(self, url: str, name: str) -> Path:
        """A kubeconfig of the administrator who goes by another address of 127.0.0.1."""
        config = json.loads(self.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = url
        return _write_private(self.directory / f"kubeconfig-{name}", config)


@contextmanager
def kubernetes(binaries: Binaries | None = None, shape: Shape = BARE) -> Iterator[Cluster]:
    """A running cluster; raises Unavailable if not built, StartFailed with the log's tail."""
    with ExitStack() as started:
        (cluster,) = start_together([starting(binaries or find(), shape, started)])
        yield cluster


Starting = Generator[None, None, Cluster]  # yields as long as there is something to wait for


def start_together(starts: Sequence[Starting]) -> list[Cluster]:
    """Waits for several clusters at once; whatever goes wrong with one is the end of all."""
    clusters: dict[int, Cluster] = {}
    try:
        while len(clusters) < len(starts):
            for number, start in enumerate(starts):
                if number in clusters:
                    continue
                try:
                    next(start)
                except StopIteration as end:
                    clusters[number] = end.value
            time.sleep(POLL_S)
    finally:
        for start in starts:
            start.close()
    return [clusters[number] for number in range(len(starts))]


def starting(binaries: Binaries, shape: Shape, started: ExitStack) -> Starting:
    for attempt in range(1, ATTEMPTS + 1):
        with ExitStack() as attempted:
            try:
                cluster = yield from _starting_once(binaries, shape, attempted)
            except StartFailed as failure:
                if attempt == ATTEMPTS or "address already in use" not in str(failure):
                    raise
            else:
                started.push(attempted.pop_all())
                return cluster
    raise AssertionError("the last attempt returns or raises")


def _starting_once(binaries: Binaries, shape: Shape, started: ExitStack) -> Starting:
    directory = started.enter_context(temporary_directory("atoll-testenv-"))
    site = Site(
        directory,
        make_certificates(directory / "certificates"),
        directory / "kubeconfig",
        *free_ports(4),
    )
    parts: dict[str, Part] = {}
    cluster = _cluster(site, binaries, parts)
    for part in _foundation(binaries, site, shape, cluster):
        parts[part.name] = part
        started.callback(part.stop)
        yield from part.starting()
    if shape.nodes:
        create_nodes(cluster.request, shape.nodes)
    inhabitants = list(_inhabitants(binaries, site, shape, cluster))
    for part in inhabitants:
        parts[part.name] = part
        started.callback(part.stop)
    waiting = [part.starting() for part in inhabitants]
    while waiting:
        # Each is asked in every round, so that they all start in the first.
        waiting = [one for one in waiting if next(one, _READY) is not _READY]
        yield
    return cluster


_READY = object()


def _foundation(binaries: Binaries, site: Site, shape: Shape, cluster: Cluster) -> Iterator[Part]:
    """What all else needs, in this order."""

    def etcd_is_ready() -> bool:
        return _answers(f"{site.etcd_url}/readyz")

    command = commands.etcd(binaries, site)
    yield _part("etcd", shape.suited(command), site, etcd_is_ready)
    command = commands.kube_apiserver(
        binaries, site, has_accounts=bool(shape.controllers), is_audited=shape.is_audited
    )
    yield _part("kube-apiserver", shape.suited(command), site, cluster.ready)


def _inhabitants(binaries: Binaries, site: Site, shape: Shape, cluster: Cluster) -> Iterator[Part]:
    """What works through the API server, in any order."""

    def has_accounts() -> bool:
        return cluster.answers("/api/v1/namespaces/default/serviceaccounts/default")

    def nodes_are_ready() -> bool:
        return are_ready(cluster.get("/api/v1/nodes")["items"], shape.nodes)

    if shape.controllers:
        command = commands.kube_controller_manager(binaries, site, shape.controllers)
        yield _part("kube-controller-manager", shape.suited(command), site, has_accounts)
    if shape.nodes:
        command = commands.kube_scheduler(binaries, site)
        yield _part("kube-scheduler", shape.suited(command), site, cluster.ready)
        command = commands.kwok(find(KWOK), site)
        yield _part("kwok", shape.suited(command), site, nodes_are_ready)


def _part(name: str, command: commands.Command, site: Site, ready: Callable[[], bool]) -> Part:
    return Part(name, command, site.directory / f"{name}.log", ready, START_TIMEOUT_S)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _cluster(site: Site, binaries: Binaries, parts: Mapping[str, Part]) -> Cluster:
    certificates = site.certificates
    url = f"https://127.0.0.1:{site.port}"
    administrator = {
        "client-certificate-data": _inline(certificates.administrator.certificate),
        "client-key-data": _inline(certificates.administrator.key),
    }
    _write_private(site.servers_kubeconfig, _kubeconfig(url, certificates, {"token": TOKEN}))
    return Cluster(
        url=url,
        directory=site.directory,
        kubeconfig=_write_private(site.kubeconfig, _kubeconfig(url, certificates, administrator)),
        authority=certificates.authority.certificate,
        administrator=certificates.administrator,
        user=certificates.user,
        front_proxy=certificates.front_proxy,
        token=TOKEN,
        kubectl=binaries.kubectl,
        parts=parts,
        _tls=ssl.create_default_context(cafile=certificates.authority.certificate),
    )


def _write_private(path: Path, config: Mapping[str, Any]) -> Path:
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _kubeconfig(url: str, certificates: Certificates, user: dict[str, str]) -> dict[str, Any]:
    """As a cluster's administrator would get it: self-contained, in one file."""
    authority = _inline(certificates.authority.certificate)
    cluster = {"server": url, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testenv",
        "clusters": [{"name": "testenv", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "testenv", "context": {"cluster": "testenv", "user": "admin"}}],
    }
