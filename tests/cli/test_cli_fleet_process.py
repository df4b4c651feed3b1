"""Simulated members live in a process of their own: it ends with the plane, and comes back."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Shell, until

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
# Two clusters of one node each: what this is about does not depend on more.
SMALL = "clusters: [{name: a, pools: [{cpu: 4}]}, {name: b, pools: [{cpu: 4}]}]\n"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user with a fleet of their own."""
    user = Shell(tmp_path_factory.mktemp("home"))
    file = user.home / "small.yaml"
    file.write_text(SMALL)
    user.up("--fleet", str(file))
    yield user
    user.clean_up()


@pytest.fixture
def small(owner: Shell) -> Shell:
    """The same user, whose fleet runs, whatever the test before has done to it."""
    owner.up()
    return owner


def fleet(shell: Shell) -> dict[str, Any]:
    told: dict[str, Any] = shell.atoll("status", "-o", "json").json["fleet"]
    return told


def runs(pid: int) -> bool:
    """Whether there is such a process, and not just its remains."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def answers(shell: Shell, cluster: str) -> bool:
    try:
        shell.request("GET", CONFIGMAPS, cluster=cluster)
    except OSError:
        return False
    return True


def is_ready(shell: Shell, cluster: str) -> bool:
    conditions = shell.request("GET", f"{CLUSTERS}/{cluster}").get("status", {}).get("conditions")
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions or ())


def put(shell: Shell, name: str, cluster: str) -> None:
    wire = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    shell.request("POST", CONFIGMAPS, wire, cluster=cluster)


def has(shell: Shell, name: str, cluster: str) -> bool:
    items = shell.request("GET", CONFIGMAPS, cluster=cluster)["items"]
    return name in [each["metadata"]["name"] for each in items]


def test_both_processes_are_shown_and_end_together(small: Shell) -> None:
    status, pid = small.atoll("status").out, fleet(small)["pid"]
    assert f"(process {small.note()['pid']})" in status
    assert f"small.yaml, {status.split('small.yaml, ')[1].split(' (')[0]} (process {pid})" in status
    assert small.note()["pid"] != pid
    assert small.atoll("down").code == 0
    assert not runs(pid)
    assert not (small.data / "fleet.json").exists()


def test_killed_members_come_back_where_they_were_with_what_they_had(small: Shell) -> None:
    put(small, "kept", "a")
    url, pid = small.url("a"), fleet(small)["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: fleet(small)["pid"] not in (pid, None), "they are started again")
    until(lambda: answers(small, "a"), "they answer again")
    assert small.url("a") == url
    assert has(small, "kept", "a")
    assert "started 2 times)" in small.atoll("status").out
    until(lambda: is_ready(small, "a"), "the plane knows")


def test_members_of_a_killed_plane_end_by_themselves_and_go_on_with_the_next(small: Shell) -> None:
    put(small, "kept", "b")
    pid = fleet(small)["pid"]
    small.kill()
    small.up()  # at once: it waits for the end of the others
    assert not runs(pid)
    assert has(small, "kept", "b")
    later = fleet(small)["pid"]
    small.kill()
    until(lambda: not runs(later), "nobody is left")
    assert "not running" in small.atoll("down").err


def test_frozen_members_do_not_outlive_a_forced_end(small: Shell) -> None:
    pid = fleet(small)["pid"]
    os.kill(pid, signal.SIGSTOP)
    small.kill()
    down = small.atoll("down", "--timeout", "0.3")
    assert down.code == 124
    assert "error: the simulated members have not stopped within 0.3 s" in down.err
    assert small.atoll("down", "--force", "--timeout", "0.3").code == 0
    until(lambda: not runs(pid), "it is gone")


def test_a_member_whose_port_is_taken_moves_and_the_plane_follows(small: Shell) -> None:
    url = small.url("a")
    changes = {"metadata": {"labels": {"mine": "yes"}}, "spec": {"region": "moon"}}
    small.patch(f"{CLUSTERS}/a", changes)
    assert small.atoll("down").code == 0
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", int(url.rpartition(":")[2])))
        other.listen()
        small.up()
        assert small.url("a") != url
        until(
            lambda: small.request("GET", f"{CLUSTERS}/a")["spec"]["apiEndpoint"] == small.url("a"),
            "the plane knows where it is",
        )
        until(lambda: is_ready(small, "a"), "it is ready")
    after = small.request("GET", f"{CLUSTERS}/a")
    assert after["metadata"]["labels"]["mine"] == "yes"
    assert after["spec"]["region"] == "moon"


def test_a_member_that_cannot_be_read_is_named_and_can_begin_anew(small: Shell) -> None:
    assert small.atoll("down").code == 0
    store = small.data / "members" / "b" / "store.db"
    store.write_bytes(b"not a database at all " * 1000)
    result = small.atoll("up")
    assert result.code == 1
    said = result.err.splitlines()[-1]
    assert said.startswith(f"error: member b cannot start; {store} is damaged")
    assert said.endswith(f"try: move {store.parent} away, and it begins anew")
    assert "not running" in small.atoll("status").out
    store.parent.rename(small.home / "away")
    small.up()
    until(lambda: is_ready(small, "b"), "it has joined anew")
    assert is_ready(small, "a")


def test_a_wrong_file_is_told_before_anything_is_made(shell: Shell) -> None:
    file = shell.home / "wrong.yaml"
    file.write_text("clusters: [{name: a, pools: [{cpu: 4 cores}]}]")
    result = shell.atoll("up", "--fleet", str(file))
    assert result.code == 1
    assert result.err == (
        f'error: {file}: clusters[0].pools[0].cpu: "4 cores" is no quantity; '
        "write for example 500m, 2 or 1.5Gi\n"
    )
    assert not shell.data.exists()
