"""The testenv's own promises: it starts the real thing, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testenv.build import Binaries, versions
from testenv.cluster import ATTEMPTS, Cluster, kubernetes
from testenv.errors import StartFailed
from testenv.process import free_ports, running


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def until(claim: Callable[[], bool], timeout_s: float = 120) -> bool:
    deadline = time.monotonic() + timeout_s
    while not claim():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def exists(pid: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return state != "" and not state.startswith("Z")


def pretend(directory: Path, script: str) -> Binaries:
    """Binaries that all are the same shell script."""
    for name in ("etcd", "kube-apiserver", "kubectl"):
        path = directory / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return Binaries(directory)


def test_kubernetes_is_the_pinned_version(kubernetes: Cluster) -> None:
    assert kubernetes.get("/version")["gitVersion"] == "v" + versions()["kubernetes"]


def test_kubernetes_keeps_what_is_written(kubernetes: Cluster) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    body = b'{"metadata":{"name":"testenv-kept"},"data":{"a":"b"}}'
    json = {"Content-Type": "application/json"}
    assert kubernetes.request("POST", path, body, json).status == 201
    assert kubernetes.get(f"{path}/testenv-kept")["data"] == {"a": "b"}
    assert kubernetes.request("DELETE", f"{path}/testenv-kept").status == 200


def test_a_refusal_is_an_answer(kubernetes: Cluster) -> None:
    refusal = kubernetes.request("GET", "/api", headers={"Authorization": "Bearer wrong"})
    assert (refusal.status, refusal.json()["reason"]) == (401, "Unauthorized")


def test_kubectl_talks_to_kubernetes_as_administrator(kubernetes: Cluster, kubectl: Path) -> None:
    config = str(kubernetes.kubeconfig)
    assert run(kubectl, "auth", "can-i", "*", "*", KUBECONFIG=config) == "yes\n"
    names = run(kubectl, "get", "namespaces", "-o", "name", KUBECONFIG=config).split()
    assert "namespace/kube-system" in names


def test_a_failed_start_says_what_the_log_says_and_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with (
        pytest.raises(StartFailed, match=r"etcd ended instead of starting:\n.*: out of luck"),
        kubernetes(pretend(tmp_path, "echo out of luck; exit 3")),
    ):
        pass
    assert list(tmp_path.glob("atoll-testenv-*")) == []


def test_a_port_that_was_taken_meanwhile_is_not_the_end(tmp_path: Path) -> None:
    script = f"echo again >>{tmp_path}/attempts; echo bind: address already in use; exit 1"
    with pytest.raises(StartFailed), kubernetes(pretend(tmp_path, script)):
        pass
    assert (tmp_path / "attempts").read_text().split() == ["again"] * ATTEMPTS


def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    with (
        running("slow", ["sleep", "60"], tmp_path / "log") as server,
        pytest.raises(StartFailed, match=r"slow is not ready after 0\.1 s"),
    ):
        server.wait_until(lambda: False, 0.1)


def test_a_server_ends_with_its_block(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running("sleeper", ["sh", "-c", "echo $$; exec sleep 60"], log):
        assert until(lambda: log.read_text().endswith("\n"))
        pid = int(log.read_text())
        assert exists(pid)
    assert until(lambda: not exists(pid))


def test_a_server_ends_even_if_we_are_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = (
        "import pathlib, signal\nfrom testenv.process import running\n"
        "command = ['sh', '-c', 'echo $$; exec sleep 60']\n"
        f"with running('sleeper', command, pathlib.Path({str(log)!r})): signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as owner:
        assert until(lambda: log.exists() and log.read_text().endswith("\n"))
        pid = int(log.read_text())
        owner.send_signal(signal.SIGKILL)
    assert until(lambda: not exists(pid))


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20
