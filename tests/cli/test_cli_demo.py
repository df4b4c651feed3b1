"""`make demo` does what it says, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_tells_its_whole_story(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO)],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    decided = [line.split(maxsplit=1)[1] for line in lines if line.startswith("decided")]
    there = [line.split(maxsplit=2)[2] for line in lines if line.startswith("in members")]
    assert len(decided) == 4
    assert there == [*decided, "nothing"]
    assert [line.split()[1] for line in lines if line.startswith("web ")] == [
        *("12/12", "20/20", "20/20", "20/20")
    ]
    assert "azr-weu  not chosen: had untolerated taint {maintenance:NoSchedule}" in lines
    assert "idc" in decided[1]
    assert "idc" not in decided[2]
    assert list(tmp_path.iterdir()) == []
