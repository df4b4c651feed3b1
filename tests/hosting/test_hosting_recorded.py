"""A plane on a real host, recorded by the replica that leads, and decided again from its file."""

import subprocess
import sys
from pathlib import Path

import pytest
from replicas import QUICK, Setting, replica, wait_for
from workloads import all_are_ready, enrolled, place, replicas_in

pytestmark = [pytest.mark.testenv, pytest.mark.timeout(600)]


def test_a_run_on_a_real_host_is_decided_again_as_it_was(setting: Setting, tmp_path: Path):
    file = tmp_path / "run.jsonl"
    words = (*QUICK, f"--record={file}")
    with replica(setting.host.account(setting.directory), *words) as leader:
        host = enrolled(setting)
        wait_for("ready members", lambda: all_are_ready(setting))
        place(host, "recorded", "web", replicas=2)
        for member in setting.members.values():
            wait_for("a copy", lambda at=member: replicas_in(at, "recorded", "web") == 2)
        assert leader.stop() == 0, leader.said()
    assert b'"WriteWith"' in file.read_bytes()
    program = [sys.executable, "-m", "atoll", "replay", str(file)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("All was decided again as it was.\n")
