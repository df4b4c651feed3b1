"""The life of an instance: up, down, killed, up again; and everything that can be in the way."""

import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

from running import Shell, until


def test_up_says_all_one_needs_and_down_ends_it(shell: Shell) -> None:
    up = shell.up()
    assert "a new store" in up.err
    assert f"data in {shell.data} · stop: atoll down" in up.out
    assert "Next: export KUBECONFIG=$(atoll kubeconfig path)" in up.out
    assert up.out.startswith("Ready in ")
    assert "https://127.0.0.1:" in up.err

    again = shell.up()
    assert again.out.startswith("atoll is already running at https://127.0.0.1:")

    shell.create("kept")
    down = shell.atoll("down")
    assert (down.code, down.err.startswith("Stopped in ")) == (0, True)
    assert down.out == f"atoll is stopped · data kept in {shell.data}\n"
    assert not (shell.data / "server.json").exists()

    gone = shell.atoll("down")
    assert gone.code == 0
    assert "atoll is not running" in gone.err

    url_before = json.loads((shell.data / "port").read_text())
    up = shell.up()
    assert " objects at revision" in up.err
    assert "closed in good order" in up.err
    assert shell.names() == ["kept"]
    assert json.loads((shell.data / "port").read_text()) == url_before


def test_a_killed_server_comes_back_with_everything_it_acknowledged(shell: Shell) -> None:
    shell.up()
    for number in range(5):
        shell.create(f"object-{number}")
    shell.kill()
    status = shell.atoll("status")
    assert (status.code, status.out.startswith("atoll is not running")) == (1, True)
    up = shell.up()
    assert "not closed in good order" in up.err
    assert shell.names() == [f"object-{number}" for number in range(5)]


def test_everything_kept_can_be_read_by_its_owner_only(shell: Shell) -> None:
    shell.up()
    shell.create("secret")
    open_to_others = [
        path.name
        for path in [shell.data, *shell.data.rglob("*")]
        if stat.S_IMODE(path.stat().st_mode) & 0o077 and path.name != "server.json"
    ]
    assert open_to_others == []


def test_a_foreign_process_in_the_note_is_neither_believed_nor_harmed(shell: Shell) -> None:
    shell.data.mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        note = {"pid": bystander.pid, "url": "https://127.0.0.1:1", "started": "", "version": ""}
        (shell.data / "server.json").write_text(json.dumps(note))
        (shell.data / "server.lock").touch()
        assert shell.atoll("status").code == 1
        assert "not running" in shell.atoll("down").err
        shell.up()
        assert shell.note()["pid"] != bystander.pid
        assert bystander.poll() is None
        bystander.kill()


def test_a_port_that_is_taken_is_replaced_and_the_user_told(shell: Shell) -> None:
    shell.up()
    port = int((shell.data / "port").read_text())
    assert shell.atoll("down").code == 0
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        up = shell.up()
        assert f"port {port} is taken by another program; using another one" in up.err
        other_port = int((shell.data / "port").read_text())
        assert other_port != port
        assert f":{other_port}" in (shell.data / "kubeconfig").read_text()
        assert shell.names() == []

        refused = Shell(shell.home / "second")
        refused.home.mkdir()
        result = refused.atoll("up", "--port", str(port))
        assert result.code == 1
        assert result.err.splitlines()[-1] == (
            f"error: cannot listen on 127.0.0.1:{port}; address already in use; "
            "try: another --port, or none, for any that is free"
        )


def test_another_port_than_the_running_one_is_refused(running_shell: Shell) -> None:
    result = running_shell.atoll("up", "--port", "1")
    assert result.code == 1
    assert "error: atoll is already running at https://127.0.0.1:" in result.err
    assert "try: atoll down" in result.err


def test_a_damaged_store_is_named_and_left_alone(shell: Shell) -> None:
    shell.up()
    shell.create("a")
    assert shell.atoll("down").code == 0
    store = shell.data / "store.db"
    damaged = b"not a database at all " * 1000
    store.write_bytes(damaged)
    result = shell.atoll("up")
    assert result.code == 1
    assert f"error: {store} is damaged" in result.err
    assert "nothing was changed; try: atoll restore BACKUP --force" in result.err
    assert store.read_bytes() == damaged
    assert shell.atoll("status").code == 1


def test_a_directory_that_cannot_be_written_is_named(shell: Shell) -> None:
    result = shell.atoll("up", "--data-dir", "/proc/atoll")
    assert result.code == 1
    assert result.err.splitlines()[-1].startswith("error: cannot use /proc/atoll; ")
    assert "try: atoll up --data-dir DIR" in result.err


def test_a_disk_without_room_is_told_and_works_again_when_there_is(shell: Shell) -> None:
    words = f"ulimit -f 20; exec {sys.executable} -m atoll up"  # no file may grow beyond 20 kB
    full = subprocess.run(
        ["bash", "-c", words], env=shell.env(), capture_output=True, text=True, check=False
    )
    assert full.returncode == 1
    said = full.stderr.splitlines()[-1]
    assert said.startswith("error: the disk refused the write: ")
    assert said.endswith(f"try: make room for {shell.data}, and once more")
    assert shell.atoll("status").code == 1
    shell.up()
    shell.create("a")
    assert shell.names() == ["a"]


def test_who_kills_the_command_does_not_kill_the_server(shell: Shell) -> None:
    words = [sys.executable, "-m", "atoll", "up"]
    with subprocess.Popen(words, env=shell.env(), stderr=subprocess.DEVNULL) as process:
        until(lambda: (shell.data / "server.json").exists(), "the server begins")
        process.kill()
    until(lambda: shell.atoll("status").code == 0, "the server runs")
    shell.create("a")
    assert shell.names() == ["a"]


def test_a_file_in_the_place_of_the_directory_is_named(shell: Shell) -> None:
    place = shell.home / "file"
    place.write_text("precious")
    result = shell.atoll("up", "--data-dir", str(place))
    assert result.code == 1
    assert result.err.splitlines()[-1].startswith(f"error: cannot use {place}; ")
    assert place.read_text() == "precious"


def test_a_server_that_dies_at_once_leaves_its_last_words(shell: Shell) -> None:
    shell.environment = {"PYTHONPATH": str(shell.home / "broken")}
    broken = shell.home / "broken"
    broken.mkdir()
    (broken / "httptools.py").write_text("raise SystemExit('no httptools here')\n")
    result = shell.atoll("up")
    assert result.code == 1
    assert "  no httptools here" in result.err
    assert "error: the server ended with exit code 1 before it was ready" in result.err


def test_two_at_once_make_one_server(shell: Shell) -> None:
    words = [sys.executable, "-m", "atoll", "up"]
    pair = [
        subprocess.Popen(words, env=shell.env(), stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    errors = [process.communicate(timeout=120)[1] for process in pair]
    codes = [process.returncode for process in pair]
    assert 0 in codes
    assert all(
        code == 0 or "is in use by" in error for code, error in zip(codes, errors, strict=True)
    )
    assert shell.atoll("status").code == 0


def test_the_foreground_server_stops_on_a_signal_in_good_order(shell: Shell) -> None:
    words = [sys.executable, "-m", "atoll", "up", "--foreground"]
    with subprocess.Popen(
        words, env=shell.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert "stop: Ctrl-C" in process.stdout.readline()
        shell.create("a")
        assert shell.atoll("down").code == 0
        _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Stopped in good order" in err
    assert "Traceback" not in err


def test_a_frozen_server_is_reported_and_can_be_killed(shell: Shell) -> None:
    shell.up()
    shell.create("kept")
    pid = int(shell.note()["pid"])
    os.kill(pid, 19)
    result = shell.atoll("down", "--timeout", "0.3")
    assert result.code == 124
    assert f"error: process {pid} has not stopped within 0.3 s" in result.err
    assert "try: atoll down --force" in result.err
    assert shell.atoll("down", "--force", "--timeout", "0.3").code == 0
    shell.up()
    assert shell.names() == ["kept"]


def test_purge_removes_what_is_ours_and_nothing_else(shell: Shell) -> None:
    shell.up()
    bystander = shell.data / "letter.txt"
    bystander.write_text("dear diary")
    asked = shell.atoll("down", "--purge")
    assert asked.code == 2
    assert "store.db" in asked.err
    assert "there is no terminal to ask on; try: atoll down --purge --yes" in asked.err
    assert shell.atoll("status").code == 0  # nothing happened, not even the end
    done = shell.atoll("down", "--purge", "--yes")
    assert done.code == 0
    assert [path.name for path in shell.data.iterdir()] == ["letter.txt"]
    bystander.unlink()
    shell.up()
    assert shell.atoll("down", "--purge", "--yes").code == 0
    assert not shell.data.exists()


def test_a_lock_held_by_a_process_that_says_nothing_is_reported(shell: Shell) -> None:
    shell.data.mkdir(parents=True)
    with (shell.data / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert shell.atoll("status").out.startswith("atoll is starting")
        once_more = shell.atoll("up", "--fleet", "tiny", "--port", "4711")
        assert once_more.out.splitlines() == [
            f"atoll is still starting · data in {shell.data}",
            "See how it goes: atoll status",
        ]
        down = shell.atoll("down")
        assert down.code == 1
        assert "error: cannot tell which process is running" in down.err


def test_a_user_without_a_home_is_told_what_to_do(shell: Shell) -> None:
    shell.environment = {"HOME": ""}
    result = shell.atoll("status")
    assert result.code == 1
    assert result.err == (
        "error: there is no home directory to keep data in; give one with --data-dir\n"
    )


def test_kubectl_reads_writes_and_watches(running_shell: Shell, kubectl: Path) -> None:
    path = running_shell.atoll("kubeconfig", "path").out.strip()
    assert Path(path).read_text() == running_shell.atoll("kubeconfig", "print").out

    def ask(*words: str, text: str = "") -> str:
        done = subprocess.run(
            [str(kubectl), "--kubeconfig", path, *words],
            env=running_shell.env(),
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "kube-system" in ask("get", "namespaces")
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-kubectl,"
    manifest += " labels: {by: us}}\ndata: {a: b}\n"
    assert ask("apply", "-f", "-", text=manifest) == "configmap/from-kubectl created\n"
    assert ask("get", "cm", "from-kubectl", "-o", "jsonpath={.data.a}") == "b"
    assert "from-kubectl" in running_shell.names()
    with subprocess.Popen(
        [str(kubectl), "--kubeconfig", path, "get", "cm", "-l", "by=us", "-w", "-o", "name"],
        env=running_shell.env(),
        stdout=subprocess.PIPE,
        text=True,
    ) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline() == "configmap/from-kubectl\n"
        running_shell.create("later")
        assert watch.stdout.readline() == "configmap/later\n"
        watch.terminate()


def test_stopping_ends_a_watch_cleanly_and_soon(shell: Shell) -> None:
    shell.up()
    reader = (
        "import http.client, ssl, sys, urllib.parse\n"
        "url, pki = sys.argv[1:]\n"
        "context = ssl.create_default_context(cafile=pki + '/ca.crt')\n"
        "context.load_cert_chain(pki + '/admin.crt', pki + '/admin.key')\n"
        "address = urllib.parse.urlsplit(url)\n"
        "it = http.client.HTTPSConnection(address.hostname, address.port, context=context)\n"
        "it.request('GET', '/api/v1/namespaces?watch=true')\n"
        "answer = it.getresponse()\n"
        "print(answer.readline() != b'', flush=True)\n"
        "answer.read()\n"  # raises IncompleteRead unless the last chunk comes
        "print('clean end', flush=True)\n"
    )
    words = [sys.executable, "-c", reader, shell.note()["url"], str(shell.data / "pki")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline() == "True\n"
        assert shell.atoll("down").code == 0
        assert watch.stdout.readline() == "clean end\n"
