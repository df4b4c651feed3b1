"""What the other commands say, and what it costs to say it."""

import json
import os
import pty
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import Shell

from atoll import __version__
from atoll.cli.options import flag, times_options
from atoll.config import Config, Times, read_config

SPANS = st.floats(min_value=0.001, max_value=100_000)


def test_status_tells_the_numbers(running_shell: Shell) -> None:
    text = running_shell.atoll("status")
    assert text.code == 0
    assert [line.split()[0] for line in text.out.splitlines()] == [
        *("atoll", "url", "data", "objects", "memory", "controllers")
    ]
    answer = running_shell.atoll("status", "-o", "json").json
    assert answer["running"] is True
    assert answer["version"] == __version__
    assert answer["pid"] == running_shell.note()["pid"]
    assert answer["objects"] >= 4
    assert answer["revision"] >= 5
    assert 20_000_000 < answer["memoryBytes"] < 500_000_000


def test_status_of_a_stopped_instance_is_an_answer_too(shell: Shell) -> None:
    result = shell.atoll("status", "-o", "json")
    assert (result.code, result.json) == (1, {"running": False, "dataDir": str(shell.data)})
    text = shell.atoll("status")
    assert text.err == "Start it: atoll up\n"
    assert not shell.data.exists()  # looking leaves no trace


def test_the_administrators_paths_are_for_administrators(running_shell: Shell) -> None:
    pki, url = running_shell.data / "pki", running_shell.note()["url"]

    def curl(*words: str) -> tuple[int, str]:
        command = ["curl", "-s", "--cacert", str(pki / "ca.crt"), "-w", "\n%{http_code}"]
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
        body, _, code = done.stdout.rpartition("\n")
        return int(code), body

    code, body = curl(f"{url}/atoll/status")
    assert (code, json.loads(body)["message"]) == (
        403,
        'forbidden: User "system:anonymous" cannot get path "/atoll/status"',
    )
    token = (pki / "admin.token").read_text().strip()
    assert curl("-H", f"Authorization: Bearer {token}", f"{url}/atoll/status")[0] == 200
    assert curl("-H", f"Authorization: Bearer {token}", f"{url}/api/v1/namespaces")[0] == 200
    assert curl("-H", "Authorization: Bearer wrong", f"{url}/atoll/status")[0] == 401
    assert (
        curl("-X", "POST", "-H", f"Authorization: Bearer {token}", f"{url}/atoll/backup")[0] == 405
    )
    assert curl("-H", f"Authorization: Bearer {token}", f"{url}/atoll/nothing")[0] == 404
    assert curl(f"{url}/readyz") == (200, "ok")


def test_a_backup_of_a_running_server_comes_back_whole(shell: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shell.up()
    shell.create("before")
    backup = shell.atoll("backup", str(copy))
    assert backup.code == 0
    assert backup.out.startswith(f"Backed up {shell.data} to {copy} (")
    assert copy.stat().st_mode & 0o077 == 0
    shell.create("after")
    revision = shell.atoll("status", "-o", "json").json["revision"]

    again = shell.atoll("backup", str(copy))
    assert again.code == 1
    assert again.err.startswith(f"error: {copy} exists; a backup overwrites nothing")

    running = shell.atoll("restore", str(copy), "--force")
    assert (running.code, running.err) == (1, "error: the server is running; try: atoll down\n")
    assert shell.atoll("down").code == 0

    occupied = shell.atoll("restore", str(copy))
    assert occupied.code == 1
    assert f"try: atoll restore {copy} --force" in occupied.err

    restored = shell.atoll("restore", str(copy), "--force")
    assert restored.code == 0
    kept = restored.err.strip().removeprefix("What was there is kept as ")
    assert Path(kept).exists()
    shell.up()
    assert shell.names() == ["before"]
    # Whoever knows a revision from before must not be told other things under the same number.
    assert shell.atoll("status", "-o", "json").json["revision"] > revision


def test_a_backup_of_a_stopped_server_fits_another_directory(shell: Shell, tmp_path: Path) -> None:
    copy, elsewhere = tmp_path / "copy", tmp_path / "elsewhere"
    shell.up()
    shell.create("moved")
    count = shell.atoll("status", "-o", "json").json["objects"]
    assert shell.atoll("down").code == 0
    assert shell.atoll("backup", str(copy)).code == 0
    assert shell.atoll("restore", str(copy), "--data-dir", str(elsewhere)).code == 0
    up = shell.up("--data-dir", str(elsewhere))
    assert f"stop: atoll down --data-dir {elsewhere}" in up.out
    listed = shell.atoll("status", "-o", "json", "--data-dir", str(elsewhere)).json
    assert listed["objects"] == count
    assert shell.atoll("down", "--data-dir", str(elsewhere)).code == 0


def test_what_is_no_backup_changes_nothing(shell: Shell, tmp_path: Path) -> None:
    junk = tmp_path / "junk"
    junk.write_bytes(b"junk" * 1000)
    shell.up()
    shell.create("kept")
    assert shell.atoll("down").code == 0
    result = shell.atoll("restore", str(junk), "--force")
    assert result.code == 1
    assert "error: " in result.err
    shell.up()
    assert shell.names() == ["kept"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["backup", "copy"], "there is nothing to back up in ", id="backup"),
        pytest.param(["restore", "nowhere"], "there is no backup at nowhere", id="restore"),
        pytest.param(["kubeconfig", "path"], "there is no ", id="kubeconfig"),
    ],
)
def test_commands_on_nothing_say_so(words: list[str], error: str, shell: Shell) -> None:
    result = shell.atoll(*words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"error: {error}")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["flub"], "error: No such command 'flub'; try: atoll --help\n", id="command"),
        pytest.param(["up", "--flub"], "try: atoll up --help\n", id="option"),
        pytest.param(["up", "--port", "x"], "try: atoll up --help\n", id="not-a-number"),
        pytest.param(["backup"], "error: Missing argument 'FILE'; try: ", id="missing-argument"),
        pytest.param(["status", "-o", "xml"], "try: atoll status --help\n", id="choice"),
        pytest.param(["status", "-o"], "try: atoll status --help\n", id="option-without-value"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_line(
    words: list[str], error: str, shell: Shell
) -> None:
    result = shell.atoll(*words)
    assert (result.code, result.out) == (2, "")
    assert error in result.err
    assert len(result.err.splitlines()) == 1


def test_help_and_version_need_nothing(shell: Shell) -> None:
    for words in (["--help"], ["up", "-h"], ["kubeconfig", "--help"], ["--version"], []):
        result = shell.atoll(*words)
        assert "atoll" in result.out + result.err
        assert result.code == (0 if words else 2)
        assert "error" not in result.err
    assert shell.atoll("version").out.startswith(f"atoll {__version__} (Python 3.")
    assert shell.atoll("version", "-o", "json").json["version"] == __version__


def test_whoever_interrupts_while_code_is_loaded_sees_no_traceback(shell: Shell) -> None:
    script = (
        "import builtins, sys\n"
        "import atoll.__main__ as command\n"
        "load = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'atoll.cli.app': raise KeyboardInterrupt\n"
        "    return load(name, *rest)\n"
        "builtins.__import__ = interrupted\n"
        "command.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=shell.env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        pytest.param(">/dev/full", 1, "error: cannot write the answer: ", id="full"),
        pytest.param(">&-", 0, "", id="closed"),
        pytest.param("2>&-", 0, "", id="no-errors-wanted"),
    ],
)
def test_an_answer_that_nobody_can_take_is_no_bug(
    redirected: str, code: int, said: str, shell: Shell
) -> None:
    script = f'"{sys.executable}" -m atoll fleet list {redirected}'
    done = subprocess.run(
        ["sh", "-c", script], env=shell.env(), capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize(
    ("environment", "words", "coloured"),
    [
        pytest.param({"TERM": "xterm"}, [], True, id="terminal"),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, [], False, id="no-color"),
        pytest.param({"TERM": "dumb"}, [], False, id="dumb"),
        pytest.param({"TERM": "xterm"}, ["--color=never"], False, id="never"),
        pytest.param({"TERM": "dumb"}, ["--color=always"], True, id="always"),
    ],
)
def test_colour_is_for_terminals_that_want_it(
    environment: dict[str, str], words: list[str], shell: Shell, *, coloured: bool
) -> None:
    leader, follower = pty.openpty()
    shell.environment = environment
    command = [sys.executable, "-m", "atoll", *words, "kubeconfig", "path"]
    subprocess.run(command, env=shell.env(), stderr=follower, timeout=120, check=False)
    os.close(follower)
    said = os.read(leader, 10_000).decode()
    os.close(leader)
    assert said.replace("\x1b[31m", "").replace("\x1b[0m", "").startswith("error: there is no")
    assert ("\x1b[" in said) == coloured


def test_plain_characters_stand_in_where_there_are_no_others(shell: Shell) -> None:
    shell.environment = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    result = shell.atoll("status")
    assert result.out == f"atoll is not running - data in {shell.data}\n"


HEAVY = ("aiohttp", "apsw", "cryptography", "uvloop", "httptools", "yaml", "orjson", "asyncio")


@pytest.mark.parametrize("words", [["version"], ["status"], ["kubeconfig", "path"], ["--help"]])
def test_short_commands_import_nothing_heavy(words: list[str], shell: Shell) -> None:
    program = (
        "import sys\n"
        "from atoll.cli.app import run\n"
        f"run({words!r})\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=shell.env(), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "heavy: []"


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        pytest.param(
            "atoll.cli.serving, atoll.cli.logs",
            ("click", "cryptography", "asyncio"),
            id="the program of a server",
        ),
        pytest.param(
            "atoll.main",
            ("numpy", "aiohttp", "lupa", "click", "cryptography"),
            id="a server that answers",
        ),
        pytest.param("atoll.control.running", ("aiohttp", "lupa"), id="its controllers"),
    ],
)
def test_a_server_loads_no_more_than_it_needs(module: str, heavy: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print([n for n in {heavy!r} if n in sys.modules])"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("flag", "environment", "expected"),
    [
        pytest.param("/flag", {"ATOLL_DATA_DIR": "/env", "HOME": "/h"}, "/flag", id="flag"),
        pytest.param(None, {"ATOLL_DATA_DIR": "/env", "HOME": "/h"}, "/env", id="environment"),
        pytest.param(
            None, {"XDG_STATE_HOME": "/xdg", "HOME": "/h"}, "/xdg/atoll/default", id="xdg"
        ),
        pytest.param(
            None,
            {"XDG_STATE_HOME": "rel", "HOME": "/h"},
            "/h/.local/state/atoll/default",
            id="home",
        ),
    ],
)
def test_where_the_data_is(flag: str | None, environment: dict[str, str], expected: str) -> None:
    assert read_config(environment, data_dir=flag).data_dir == Path(expected)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        pytest.param("127.0.0.1", "127.0.0.1", id="loopback"),
        pytest.param("0.0.0.0", "127.0.0.1", id="everywhere"),
        pytest.param("::", "[::1]", id="everywhere-v6"),
        pytest.param("fd00::1", "[fd00::1]", id="v6"),
    ],
)
def test_where_a_client_here_finds_the_server(host: str, address: str) -> None:
    assert Config(Path("/x"), host=host).address == address


def test_a_port_beyond_all_ports_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no port 70000"):
        read_config({"HOME": "/h"}, port=70_000)


def test_a_gate_nobody_knows_is_refused_with_those_there_are(shell: Shell) -> None:
    result = shell.atoll("up", "--feature-gates", "WorkloadAffinity=true,Failsafe=true")
    assert result.code == 1
    assert "feature-gates: 'Failsafe': is not a gate; known: CustomizedClusterRes" in result.err
    assert not shell.data.exists()


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        pytest.param(
            "--cluster-status-update-frequency", "10", '"10" is no span of time', id="no-unit"
        ),
        pytest.param(
            "--cluster-failure-threshold", "-3s", '"-3s" is no span of time', id="negative"
        ),
        pytest.param("--cluster-monitor-period", "0s", '"0s" must be longer', id="nothing"),
        pytest.param("--resource-eviction-rate", "-1", "is not in the range x>=0", id="rate"),
    ],
)
def test_times_that_cannot_be_are_refused(flag: str, value: str, said: str, shell: Shell) -> None:
    result = shell.atoll("up", flag, value)
    assert result.code == 2
    assert f"error: Invalid value for '{flag}': " in result.err
    assert said in result.err
    assert not shell.data.exists()


@given(times=st.builds(Times, **{each.name: SPANS for each in fields(Times)}))
def test_times_are_read_as_they_were_meant(times: Times) -> None:
    found: list[Times] = []
    receive = click.command()(times_options(lambda times: found.append(times)))
    units = {each.name: "" if each.name.endswith("rate") else "s" for each in fields(Times)}
    words = [(flag(name), f"{getattr(times, name)}{unit}") for name, unit in units.items()]
    receive.main([word for pair in words for word in pair], standalone_mode=False)
    assert found == [times]


def test_gates_of_a_running_server_stay_as_they_are(running_shell: Shell) -> None:
    result = running_shell.atoll("up", "--feature-gates", "WorkloadAffinity=true")
    assert result.code == 1
    kept = "feature gates, plug-ins, times, estimators, log, traces, recording, audit, limits"
    assert f"so its {kept} and gates cannot be changed" in result.err
