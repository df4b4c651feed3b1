"""A host and a member of the testenv: they work, can be cut off, and leave nothing behind."""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testenv.build import KWOK, find
from testenv.cluster import Cluster
from testenv.errors import Unavailable
from testenv.federation import Federation, federation
from testenv.nodes import start_machine, stop_machine
from testenv.relay import Relay, relaying

pytestmark = pytest.mark.testenv
ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0


def until(claim: Callable[[], Any]) -> Any:
    """What is claimed, once it is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := claim()):
        assert time.monotonic() < deadline, "patience is at its end"
        time.sleep(0.05)
    return answer


@pytest.fixture(scope="module")
def both() -> Iterator[Federation]:
    try:
        find(KWOK)
    except Unavailable as missing:
        pytest.skip(str(missing))
    with federation(members=1, nodes=2) as running:
        yield running


@pytest.fixture(scope="module")
def member(both: Federation) -> Cluster:
    return both.members["member1"]


@pytest.fixture
def relay(member: Cluster) -> Iterator[Relay]:
    with relaying(member) as between:
        yield between


def create(cluster: Cluster, path: str, body: dict[str, Any]) -> None:
    answer = cluster.request(
        "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    assert answer.status == 201, answer.body


def template(outcome: str | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"labels": {"app": "web"}}
    if outcome is not None:
        metadata["annotations"] = {"testenv/outcome": outcome}
    spec = {"containers": [{"name": "web", "image": "web"}]}
    return {"metadata": metadata, "spec": spec}


def deploy(cluster: Cluster, name: str, outcome: str | None = None) -> None:
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(outcome),
    }
    namespaced = "/apis/apps/v1/namespaces/default/deployments"
    create(cluster, namespaced, {"metadata": {"name": name}, "spec": spec})


def deployment(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get(f"/apis/apps/v1/namespaces/default/deployments/{name}")
    return found["status"]


def run_job(cluster: Cluster, name: str, outcome: str | None = None) -> dict[str, Any]:
    """The status of a job when it has ended."""
    pod = template(outcome)
    pod["spec"]["restartPolicy"] = "Never"
    namespaced = "/apis/batch/v1/namespaces/default/jobs"
    create(
        cluster,
        namespaced,
        {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": pod}},
    )

    def ended() -> dict[str, Any] | None:
        status: dict[str, Any] = cluster.get(f"{namespaced}/{name}")["status"]
        types = {each["type"] for each in status.get("conditions", ())}
        return status if types & {"Complete", "Failed"} else None

    found: dict[str, Any] = until(ended)
    return found


def kubectl(cluster: Cluster, *arguments: str) -> str:
    environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}
    done = subprocess.run(
        [cluster.kubectl, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_pods_of_a_member_are_ready(member: Cluster) -> None:
    deploy(member, "ready")
    until(lambda: deployment(member, "ready").get("availableReplicas") == 2)
    said = kubectl(member, "logs", "deployment/ready", "--tail=1")
    assert "a line of a container's log" in said.splitlines()


@pytest.mark.parametrize("outcome", ["waits", "breaks"])
def test_a_pod_may_ask_not_to_become_ready(member: Cluster, outcome: str) -> None:
    deploy(member, outcome, outcome)
    until(lambda: deployment(member, outcome).get("unavailableReplicas") == 2)
    phase = {"waits": "Pending", "breaks": "Running"}[outcome]

    def phases() -> list[str]:
        pods = member.get("/api/v1/namespaces/default/pods?labelSelector=app=web")["items"]
        return [p["status"]["phase"] for p in pods if p["metadata"]["name"].startswith(outcome)]

    until(lambda: phases() == [phase] * 2)
    assert "readyReplicas" not in deployment(member, outcome)


def test_jobs_of_a_member_end(member: Cluster) -> None:
    assert run_job(member, "well")["succeeded"] == 1
    assert run_job(member, "badly", "fails")["failed"] == 1


def test_a_node_whose_machine_stops_is_found_out(member: Cluster) -> None:
    def ready() -> str:
        conditions = member.get("/api/v1/nodes/node-2")["status"]["conditions"]
        found: str = next(each["status"] for each in conditions if each["type"] == "Ready")
        return found

    assert ready() == "True"
    stop_machine(member.request, "node-2")
    until(lambda: ready() == "Unknown")
    start_machine(member.request, "node-2")
    until(lambda: ready() == "True")


def test_a_host_has_accounts_and_tokens_and_runs_nothing(both: Federation) -> None:
    create(both.host, "/api/v1/namespaces", {"metadata": {"name": "accounts"}})
    until(lambda: both.host.answers("/api/v1/namespaces/accounts/serviceaccounts/default"))
    token = kubectl(both.host, "create", "token", "default", "--namespace=accounts")
    bearer = {"Authorization": f"Bearer {token.strip()}"}
    assert both.host.request("GET", "/api/v1/nodes", headers=bearer).status == 403
    assert both.host.request("DELETE", "/api/v1/namespaces/accounts").status == 200
    until(lambda: not both.host.answers("/api/v1/namespaces/accounts"))
    deploy(both.host, "stays")
    assert deployment(both.host, "stays") == {}


def ask(cluster: Cluster, kubeconfig: Path, timeout_s: float = 60) -> int:
    """Asks by the address in this kubeconfig."""
    server = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    request = urllib.request.Request(
        f"{server}/api/v1/nodes", headers={"Authorization": f"Bearer {cluster.token}"}
    )
    trust = ssl.create_default_context(cafile=cluster.authority)
    with urllib.request.urlopen(request, timeout=timeout_s, context=trust) as answer:
        status: int = answer.status
        return status


def test_a_relay_can_be_cut_frozen_and_restored(member: Cluster, relay: Relay) -> None:
    assert ask(member, relay.kubeconfig) == 200
    relay.cut()
    with pytest.raises(OSError, match=r"reset|EOF|closed"):
        ask(member, relay.kubeconfig)
    relay.freeze()
    with pytest.raises(OSError, match="timed out"):
        ask(member, relay.kubeconfig, timeout_s=0.2)
    relay.delay(0.05)
    assert ask(member, relay.kubeconfig) == 200
    relay.restore()
    assert ask(member, relay.kubeconfig) == 200


def test_an_api_server_starts_again_on_the_same_data(member: Cluster) -> None:
    server = member.parts["kube-apiserver"]
    create(member, "/api/v1/namespaces", {"metadata": {"name": "kept"}})
    server.stop()
    assert not member.ready()
    server.start()
    assert member.answers("/api/v1/namespaces/kept")
    # Its controllers, which lost it, find it again.
    until(lambda: member.answers("/api/v1/namespaces/kept/serviceaccounts/default"))
    deploy(member, "afterwards")
    until(lambda: deployment(member, "afterwards").get("availableReplicas") == 2)


def test_a_frozen_server_answers_when_it_is_resumed(member: Cluster) -> None:
    server = member.parts["kube-apiserver"]
    server.freeze()
    stat = Path(f"/proc/{server.pid}/stat")
    until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T")
    server.resume()
    until(member.ready)
    assert member.answers("/api/v1/namespaces/default")


def of(directory: Path) -> list[str]:
    """The commands of all processes that were started with something in this directory."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "args="], capture_output=True, text=True, check=True
    ).stdout
    return [line for line in listed.splitlines() if str(directory) in line]


def says_until(process: subprocess.Popen[str], word: str) -> list[str]:
    assert process.stdout is not None
    said = [""]
    while word not in said[-1]:
        said.append(process.stdout.readline())
        assert said[-1], "it ended early"
    return said


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_however_the_parent_ends(tmp_path: Path, end: signal.Signals) -> None:
    members = "1" if end == signal.SIGKILL else "0"
    command = [sys.executable, "-m", "testenv", "up", "--members", members, "--nodes", "1"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as parent:
        try:
            said = says_until(parent, "Ctrl-C")
            assert of(tmp_path)
            parent.send_signal(end)
            parent.wait(PATIENCE_S)
        finally:
            parent.kill()
    assert sum("kubeconfig: " in line for line in said) == int(members)
    assert sum(line.startswith("export KUBECONFIG=") for line in said) == 1
    until(lambda: not of(tmp_path))
    until(lambda: list(tmp_path.iterdir()) == [])
