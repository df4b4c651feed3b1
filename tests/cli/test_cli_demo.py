"""`make demo` does what it says, and leaves nothing behind."""

import os
import re
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
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    placed = re.findall(r"^([a-z0-9-]+ \d+(?: · [a-z0-9-]+ \d+)*)(?: {6}≈.*)?$", said, re.MULTILINE)
    sums = [sum(map(int, re.findall(r" (\d+)", each))) for each in placed]
    assert sums == [12, 12, 12], said
    assert " 2 FILTER       4 pass, 1 out" in said
    assert "kind: ClusterTaintPolicy" in said
    (victim,) = re.findall(r"^Run: atoll chaos kill (\S+)", said, re.MULTILINE)
    assert victim in placed[0]
    assert victim not in placed[-1]
    story = [
        r"Ready=False",
        r"taint not-ready:NoExecute",
        rf"schedule [^\n]*{victim} \d+→0",
        "12/12 ready",
    ]
    assert re.search(".*".join(story), said, re.DOTALL), said
    assert "Next, by hand:\n" in said
    assert list(tmp_path.iterdir()) == []
