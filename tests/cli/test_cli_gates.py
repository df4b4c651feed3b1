"""The processes that let clients in: whoever is killed with -9, nothing is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import Shell, until


def gates(core: int) -> list[int]:
    """The processes that a server has started and that let clients in."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
            words = (entry / "cmdline").read_text()
        except (OSError, IndexError, ValueError):
            continue
        if parent == core and "gate.process" in words:
            found.append(int(entry.name))
    return found


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_gate_that_is_killed_takes_only_its_connections_with_it(shell: Shell) -> None:
    shell.up("--gates", "1")
    core = shell.note()["pid"]
    (gate,) = gates(core)
    shell.create("before")
    os.kill(gate, signal.SIGKILL)
    shell.create("after")  # it may have to wait until there is a gate again
    assert shell.names() == ["after", "before"]
    until(lambda: gates(core) not in ([], [gate]), "another gate")
    assert "ended with -9" in (shell.data / "atoll.log").read_text()

    def status() -> tuple[int, int]:
        told = shell.atoll("status", "-o", "json").json
        return told["pid"], told["connections"]

    until(lambda: status() == (core, 1), "no connection but the one that asks")
    (other,) = gates(core)
    assert shell.atoll("down").code == 0
    assert not is_there(other)


def test_a_core_that_is_killed_takes_its_gates_with_it_and_the_next_has_the_port(
    shell: Shell,
) -> None:
    shell.up("--gates", "2")
    first = shell.note()
    until(lambda: len(gates(first["pid"])) == 2, "both gates")
    left = gates(first["pid"])
    shell.create("kept")
    shell.kill()
    until(lambda: not any(map(is_there, left)), "the end of its gates")
    shell.up("--gates", "1")
    assert shell.note()["url"] == first["url"]
    assert shell.names() == ["kept"]


@pytest.mark.parametrize("processors", [1, 2])
def test_there_is_a_gate_where_there_is_a_processor_for_it(processors: int, shell: Shell) -> None:
    mine = os.sched_getaffinity(0)
    if len(mine) < processors:
        pytest.skip(f"this machine has no {processors} processors")
    os.sched_setaffinity(0, sorted(mine)[:processors])
    try:
        shell.up()
    finally:
        os.sched_setaffinity(0, mine)
    assert len(gates(shell.note()["pid"])) == processors - 1


def test_without_gates_the_server_is_one_process(shell: Shell) -> None:
    shell.up("--gates", "0")
    assert gates(shell.note()["pid"]) == []
    shell.create("one")
    assert shell.names() == ["one"]
    answer = shell.atoll("up", "--gates", "1")
    assert answer.code == 1
    assert "limits and gates cannot be changed" in answer.err


@pytest.mark.parametrize("number", ["-1", "17", "x"])
def test_a_number_of_gates_that_cannot_be_is_refused(number: str, shell: Shell) -> None:
    answer = shell.atoll("up", "--gates", number)
    assert answer.code == 2
    assert "--gates" in answer.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_for_all_of_a_terminal_s_processes_stops_them_in_good_order(
    number: signal.Signals, shell: Shell
) -> None:
    """As Ctrl-C does in the foreground: gates leave it to the core, which ends them."""
    command = ["-m", "atoll", "up", "--foreground", "--gates", "1", "--port", "0"]
    log = shell.home / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, *command],
            env=shell.env(),
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        until(lambda: "Ready in" in log.read_text(), "ready")
        (gate,) = gates(shell.note()["pid"])
        shell.create("one")
        os.killpg(server.pid, number)
        assert server.wait(120) == 0
    finally:
        server.kill()
        server.wait()
    assert not is_there(gate)
    assert "Stopped in good order" in log.read_text()
