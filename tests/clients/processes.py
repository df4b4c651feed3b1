"""A plane in a process of its own, which a test can kill and start again."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 120


@dataclass(frozen=True)
class Plane:
    """An instance of Atoll: its data are in a directory, its server runs or does not."""

    directory: Path

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def member(self, name: str) -> Path:
        """The kubeconfig of a simulated member."""
        return self.directory / "members" / name / "kubeconfig"

    def up(self, *words: str) -> None:
        self._atoll("up", *words)

    def down(self) -> None:
        self._atoll("down")

    def kill(self) -> None:
        """End the server at once, as a machine that loses its power does."""
        pid = json.loads((self.directory / "server.json").read_text())["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists() or _is_dead(pid))

    def _atoll(self, command: str, *words: str) -> None:
        arguments = [sys.executable, "-m", "atoll", command, "--data-dir", str(self.directory)]
        done = subprocess.run(
            [*arguments, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _is_dead(pid: int) -> bool:
    """Whether nothing is left of a process but its number."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)
