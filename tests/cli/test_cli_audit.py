"""`atoll up --audit-log`: what it takes, what it refuses, and what is in the file."""

import json
from pathlib import Path

import click
import pytest
from running import Shell

from atoll.cli.options import audit_options
from atoll.config import AuditChoice

POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n"


def test_the_flags_say_what_is_chosen(tmp_path: Path) -> None:
    found: list[AuditChoice] = []
    receive = click.command()(audit_options(lambda audit: found.append(audit)))
    words = ["--audit-log-path", str(tmp_path / "a"), "--audit-log-maxsize", "7"]
    words += ["--audit-log-maxbackup", "3", "--audit-log-maxage", "2"]
    receive.main(words, standalone_mode=False)
    assert found == [AuditChoice(log=tmp_path / "a", maxsize=7, maxbackup=3, maxage=2)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--audit-log-maxage", "3"], "there is no --audit-log"),
        (["--audit-log-maxsize", "-1", "--audit-log", "a"], "-1 is not in the range x>=0"),
        (["--audit-policy-file", "/nowhere.yaml", "--audit-log", "a"], "does not exist"),
        (["--audit-policy-file", __file__, "--audit-log", "a"], "the audit policy in"),
    ],
)
def test_mistakes_are_told_before_anything_starts(
    tmp_path: Path, words: list[str], said: str
) -> None:
    shell = Shell(tmp_path)
    result = shell.atoll("up", *words)
    assert result.code != 0
    assert said in result.err
    assert not shell.data.exists()


def test_a_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    result = Shell(tmp_path).atoll("up", "--audit-log", str(tmp_path / "nowhere" / "audit.log"))
    assert result.code != 0
    assert "audit.log cannot be written" in result.err


def test_requests_are_recorded_from_the_first_to_the_last(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    words = ["--audit-log", str(log), "--audit-policy-file", str(policy)]
    shell.up(*words)
    try:
        changed = shell.atoll("up", "--audit-log", str(log))
        assert changed.code != 0
        assert "audit, limits and gates cannot be changed" in changed.err
        shell.create("reef")
        shell.atoll("down")
    finally:
        shell.clean_up()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    made = [
        event
        for event in events
        if event["stage"] == "ResponseComplete"
        and event.get("objectRef", {}).get("name") == "reef"
        and event["verb"] == "create"
    ]
    assert made[0]["requestObject"]["metadata"]["name"] == "reef"
    assert made[0]["sourceIPs"] == ["127.0.0.1"]
    assert made[0]["level"] == "Request"
