"""`atoll up --record` and `atoll replay`: what is written, what is told, and what is refused."""

import base64
import re
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from running import Result, Shell, until

from atoll.cli.app import run
from atoll.control.recording import Recording
from simulation.pipeline import pipeline
from simulation.world import simulate

Capture = pytest.CaptureFixture[str]
HIDDEN = base64.b64encode(b"s3cr3t-of-the-shop").decode()
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "password"},
    "data": {"password": HIDDEN},
}
POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "all"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "v1", "kind": "Secret"}],
        "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
    },
}
POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
IN_MEMBER = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy"


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    found: list[bytes] = []
    simulate(partial(pipeline, recording=Recording(found.append)), seed=3)
    return found


@pytest.fixture
def file(tmp_path: Path, lines: list[bytes]) -> Path:
    file = tmp_path / "run.jsonl"
    file.write_bytes(b"".join(lines))
    return file


def replayed(capsys: Capture, *words: str | Path) -> Result:
    code = run(["replay", *map(str, words)])
    said = capsys.readouterr()
    return Result(code, said.out, said.err)


def otherwise(file: Path, lines: list[bytes]) -> int:
    """Let the file say that something else was decided; the number of the event."""
    at = next(at for at, each in enumerate(lines) if b'"WriteWith"' in each)
    other = re.sub(rb'"clusters":\[\{"name":"m.', b'"clusters":[{"name":"m9', lines[at])
    assert other != lines[at]
    file.write_bytes(b"".join([*lines[:at], other, *lines[at + 1 :]]))
    return sum(b'"event":' in each for each in lines[: at + 1])


def test_a_run_that_is_decided_again_as_it_was_is_summed_up(capsys: Capture, file: Path) -> None:
    found = replayed(capsys, file)
    assert (found.code, found.err) == (0, "")
    first, heading, *table, last = found.out.splitlines()
    assert re.fullmatch(r"\d+ events in [\d.]+ (s|min), recorded by atoll [\w.]+", first)
    assert heading.split() == ["TO", "EVENT", "COUNT"]
    counts = {tuple(each.split()[:2]): int(each.split()[2]) for each in table}
    assert sum(counts.values()) == int(first.split()[0])
    assert counts["scheduler", "ScheduleOnWrite"] > 0
    assert last == "All was decided again as it was."


def test_the_first_difference_is_shown(capsys: Capture, file: Path, lines: list[bytes]) -> None:
    number = otherwise(file, lines)
    found = replayed(capsys, file)
    assert found.code == 1
    told = found.out.splitlines()
    assert f"Event {number}, ScheduleOnWrite, is answered otherwise by the scheduler:" in told
    assert any(each.startswith("-") and '"name": "m9"' in each for each in told)
    assert any(re.match(r'\+ +"name": "m\d"', each) for each in told)
    data = replayed(capsys, file, "-o", "json")
    assert (data.code, data.json["kind"]) == (1, "Replay")
    assert data.json["difference"]["number"] == number
    assert replayed(capsys, file, "--until", str(number - 1)).code == 0


def test_one_event_is_shown_with_all_its_parts(
    capsys: Capture, file: Path, lines: list[bytes]
) -> None:
    number = otherwise(file, lines)
    found = replayed(capsys, file, "--show", str(number))
    assert found.code == 1
    assert found.json["number"] == number
    assert found.json["event"]["ScheduleOnWrite"]["binding"]["kind"] == "ResourceBinding"
    assert found.json["recorded"] != found.json["replayed"]
    first = replayed(capsys, file, "--show", "1")
    assert (first.code, first.json["number"]) == (0, 1)


def test_a_line_that_was_not_finished_is_told_and_no_harm(
    capsys: Capture, file: Path, lines: list[bytes]
) -> None:
    file.write_bytes(b"".join(lines)[:-9])
    found = replayed(capsys, file)
    assert found.code == 0
    assert found.err.startswith("A line is torn")
    again = b"".join([*lines, lines[-1][:-9], b"\n", *lines])
    file.write_bytes(again)
    assert replayed(capsys, file).code == 0
    file.write_bytes(b"".join([*lines[:9], b"{\n", *lines[9:]]))
    assert replayed(capsys, file).code == 1


@pytest.mark.parametrize(
    ("written", "said"),
    [
        pytest.param(b"", "is not a recording", id="nothing"),
        pytest.param(b"# A heading\n\nand text\n", "is not a recording", id="text"),
        pytest.param(b'{"kind": "List"}\n', "is not a recording", id="another JSON"),
        pytest.param(b"\x00\xff\n\x89PNG", "is not a recording", id="no text"),
        pytest.param(b'{"atoll":"9.0","recording":7}\n', "is in form 7", id="of another form"),
        pytest.param(
            b'{"atoll":"9.0","recording":1}\n{"n":1,"to":"nobody"}\n',
            "line 2 cannot be read",
            id="of other events",
        ),
    ],
)
def test_another_file_is_refused(capsys: Capture, file: Path, written: bytes, said: str) -> None:
    file.write_bytes(written)
    found = replayed(capsys, file)
    assert (found.code, found.out) == (1, "")
    assert said in found.err
    assert str(file) in found.err


def test_what_is_not_there_is_refused(capsys: Capture, file: Path) -> None:
    missing = replayed(capsys, file.parent / "nowhere.jsonl")
    assert missing.code == 2
    assert "does not exist" in missing.err
    found = replayed(capsys, file, "--show", "1000000")
    assert found.code == 1
    assert "there is no event 1000000" in found.err


def test_plug_ins_that_are_not_installed_are_named(
    capsys: Capture, file: Path, lines: list[bytes]
) -> None:
    begins = orjson.loads(lines[1])
    begins["with"]["setting"]["plugins"].append("Moonlight")
    file.write_bytes(b"".join([lines[0], orjson.dumps(begins), b"\n", *lines[2:]]))
    found = replayed(capsys, file)
    assert found.code == 1
    assert "plug-ins that are not installed: Moonlight" in found.err


def test_a_server_that_is_killed_has_recorded_what_it_did_and_no_secret(tmp_path: Path) -> None:
    shell, file = Shell(tmp_path), tmp_path / "run.jsonl"
    try:
        shell.up("--fleet", "tiny", "--record", str(file))
        other = shell.atoll("up", "--record", str(tmp_path / "other"))
        assert "recording, audit, limits and gates cannot be changed" in other.err
        shell.request("POST", POLICIES, POLICY)
        shell.request("POST", "/api/v1/namespaces/default/secrets", SECRET)
        until(lambda: b"redacted-" in file.read_bytes(), "a Secret is delivered")
        until(lambda: b'"Stored"' in file.read_bytes().split(b"redacted-", 1)[1], "it is stored")
        shell.kill()
        first = shell.atoll("replay", str(file))
        assert (first.code, "All was decided again" in first.out) == (0, True), first
        shell.up("--record", str(file))
        shell.atoll("down")
    finally:
        shell.clean_up()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes().count(b'"recording":1') == 2
    assert HIDDEN.encode() not in file.read_bytes()
    assert b"s3cr3t" not in file.read_bytes()
    both = shell.atoll("replay", str(file))
    assert (both.code, "All was decided again" in both.out) == (0, True), both


def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    result = Shell(tmp_path).atoll("up", "--record", str(tmp_path / "nowhere" / "run.jsonl"))
    assert result.code != 0
    assert "run.jsonl cannot be written" in result.err


def test_another_file_is_not_recorded_into(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("what I must not forget\n")
    result = Shell(tmp_path).atoll("up", "--record", str(file))
    assert result.code != 0
    assert "is no recording" in result.err
    assert file.read_text() == "what I must not forget\n"
