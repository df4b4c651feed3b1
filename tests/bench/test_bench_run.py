"""The bench runs end to end in a tiny form, and leaves nothing behind. No number is judged here."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from bench.apiserver import GROUPS, measure
from bench.connection import Connection, Failed
from bench.load import Tally, measured
from bench.report import as_table
from bench.servers import Target
from bench.sizes import Sizes

TINY = Sizes(
    rounds=1,
    starts=1,
    stored=50,
    configmaps=20,
    deployments=10,
    gets=20,
    pool=8,
    listed=30,
    lists=4,
    bursts=1,
    watchers=5,
    page=7,
    clients=4,
    writers=3,
)
TITLES = [
    "create ConfigMap, 1 KB",
    "create Deployment, 3 KB",
    "put ConfigMap, 1 KB",
    "put Deployment, 3 KB",
    "merge patch ConfigMap, 1 KB",
    "merge patch Deployment, 3 KB",
    "get ConfigMap, 1 KB",
    "get Deployment, 3 KB",
    "list 30 objects, in objects",
    "list 30 objects by 7, in objects",
    "watch events to 5 watchers",
    "start, empty",
    "start, 50 objects",
    "memory, 50 objects",
    "memory, idle",
    "memory, after the load",
]


def test_a_tiny_run_prints_every_promised_row():
    said: list[str] = []
    report = measure(TINY, GROUPS, None, said.append)
    table = as_table(report)
    assert [title for title in TITLES if f"{title}  " not in table] == []
    for row in report.rows:
        (sample,) = row.samples["atoll"]
        assert sample.per_s > 0
        assert 0 < sample.p50_ms <= sample.p99_ms
    assert all(values > [0.0] for figure in report.figures for values in figure.values.values())
    assert said


def test_a_run_of_some_groups_has_only_their_rows():
    report = measure(TINY, ["gets"], None, lambda _: None)
    assert [row.title for row in report.rows] == TITLES[6:8]
    assert report.figures == []


def test_an_interrupted_run_leaves_neither_processes_nor_files(tmp_path):
    command = [sys.executable, "-m", "bench", "--alone", "--only", "creates"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "round 1" in line:
                break
        assert processes_naming(tmp_path)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=120)
    assert running.returncode == 130
    assert output == ""
    assert processes_naming(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def processes_naming(path: Path) -> list[str]:
    """The processes with this path in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if str(path).encode() in line:
            found.append(entry.name)
    return found


def make_target() -> Target:
    roots = frozenset([os.getpid()])
    tls = ssl.create_default_context()
    return Target("some server", "https://localhost:1", tls, tls, roots, 0.0)


def test_a_failure_of_one_client_ends_the_measurement_and_names_the_server():
    async def fail() -> None:
        raise Failed("a watch ended")

    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Failed, match=r"^some server: a watch ended$"):
        asyncio.run(measured(make_target(), Tally(), [wait(), fail()]))


def test_a_watch_that_the_server_ends_is_told_at_once():
    async def end_a_watch() -> list[str]:
        lost: list[str] = []
        connection = Connection(on_failure=lambda failure: lost.append(str(failure)))
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.data_received(head + b"3\r\n{}\n\r\n")
        assert lost == []
        connection.data_received(b"0\r\n\r\n")
        return lost

    assert asyncio.run(end_a_watch()) == ["a watch ended: 200 b'{}\\n'"]
