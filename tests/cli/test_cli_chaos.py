"""`atoll chaos`: what the plane makes of a cluster that is lost, and who may not be harmed."""

from collections.abc import Iterator
from typing import Any

import pytest
from running import Shell, until

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
FAST = (
    *("--cluster-status-update-frequency", "300ms"),
    *("--cluster-failure-threshold", "1s", "--cluster-success-threshold", "1s"),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user with two small clusters, and a plane that soon believes what it sees of them."""
    user = Shell(tmp_path_factory.mktemp("home"))
    file = user.home / "pair.yaml"
    file.write_text("clusters: [{name: a, pools: [{cpu: 4}]}, {name: b, pools: [{cpu: 4}]}]")
    user.up("--fleet", str(file), *FAST)
    yield user
    user.clean_up()


def readiness(shell: Shell, cluster: str) -> str:
    status: dict[str, Any] = shell.request("GET", f"{CLUSTERS}/{cluster}").get("status") or {}
    found = [one["status"] for one in status.get("conditions") or () if one["type"] == "Ready"]
    return str(found[0]) if found else ""


def test_a_killed_cluster_is_not_ready_and_a_healed_one_is(pair: Shell) -> None:
    until(lambda: readiness(pair, "a") == "True", "it is ready at first")
    killed = pair.atoll("chaos", "kill", "a")
    assert (killed.code, killed.out) == (0, "cluster/a refuses connections (simulated)\n")
    assert killed.err == "Heal it: atoll chaos heal a\n"
    until(lambda: readiness(pair, "a") == "False", "the plane notices")
    assert readiness(pair, "b") == "True"
    assert pair.atoll("chaos", "heal", "a").out == "cluster/a is well (simulated)\n"
    until(lambda: readiness(pair, "a") == "True", "it is ready again")


def test_every_fault_is_told_and_listed(pair: Shell) -> None:
    said = {
        ("slow", "b", "1.5s"): "cluster/b answers 1.5 s late (simulated)\n",
        ("slow", "b", "0"): "cluster/b is well (simulated)\n",
        ("fill", "b", "50"): "cluster/b is filled to 50 % (simulated)\n",
        ("lose-node", "b", "node-1"): "cluster/b has lost node-1 (simulated)\n",
        ("slow", "b", "2"): (
            "cluster/b answers 2 s late; is filled; has lost node-1 (simulated)\n"
        ),
        ("heal", "b"): "cluster/b has lost node-1 (simulated)\n",
        ("find-node", "b", "node-1"): "cluster/b has found node-1 (simulated)\n",
        ("kill", "b", "--hang"): "cluster/b does not answer (simulated)\n",
        ("flap", "b", "--every", "1h"): "cluster/b flaps every 3600 s (simulated)\n",
    }
    for words, told in said.items():
        assert pair.atoll("chaos", *words).out == told
    listed = pair.atoll("chaos", "list", "-o", "json").json
    assert [(each["name"], each["flapSeconds"]) for each in listed] == [("a", 0), ("b", 3600)]
    assert "flaps every 3600 s" in pair.atoll("chaos", "list").out
    assert pair.atoll("chaos", "heal", "b").code == 0
    dropped = pair.atoll("chaos", "drop-watch", "b")
    assert dropped.out.startswith("cluster/b broke ")


def test_only_what_is_simulated_can_be_harmed(pair: Shell) -> None:
    real = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "prod"},
        "spec": {"syncMode": "Push", "apiEndpoint": "https://127.0.0.1:9"},
    }
    pair.request("POST", CLUSTERS, real)
    wanted = {
        "prod": 'error: "prod" is a real cluster, which is left alone; simulated are a, b\n',
        "nobody": 'error: there is no cluster "nobody"; simulated are a, b\n',
    }
    for name, told in wanted.items():
        result = pair.atoll("chaos", "kill", name)
        assert (result.code, result.err) == (1, told)
    missing = pair.atoll("chaos", "lose-node", "a", "node-7")
    assert missing.err == 'error: there is no node "node-7"; try: one of node-1\n'


def test_where_nothing_is_simulated_nothing_can_be_harmed(shell: Shell) -> None:
    stopped = shell.atoll("chaos", "kill", "a")
    assert stopped.err == "error: no server is running; try: atoll up --fleet hybrid\n"
    shell.up()
    result = shell.atoll("chaos", "list")
    assert result.code == 1
    assert "nothing can be harmed here; this instance has no simulated clusters" in result.err
