"""Replicas of a plane as processes on a real host, by an account that may do what roles say."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from atoll.client.collection import Collection
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing, Refused
from atoll.client.transport import Unreachable
from atoll.hosting.electing import SEAT
from atoll.hosting.installation import NAME, NAMESPACE, Installation, Rights, objects_of
from atoll.wire import Wire
from testenv.cluster import Cluster
from testenv.commands import AUDIT
from testenv.process import free_ports

T = TypeVar("T")

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
LEASE = f"/apis/{SEAT.api_version}/namespaces/{SEAT.namespace}/leases/{SEAT.name}"
CLUSTERS = Collection("cluster.karmada.io/v1alpha1", "Cluster", "clusters", namespaced=False)
QUICK = ("--lease-duration=6s", "--renew-deadline=4s", "--retry-period=1s")
AT_ONCE = "--shutdown-delay=0s"
_RBAC = "rbac.authorization.k8s.io/v1"
_PLACES = {
    each.kind: each
    for each in (
        Collection("v1", "Namespace", "namespaces", namespaced=False),
        Collection("v1", "ServiceAccount", "serviceaccounts", namespaced=True),
        Collection(_RBAC, "ClusterRole", "clusterroles", namespaced=False),
        Collection(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
        Collection(_RBAC, "Role", "roles", namespaced=True),
        Collection(_RBAC, "RoleBinding", "rolebindings", namespaced=True),
    )
}
"""What an account and its rights are made of."""
_APPLY = {"content-type": "application/apply-patch+yaml"}
_LIMIT_S = 240.0


def wait_for(what: str, look: Callable[[], T]) -> T:
    """What `look` finds, as soon as it finds something; refusals mean that it is not there yet."""
    deadline, last = time.monotonic() + _LIMIT_S, ""
    while time.monotonic() < deadline:
        try:
            found = look()
        except (Refused, Unreachable) as problem:
            last = str(problem)
        else:
            if found:
                return found
        time.sleep(0.05)
    raise AssertionError(f"it did not come to be: {what} {last}")


@dataclass
class Host:
    """A real API server as its administrator sees it."""

    cluster: Cluster
    client: PlainClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = PlainClient(read_kubeconfig(self.cluster.kubeconfig))

    def apply(self, path: str, wire: Wire) -> Wire:
        body, query = json.dumps(wire).encode(), "fieldManager=tests&force=true"
        found: Wire = self.client.request("PATCH", path, query, body, _APPLY).json()
        return found

    def get(self, path: str) -> Wire | None:
        with suppress(Missing):
            return self.client.get(path)
        return None

    def leader(self) -> str:
        """Who leads; nothing if nobody does."""
        lease = self.get(LEASE)
        return lease["spec"].get("holderIdentity") or "" if lease else ""

    def grant(self, rights: Rights) -> None:
        """Have an account that may do this and no more."""
        for wire in objects_of(Installation(), rights):
            if wire["kind"] in _PLACES:
                self.apply(_PLACES[wire["kind"]].path_of(wire), wire)

    def account(self, directory: Path, server: str = "") -> Path:
        """A kubeconfig of that account."""
        path = _PLACES["ServiceAccount"].path(NAMESPACE, NAME, "token")
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = self.client.request("POST", path, body=json.dumps(asked).encode()).json()
        config = json.loads(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": answer["status"]["token"]}
        if server:
            config["clusters"][0]["cluster"]["server"] = server
        file = directory / f"kubeconfig-{len(list(directory.iterdir()))}"
        file.write_text(json.dumps(config))
        return file

    def enrol(self, name: str, member: Cluster, server: str = "") -> None:
        """Have a cluster that is reached with its administrator's token."""
        spaces = _PLACES["Namespace"]
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-cluster"}}
        self.apply(spaces.path_of(space), space)
        data = {"token": member.token.encode(), "caBundle": member.authority.read_bytes()}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"namespace": "karmada-cluster", "name": name},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        self.apply(f"/api/v1/namespaces/karmada-cluster/secrets/{name}", secret)
        ref = {"namespace": "karmada-cluster", "name": name}
        wire = {
            "apiVersion": CLUSTERS.api_version,
            "kind": CLUSTERS.kind,
            "metadata": {"name": name},
            "spec": {
                "syncMode": "Push",
                "apiEndpoint": server or member.url,
                "secretRef": ref,
                "impersonatorSecretRef": ref,
            },
        }
        self.apply(CLUSTERS.path_of(wire), wire)

    def is_ready(self, name: str) -> bool:
        """Whether a cluster is."""
        status = self.client.get(CLUSTERS.path(name=name)).get("status") or {}
        found = {each["type"]: each["status"] for each in status.get("conditions") or ()}
        return found.get("Ready") == "True"


@dataclass
class Setting:
    """A host, clusters that it may have as members, and a place for logs and kubeconfigs."""

    host: Host
    members: dict[str, Cluster]
    directory: Path


@dataclass
class Replica:
    """One process of `atoll run`."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def said(self) -> str:
        return self.log.read_text()

    def terms(self) -> int:
        """How often it has begun to lead."""
        assert self.process.poll() is None, self.said()
        return self.said().count("The controllers run")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(_LIMIT_S)


@contextmanager
def replica(
    kubeconfig: Path, *words: str, program: Path | None = None, python: Path = Path(sys.executable)
) -> Iterator[Replica]:
    """A process of `atoll run` that serves at a port of its own, until the block is left."""
    (port,) = free_ports(1)
    log = kubeconfig.with_name(f"{kubeconfig.name}-{port}.log")
    command = [str(python), "-m", "atoll", "run", f"--kubeconfig={kubeconfig}"]
    # An earlier version may not know this word.
    command += [f"--serve-at=https://127.0.0.1:{port}", *([] if program else [AT_ONCE]), *words]
    environment = {**os.environ, **({"PYTHONPATH": str(program)} if program else {})}
    with log.open("wb") as written:
        process = subprocess.Popen(
            command, stdout=written, stderr=written, env=environment, cwd=program
        )
    try:
        yield Replica(process, log)
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
        process.kill()
        process.wait()


def token_id(kubeconfig: Path) -> str:
    """By what a server's log knows the token of an account."""
    token = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
    body = token.split(".")[1]
    return f"JTI={json.loads(base64.urlsafe_b64decode(body + '=='))['jti']}"


def noted(server: Cluster, credential: str = "") -> list[Wire]:
    """What our account asked for, with that token if one is named, as a server has noted it."""
    lines = (server.directory / AUDIT).read_text().splitlines()
    key = "authentication.kubernetes.io/credential-id"
    return [
        entry
        for entry in map(json.loads, lines)
        if entry["user"]["username"] == ACCOUNT
        and (not credential or credential in entry["user"]["extra"][key])
    ]
