"""A real API server as the host of installations, and commands that people run against it."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atoll.cli.app import run
from atoll.client.collection import Collection
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient
from atoll.client.refusals import Missing
from atoll.hosting import removing
from atoll.hosting.deploying import COLLECTIONS, deploy, everything
from atoll.hosting.installation import NAMESPACE, Installation
from atoll.hosting.place import Place
from atoll.hosting.registering import Registration, definitions, registrations
from atoll.hosting.removing import RECORDS, Wish
from atoll.members.unjoining import WORKS
from testenv.cluster import Cluster

REGISTRATION = Registration(Place(NAMESPACE))
NAMESPACES = COLLECTIONS["Namespace"]
OWN_SPACES = (NAMESPACE, "elsewhere", "karmada-es-m1", "karmada-cluster", "karmada-system")
_APPLY = {"content-type": "application/apply-patch+yaml"}


@dataclass
class Host:
    """One server, seen by its administrator."""

    cluster: Cluster
    client: PlainClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = PlainClient(read_kubeconfig(self.cluster.kubeconfig))

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    def apply(self, path: str, wire: dict[str, Any], query: str = "") -> dict[str, Any]:
        asked = f"fieldManager=tests&force=true{query}"
        sent = json.dumps(wire).encode()
        found: dict[str, Any] = self.client.request("PATCH", path, asked, sent, _APPLY).json()
        return found

    def kubectl(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.cluster.kubectl, "--kubeconfig", self.kubeconfig, *words],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def create(
        self, collection: Collection, name: str, metadata: dict[str, Any], spec: dict[str, Any]
    ) -> None:
        head = {"apiVersion": collection.api_version, "kind": collection.kind}
        named = {"name": name, **metadata}
        self.client.create(collection, {**head, "metadata": named, "spec": spec})

    def wait_for(self, holds: Callable[[], bool]) -> None:
        """Wait for a condition; its limit is for a machine that has other things to do."""
        deadline = time.monotonic() + 240
        while not holds():
            assert time.monotonic() < deadline, "it does not come to hold"
            time.sleep(0.05)

    def has(self, path: str) -> bool:
        return self.client.request("GET", path).status == 200

    def kinds_there(self) -> set[str]:
        """Of what an installation is made of, the kinds of which one called atoll is there."""
        return {
            collection.kind
            for collection in COLLECTIONS.values()
            for name in ("atoll", NAMESPACE)
            if self.has(collection.path(NAMESPACE if collection.namespaced else "", name))
        }

    @contextmanager
    def unasked(self) -> Iterator[None]:
        """Nobody is there to answer the webhooks: go without them for a while."""
        webhooks = [each for each in registrations(REGISTRATION) if "webhook" in each[0]]
        for path, _ in webhooks:
            self.client.delete(path)
        yield
        for path, wire in webhooks:
            self.apply(path, wire)

    def install(self) -> None:
        list(deploy(self.client, everything(Installation())))

    def register(self) -> None:
        """What a replica tells the host when it begins to lead."""
        for path, wire in (*definitions(REGISTRATION), *registrations(REGISTRATION)):
            self.apply(path, wire)
        self.wait_for(lambda: self.has(RECORDS.path()) and self.has(WORKS.path()))

    def deliver(self) -> None:
        """A cluster, and something delivered to it, held as the controllers hold them."""
        for name in ("karmada-es-m1", "karmada-cluster"):
            self.create(NAMESPACES, name, {"labels": {"karmada.io/system": "true"}}, {})
        cluster = {"finalizers": ["karmada.io/cluster-controller"]}
        work = {"finalizers": ["karmada.io/execution-controller"], "namespace": "karmada-es-m1"}
        with self.unasked():
            self.create(RECORDS, "m1", cluster, {"syncMode": "Push"})
            self.create(WORKS, "w", work, {})

    def clear(self) -> None:
        """Leave nothing; nobody else finishes the deletion of a namespace here."""
        client, wish = self.client, Wish(NAMESPACE, 0)
        for _, step in removing.steps(client, client, wish, pause, is_purge=False):
            list(step)
        for space in OWN_SPACES:
            self._bury(space)

    def _bury(self, space: str) -> None:
        path = NAMESPACES.path(name=space)
        with suppress(Missing):
            self.client.delete(path)
            left = self.client.get(path)
            for collection in _INSIDE:
                for each in self.client.list(collection, space):
                    self.client.delete(collection.path_of(each))
            self.client.replace(NAMESPACES, {**left, "spec": {"finalizers": []}}, "finalize")

    def close(self) -> None:
        self.client.close()


_INSIDE = (
    Collection("v1", "Secret", "secrets", namespaced=True),
    Collection("v1", "Pod", "pods", namespaced=True),
    Collection("v1", "ConfigMap", "configmaps", namespaced=True),
    Collection("coordination.k8s.io/v1", "Lease", "leases", namespaced=True),
    *(each for each in COLLECTIONS.values() if each.namespaced and each.kind != "ServiceMonitor"),
)


def pause(seconds: float) -> None:
    """Look again sooner than people would."""
    time.sleep(min(seconds, 0.1))


def command(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, list[str], str]:
    """Run a command; its exit code, what it printed, and what it told."""
    code = run([str(each) for each in words])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out.splitlines(), printed.err
