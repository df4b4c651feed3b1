"""What commands read besides code is in the wheel, so that they work wherever it is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "atoll"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    there = [each for each in tracked.stdout.split() if (ROOT / each).exists()]
    assert "atoll/cli/demos/web.yaml" in there
    assert set(there) <= packed
