"""Plug-ins that are installed beside Atoll take part under `atoll run`, and can be switched off."""

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from replicas import CLUSTERS, Host, replica, wait_for
from workloads import place, replicas_in

from testenv.build import find
from testenv.cluster import BARE, start_together, starting

pytestmark = pytest.mark.testenv

ALONE = "--no-leader-elect"
MERGE = {"content-type": "application/merge-patch+json"}


def why(python: Path, host: Host, name: str) -> str:
    """What `atoll why` says of a Deployment; nothing as long as nothing is recorded."""
    words = ["why", f"deploy/{name}", "-n", "shop", "--kubeconfig", str(host.cluster.kubeconfig)]
    command = [str(python), "-m", "atoll", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    return "" if done.returncode else done.stdout


def test_an_installed_plugin_takes_part_until_it_is_switched_off(python_with_plugins: Path) -> None:
    with ExitStack() as started:
        servers = [starting(find(), BARE, started) for _host_and_member in range(2)]
        cluster, member = start_together(servers)
        host = Host(cluster)
        started.callback(host.client.close)
        with replica(cluster.kubeconfig, ALONE, python=python_with_plugins) as one:
            wait_for("one who leads", one.terms)
            wait_for("Cluster m1", lambda: host.enrol("m1", member) is None)
            labels = {"metadata": {"labels": {"maintenance": "planned"}}}
            path, body = CLUSTERS.path(name="m1"), json.dumps(labels).encode()
            host.client.request("PATCH", path, body=body, headers=MERGE)
            wait_for("m1 to be ready", lambda: host.is_ready("m1"))
            place(host, "shop", "web")
            told = wait_for("why", lambda: why(python_with_plugins, host, "web"))
            assert "0/1 clusters are available: 1 cluster(s) had maintenance planned." in told
            assert replicas_in(member, "shop", "web") is None
        words = (ALONE, "--plugins=*,-Maintenance")
        with replica(cluster.kubeconfig, *words, python=python_with_plugins):
            wait_for("web in m1", lambda: replicas_in(member, "shop", "web"))
