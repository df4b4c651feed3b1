"""What only a person can mend ends a replica at once, with one line that says what it is."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from replicas import Setting

pytestmark = pytest.mark.testenv

SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.cluster.karmada.io"


def ended(kubeconfig: Path, *words: str) -> tuple[int, str]:
    """The exit code of a replica that cannot be one, and its last line."""
    command = [sys.executable, "-m", "atoll", "run", f"--kubeconfig={kubeconfig}", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith(("error", "E"))]
    assert len(errors) == 1
    return done.returncode, errors[0]


def test_a_host_that_does_not_know_us(setting: Setting, tmp_path: Path):
    config = json.loads(setting.host.cluster.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "unknown"}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(config))
    refusal = "error: reaching the host: the host refuses it: Unauthorized"
    assert ended(kubeconfig) == (1, refusal)


def test_a_port_that_another_program_has(setting: Setting):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, line = ended(setting.host.cluster.kubeconfig, f"--port={port}")
    refusal = f"error: cannot listen on 127.0.0.1:{port}; address already in use"
    assert (code, line) == (1, f"{refusal}; try: another --port")


def test_a_host_that_is_another_plane_already(setting: Setting):
    host = setting.host
    spec = {
        "group": "cluster.karmada.io",
        "version": "v1alpha1",
        "groupPriorityMinimum": 2000,
        "versionPriority": 10,
        "service": {"namespace": "karmada-system", "name": "karmada-aggregated-apiserver"},
    }
    wire = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": spec,
    }
    host.apply(SERVICE, wire)
    try:
        code, line = ended(host.cluster.kubeconfig, "--no-leader-elect")
    finally:
        host.client.delete(SERVICE)
    assert (code, line) == (
        1,
        "error: the host has an APIService v1alpha1.cluster.karmada.io of another program, at"
        " Service karmada-system/karmada-aggregated-apiserver; two planes cannot share a host",
    )
