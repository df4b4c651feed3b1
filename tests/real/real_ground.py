"""A real Kubernetes as host, with two replicas of `atoll run`, and three real clusters as members.

The members have controllers, a scheduler, and nodes without machines. Plane and agent reach them
through relays, which can be cut.
"""

import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from balancing import balancing
from plane_api import Api
from world import PLANE_QUICK, expect

from testenv.cluster import Cluster
from testenv.federation import federation
from testenv.process import Server, free_ports, running
from testenv.relay import Relay, relaying

NAMES = ("m1", "m2", "m3")
NODES = 2
LOOK_EVERY_S = 0.5
SEAT = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "atoll-system", "name": "atoll-controllers"},
}


@dataclass
class Replica:
    """One process of the plane; if it ends by itself it is started again, as a kubelet does."""

    command: list[str | Path]
    log: Path
    _held: ExitStack = field(default_factory=ExitStack)
    _server: Server | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        with self._lock:
            self._server = self._held.enter_context(running("replica", self.command, self.log))

    def stop(self) -> None:
        """What a power failure does to it."""
        with self._lock:
            self._server = None
            self._held.close()

    def revive(self) -> None:
        with self._lock:
            if self._server is not None and self._server.process.poll() is not None:
                self._held.close()
                self._server = self._held.enter_context(running("replica", self.command, self.log))

    def says(self, what: str) -> bool:
        return self.log.exists() and what in self.log.read_text(errors="replace")


@dataclass
class RealGround:
    """Everything that runs, and how it is harmed."""

    directory: Path
    name: str = "real"
    _held: ExitStack = field(default_factory=ExitStack)
    _clusters: dict[str, Cluster] = field(default_factory=dict)
    _relays: dict[str, Relay] = field(default_factory=dict)
    _replicas: list[Replica] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _api: Api = field(init=False)

    def start(self) -> None:
        found = self._held.enter_context(federation(len(NAMES), NODES))
        self._clusters = dict(zip(NAMES, found.members.values(), strict=True))
        for name, cluster in self._clusters.items():
            self._relays[name] = self._held.enter_context(relaying(cluster, name))
        self.kubeconfig = found.host.kubeconfig
        self._api = Api(self.kubeconfig)
        self._held.callback(self._api.close)
        ports = free_ports(2)
        balanced = self._held.enter_context(balancing(ports))
        for number, port in enumerate(ports, 1):
            self._replicas.append(self._replica(number, port, f"https://127.0.0.1:{balanced}"))
            self._held.callback(self._replicas[-1].stop)
        self._start_replicas()
        watching = threading.Thread(target=self._watch, name="replicas", daemon=True)
        watching.start()
        self._held.callback(watching.join)
        self._held.callback(self._over.set)

    def member(self, name: str) -> Path:
        return self._clusters[name].kubeconfig

    def way(self, name: str) -> Path:
        return self._relays[name].kubeconfig

    def cut(self, name: str) -> None:
        self._relays[name].cut()

    def heal(self, name: str) -> None:
        self._relays[name].restore()

    def restart_hub(self) -> None:
        for each in self._replicas:
            each.stop()
        self._start_replicas()

    def change_leader(self) -> None:
        held = self._api.find(SEAT)
        assert held is not None, "somebody leads"
        holder = held["spec"]["holderIdentity"]
        (leading,) = (each for each in self._replicas if each.says(f"{holder} leads from now on"))
        leading.stop()
        expect(lambda: (self._api.find(SEAT) or held)["spec"]["holderIdentity"] != holder, True)
        leading.start()

    def close(self) -> None:
        self._held.close()

    def _replica(self, number: int, port: int, url: str) -> Replica:
        command = [sys.executable, "-m", "atoll", "run", "--kubeconfig", self.kubeconfig]
        command += ["--serve-at", url, "--port", str(port), *PLANE_QUICK]
        return Replica(command, self.directory / f"replica-{number}.log")

    def _start_replicas(self) -> None:
        for each in self._replicas:
            each.start()
        expect(lambda: self._api.list("cluster.karmada.io/v1alpha1", "Cluster") is None, False)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            for each in self._replicas:
                each.revive()
