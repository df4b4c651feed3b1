"""Running the real command, in processes of its own, on directories of its own."""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

MERGE = "application/merge-patch+json"


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Shell:
    """A user at a command line, with a home of their own."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    python: Path = Path(sys.executable)

    @property
    def data(self) -> Path:
        return self.home / ".local" / "state" / "atoll" / "default"

    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.home), "PYTHONUTF8": "1", **self.environment}

    def atoll(self, *words: str, timeout: float = 240) -> Result:
        done = subprocess.run(
            [str(self.python), "-m", "atoll", *words],
            env=self.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    def up(self, *words: str) -> Result:
        result = self.atoll("up", *words)
        assert result.code == 0, result.err
        return result

    def note(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads((self.data / "server.json").read_text())
        return read

    def kill(self) -> None:
        """What a power failure does to the server."""
        pid = int(self.note()["pid"])
        os.kill(pid, signal.SIGKILL)

    def clean_up(self) -> None:
        self.atoll("down", "--force")

    def url(self, cluster: str) -> str:
        """Where a simulated member is found."""
        path = self.data / "members" / cluster / "kubeconfig"
        found: str = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"]
        return found

    def patch(self, path: str, changes: Any) -> Any:
        """Change part of an object of the plane."""
        return self.request("PATCH", path, changes)

    def request(self, method: str, path: str, body: Any = None, *, cluster: str = "") -> Any:
        """Ask the API of the plane, or of a simulated member, as its administrator."""
        pki = (self.data / "members" / cluster if cluster else self.data) / "pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        request = urllib.request.Request(
            (self.url(cluster) if cluster else self.note()["url"]) + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": MERGE if method == "PATCH" else "application/json"},
        )
        with urllib.request.urlopen(request, context=context, timeout=120) as response:
            return json.loads(response.read())

    def kubectl(self, binary: Path, *words: str, cluster: str = "") -> str:
        """What kubectl prints, with the kubeconfig that `atoll kubeconfig` names."""
        member = ["--cluster", cluster] if cluster else []
        path = self.atoll("kubeconfig", "path", *member).out.strip()
        done = subprocess.run(
            [str(binary), "--kubeconfig", path, *words],
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def create(self, name: str) -> None:
        labels = {"by": "us"}
        meta = {"name": name, "labels": labels}
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        self.request("POST", "/api/v1/namespaces/default/configmaps", obj)

    def names(self) -> list[str]:
        """The ConfigMaps in `default`, without the one that every namespace has."""
        listing = self.request("GET", "/api/v1/namespaces/default/configmaps")
        names = [item["metadata"]["name"] for item in listing["items"]]
        return [name for name in names if name != "kube-root-ca.crt"]


def until(holds: Callable[[], object], what: str, within_s: float = 120.0) -> None:
    """Wait for a condition; its limit is for a machine that has other things to do."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)
