"""Building the testenv: what its cache is named after, and what is said where it cannot be."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testenv.build import KUBERNETES, KWOK, MODULE, build, cache_key, find, versions
from testenv.errors import Unavailable
from testenv.toolchain import GO_FROM_PYPI, find_go, version

ROOT = MODULE.parents[1]


def make_go(directory: Path, script: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    go = directory / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)
    return go


def make_build(cache: Path, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m testenv build` on a machine with nothing but what is in `path`."""
    # No package index either: installing Go must fail at once, whatever this machine has.
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    own = {"ATOLL_TESTENV_CACHE": str(cache), "PATH": f"{path}:/usr/bin:/bin", **offline}
    return subprocess.run(
        [sys.executable, "-m", "testenv", "build"],
        cwd=ROOT, env=os.environ | {"ATOLL_REQUIRE_TESTENV": ""} | own | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


BROKEN = 'if [ "$1" = version ]; then echo go version go9.9.9 x/y; else echo no luck; exit 1; fi'
WORKING = """
case "$1" in version) echo go version go9.9.9 x/y; exit;; esac
while [ "$1" != -o ]; do shift; done; mkdir -p "$2"; echo built >"$2/$(basename "$3")"
"""


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "tools.go", "etcd/main.go"])
def test_the_cache_key_changes_with_every_source(tmp_path: Path, file: str) -> None:
    module = tmp_path / "go"
    shutil.copytree(MODULE, module)
    assert cache_key(module) == cache_key(MODULE)
    with (module / file).open("a") as changed:
        changed.write("\n")
    assert cache_key(module) != cache_key(MODULE)


def test_the_pinned_go_satisfies_the_module() -> None:
    pinned = [int(part) for part in GO_FROM_PYPI.split(".")]
    assert pinned >= [int(part) for part in versions()["go"].split(".")]


def test_a_broken_go_is_said_in_one_line_and_is_no_failure(tmp_path: Path) -> None:
    make_go(tmp_path / "bin", BROKEN)
    done = make_build(tmp_path / "cache", tmp_path / "bin")
    reasons = [line for line in done.stdout.splitlines() if "cannot be built" in line]
    assert (done.returncode, done.stderr, len(reasons)) == (0, "", 1)
    assert reasons[0].startswith("testenv: the testenv cannot be built: etcd: no luck (log: ")


def test_without_go_and_without_an_index_it_is_said_in_one_line(tmp_path: Path) -> None:
    make_go(tmp_path / "bin", "echo go version go1.2.3 x/y")
    done = make_build(tmp_path / "cache", tmp_path / "bin")
    last = done.stdout.splitlines()[-1]
    assert (done.returncode, done.stderr) == (0, "")
    assert last.startswith(f"testenv: there is no Go {GO_FROM_PYPI}, neither on PATH nor from PyPI")


def test_where_the_testenv_is_required_a_broken_go_is_a_failure(tmp_path: Path) -> None:
    make_go(tmp_path / "bin", BROKEN)
    done = make_build(tmp_path / "cache", tmp_path / "bin", ATOLL_REQUIRE_TESTENV="1")
    assert done.returncode == 1


def test_a_cache_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = make_build(tmp_path / "file" / "cache", tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


def test_a_failed_build_leaves_nothing_that_looks_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_go(tmp_path / "bin", BROKEN)
    make_build(tmp_path / "cache", tmp_path / "bin")
    monkeypatch.setenv("ATOLL_TESTENV_CACHE", str(tmp_path / "cache"))
    with pytest.raises(Unavailable, match="not built"):
        find()
    left = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert left == [f"{cache_key()}.log", "lock"]


def test_a_second_build_does_nothing_and_says_where(tmp_path: Path) -> None:
    make_go(tmp_path / "bin", WORKING)
    first = make_build(tmp_path / "cache", tmp_path / "bin")
    assert first.returncode == 0
    make_go(tmp_path / "bin", BROKEN)
    second = make_build(tmp_path / "cache", tmp_path / "bin")
    recipes = (KUBERNETES, KWOK)
    paths = [tmp_path / "cache" / cache_key(each.module, each.commands) for each in recipes]
    assert second.stdout.splitlines() == [f"testenv: {path}" for path in paths]
    assert all(line in first.stdout.splitlines() for line in second.stdout.splitlines())


def test_two_builds_at_once_build_once(tmp_path: Path) -> None:
    counted = f'[ "$1" = build ] && echo build >>{tmp_path}/builds; sleep 0.2;'
    make_go(tmp_path / "bin", counted + WORKING)
    environment = os.environ | {
        "ATOLL_TESTENV_CACHE": str(tmp_path / "cache"),
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
    }
    command = [sys.executable, "-m", "testenv", "build"]
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for one in both:
        output, _ = one.communicate(timeout=240)
        assert any(line.endswith(cache_key().encode()) for line in output.splitlines())
    commands = [*KUBERNETES.commands, *KWOK.commands]
    assert (tmp_path / "builds").read_text().count("build") == len(commands)


def test_the_machines_go_is_used_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = make_go(tmp_path / "bin", "echo go version go1.26.10 x/y")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert find_go(tmp_path / "cache", "1.26.9") == go


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param("echo go version go1.26.8 linux/amd64", "1.26.8", id="a release"),
        pytest.param("echo go version go1.27rc1 linux/amd64", "1.27", id="a candidate"),
        pytest.param("echo segmentation fault; exit 139", "0", id="broken"),
    ],
)
def test_the_version_of_go(tmp_path: Path, script: str, expected: str) -> None:
    assert version(make_go(tmp_path, script)) == expected


@pytest.mark.testenv
def test_what_is_built_is_found_again() -> None:
    for recipe in (KUBERNETES, KWOK):
        assert build(recipe) == find(recipe)
        assert all((find(recipe).directory / name).is_file() for name in recipe.commands)
