"""The two commands: what they print, what they refuse, and how they exit."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.oracle.casefile import CORPORA, Case, read_cases
from tests.oracle.predict import command as command_of
from tests.oracle.predict import predict_file
from tests.oracle.run import run_file

ROOT = Path(__file__).parents[2]
KEYS = ["id", "ok", "clusters", "reason", "error", "retry", "affinity", "bound"]


class Done(NamedTuple):
    status: int
    stdout: str
    stderr: str


def command(name: str, path: Path) -> Done:
    """Run a command as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.oracle.{name}", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def call(monkeypatch, capsys) -> Callable[[str, Path], Done]:
    """Run a command in this process, which is faster."""

    def run(name: str, path: Path) -> Done:
        monkeypatch.setattr(sys, "argv", [name, str(path)])
        status = command_of({"predict": predict_file, "run": run_file}[name], name)
        return Done(status, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case for corpus in CORPORA for case in islice(read_cases(corpus, "expected"), 20)]


def write(path: Path, *lines: Any) -> Path:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def test_predict_writes_one_line_per_case_from_the_input_alone(tmp_path, call, cases):
    bare = [{key: each[key] for key in ("id", "gates", "input") if key in each} for each in cases]
    told = call("predict", write(tmp_path / "cases.jsonl", *cases))
    untold = command("predict", write(tmp_path / "inputs.jsonl", *bare))
    assert (untold.status, untold.stderr) == (0, "")
    assert untold.stdout == told.stdout
    lines = [json.loads(line) for line in untold.stdout.splitlines()]
    assert [line["id"] for line in lines] == [case["id"] for case in cases]
    assert {tuple(line) for line in lines} == {tuple(KEYS)}


def test_run_counts_what_passed_in_its_last_line(tmp_path, cases):
    with gzip.open(tmp_path / "cases.jsonl.gz", "wt") as packed:
        packed.writelines(json.dumps(case) + "\n" for case in cases)
    done = command("run", tmp_path / "cases.jsonl.gz")
    assert done.stdout == f"{len(cases)} passed, 0 failed\n"
    assert done.status == 0


def test_run_shows_what_failed_and_exits_with_1(tmp_path, call, cases):
    other = [{"ok": True, "clusters": [{"name": "x", "replicas": 1}], "reason": "Success"}]
    wrong = [case | {"expected": {"outcomes": other}} for case in cases[1:]]
    done = call("run", write(tmp_path / "cases.jsonl", cases[0], *wrong))
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{cases[1]['id']} [")
    assert lines[1].startswith("    clusters: expected x=1, got ")
    assert lines[-2:] == [f"... and {len(wrong) - 20} more", f"1 passed, {len(wrong)} failed"]
    assert done.status == 1


@pytest.mark.parametrize("name", ["predict", "run"])
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(["{"], ":1: not JSON: ", id="not JSON"),
        pytest.param(["7"], ":1: must be an object with id, input", id="no object"),
        pytest.param(["", '{"id": "a"}'], ":2: 'input' is missing", id="no input"),
        pytest.param([{"id": "a", "input": []}], ":1: 'input' must be an object", id="odd input"),
    ],
)
def test_a_broken_line_is_named(tmp_path, call, name, lines, said):
    done = call(name, write(tmp_path / "broken.jsonl", *lines))
    assert f"{tmp_path / 'broken.jsonl'}{said}" in done.stderr
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_run_needs_the_answers(tmp_path, call):
    done = call("run", write(tmp_path / "inputs.jsonl", {"id": "a", "input": {}}))
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.endswith(":1: 'expected' is missing\n")


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        pytest.param("none.jsonl", None, "No such file or directory", id="no file"),
        pytest.param("cut.gz", gzip.compress(b"{}")[:-9], "ended before", id="cut short"),
        pytest.param("plain.gz", b"{}", "Not a gzipped file", id="not compressed"),
        pytest.param("latin.jsonl", b"\xff", "can't decode", id="not text"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, call, file, content, said):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    done = call("predict", tmp_path / file)
    assert done.stderr.startswith(f"cannot read {tmp_path / file}: ")
    assert said in done.stderr
    assert (done.status, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_case_that_cannot_be_decided_does_not_stop_the_others(tmp_path, call, cases):
    bad = {"id": "bad", "gates": "Teleportation=true", "input": cases[0]["input"]}
    done = call("predict", write(tmp_path / "inputs.jsonl", bad, cases[0]))
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [cases[0]["id"]]
    assert done.stderr.startswith("case bad: ")
    assert "Teleportation" in done.stderr
    assert (done.status, done.stderr.count("\n")) == (1, 1)
