"""The embedded plane, with simulated members in a process of their own, which outlives the plane.

Everything is a real process with real files and sockets, started by the commands people use.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from world import PLANE_QUICK, expect

from atoll.cli.reaching import administrator
from atoll.client.plain import PlainClient
from atoll.config import Config
from atoll.simulated.choosing_fleet import chosen_fleet
from testenv.process import free_ports

POOLS = "pools: [{count: 2, cpu: 64, memory: 256Gi, pods: 1000}]"
FLEET = "clusters: [" + ", ".join(f"{{name: {name}, {POOLS}}}" for name in ("m1", "m2", "m3")) + "]"


@dataclass
class EmbeddedGround:
    """`atoll up`, and three simulated clusters that it does not know until they join."""

    directory: Path
    name: str = "embedded"
    _port: int = field(default_factory=lambda: free_ports(1)[0])
    _life: int = -1
    _fleet: subprocess.Popen[bytes] | None = None
    _plane: Config = field(init=False)
    _sea: Config = field(init=False)

    def __post_init__(self) -> None:
        self._plane = Config(self.directory / "plane")
        self._sea = Config(self.directory / "members")

    @property
    def kubeconfig(self) -> Path:
        return self._plane.kubeconfig

    def start(self) -> None:
        self._start_members()
        self._up()

    def member(self, name: str) -> Path:
        return self._sea.member(name).kubeconfig

    way = member

    def cut(self, name: str) -> None:
        self._fault(name, "kill")

    def heal(self, name: str) -> None:
        self._fault(name, "heal")

    def restart_hub(self) -> None:
        pid = int(json.loads((self._plane.data_dir / "server.json").read_text())["pid"])
        os.kill(pid, signal.SIGKILL)
        expect(lambda: is_over(pid), True)
        self._up()

    change_leader = restart_hub  # there is one process, so another one leads when it is replaced

    def close(self) -> None:
        with suppress(AssertionError):
            self._atoll("down", "--force")
        os.close(self._life)
        if self._fleet is not None:
            self._fleet.wait(120)

    def _up(self) -> None:
        self._atoll("up", "--port", str(self._port), *PLANE_QUICK)

    def _atoll(self, command: str, *words: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "atoll", command, "--data-dir", self._plane.data_dir, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _start_members(self) -> None:
        """The process that `atoll up --fleet` would start, on a leash of ours."""
        file = self.directory / "fleet.yaml"
        file.write_text(FLEET)
        self._sea.data_dir.mkdir(mode=0o700)
        chosen_fleet(Config(self._sea.data_dir, fleet=str(file)))
        life, self._life = os.pipe()
        heard, told = os.pipe()
        words = ["fleet", "serve", "--data-dir", str(self._sea.data_dir)]
        words += ["--life-fd", str(life), "--notify-fd", str(told)]
        self._fleet = subprocess.Popen(
            [sys.executable, "-m", "atoll", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(life, told),
            start_new_session=True,
        )
        os.close(life)
        os.close(told)
        with open(heard, "rb") as pipe:
            line = pipe.readline()
        assert b'"ready"' in line, self._sea.fleet_log.read_text()

    def _fault(self, name: str, fault: str) -> Any:
        url = str(json.loads(self._sea.fleet_note.read_bytes())["url"])
        client = PlainClient(administrator(self._sea.faults, url))
        try:
            return client.request("POST", f"/faults/{name}/{fault}", body=b"{}").json()
        finally:
            client.close()


def is_over(pid: int) -> bool:
    """Whether nothing is left of a process but its number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
