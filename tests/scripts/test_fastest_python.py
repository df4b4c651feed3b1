"""Which Python `make` takes, of those that are on the PATH."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fastest-python"


def fake(path: Path, does: str) -> str:
    """An interpreter that only says how many microseconds it needed, or fails."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return str(path)


def chosen(*directories: Path) -> str:
    path = ":".join(map(str, directories))
    done = subprocess.run(
        ["/bin/sh", SCRIPT], env={"PATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("first", "second", "wins"),
    [
        pytest.param("echo 1000", "echo 500", "second", id="clearly faster"),
        pytest.param("echo 1000", "echo 900", "first", id="hardly faster"),
        pytest.param("echo 500", "echo 1000", "first", id="slower"),
        pytest.param("exit 1", "echo 1000", "second", id="the first cannot be used"),
        pytest.param("echo 1000", "exit 1", "first", id="the second cannot be used"),
    ],
)
def test_the_first_on_the_path_is_taken_unless_another_is_clearly_faster(
    tmp_path: Path, first: str, second: str, wins: str
) -> None:
    found = {
        "first": fake(tmp_path / "first" / "python3", first),
        "second": fake(tmp_path / "second" / "python3.12", second),
    }
    assert chosen(tmp_path / "first", tmp_path / "second") == found[wins]


def test_where_none_can_be_used_the_usual_one_is_named_for_make_to_complain_about() -> None:
    assert chosen() == "python3"


def test_a_real_interpreter_is_timed(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    assert chosen(tmp_path) == str(tmp_path / "python3")
