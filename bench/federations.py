"""A plane on real Kubernetes, for the propagation bench: a host, members with nodes, `atoll run`.

In: how many members. Out: their kubeconfigs, and the processes: the plane's own, whose CPU counts;
API servers, etcd and the members' own controllers, which stand for other machines. The plane has
the account and the rights of an installed one. All of it runs on loopback and is gone afterwards.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.planes import CONTROLLERS, Servers
from testenv.cluster import Cluster
from testenv.errors import StartFailed
from testenv.federation import Federation, federation
from testenv.process import free_ports, running

# All share one machine: who leads must not be given up for being short of time.
_LEASE = ("--lease-duration=90s", "--renew-deadline=60s")
_START_TIMEOUT_S = 300
_RUNS = "The controllers run"
_ATOLL = (sys.executable, "-m", "atoll")


@contextmanager
def real(members: int = 3, nodes: int = 3, atoll: Sequence[str] = _ATOLL) -> Iterator[Servers]:
    """A running plane that the members have joined."""
    with federation(members, nodes) as clusters:
        host = clusters.host
        as_administrator = f"--kubeconfig={host.kubeconfig}"
        _said([*_ATOLL, "install", as_administrator])
        (port,) = free_ports(1)
        way = f"--kubeconfig={_account(host)}"
        log = host.directory / "atoll.log"
        with running("atoll", [*atoll, "run", way, f"--port={port}", *_LEASE], log) as plane:
            plane.wait_until(lambda: _RUNS in log.read_text(), _START_TIMEOUT_S)
            for name, cluster in clusters.members.items():
                there = f"--cluster-kubeconfig={cluster.kubeconfig}"
                _said([*_ATOLL, "join", name, as_administrator, there])
            kubeconfigs = {name: each.kubeconfig for name, each in clusters.members.items()}
            yield Servers(host.kubeconfig, kubeconfigs, _processes(plane.pid, clusters))


def _processes(controllers: int, clusters: Federation) -> dict[str, tuple[int, ...]]:
    """What runs, by name; the parts of all members together, for they are other machines."""
    found: dict[str, tuple[int, ...]] = {CONTROLLERS: (controllers,)}
    for name, part in clusters.host.parts.items():
        found[f"the host's {name}"] = (part.pid,)
    found["members"] = tuple(
        part.pid for each in clusters.members.values() for part in each.parts.values()
    )
    return found


def _account(host: Cluster) -> Path:
    """A kubeconfig of the plane's own account."""
    kubectl = [str(host.kubectl), f"--kubeconfig={host.kubeconfig}", "--namespace=atoll-system"]
    # Outside a pod it makes itself a Service of another type.
    roles = ["--clusterrole=edit", "--serviceaccount=atoll-system:atoll"]
    _said([*kubectl, "create", "rolebinding", "outside", *roles])
    token = _said([*kubectl, "create", "token", "atoll", "--duration=24h"]).strip()
    path = host.kubeconfig_by(host.url, "atoll")
    config = json.loads(path.read_text())
    config["users"][0]["user"] = {"token": token}
    path.write_text(json.dumps(config))
    return path


def _said(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StartFailed(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout
