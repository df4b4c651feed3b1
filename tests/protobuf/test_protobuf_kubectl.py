"""Our whole server and those who send it protobuf: the real kubectl, and typed clients."""

import json
import os
import shlex
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from protobuf_bodies import PROTOBUF, body, field, named, recorded, without_nulls
from recorder import COMMANDS

KUBECTL = recorded("kubectl.json", "commands")


@dataclass(frozen=True)
class Server:
    """A running server of ours, and its administrator."""

    home: Path

    @property
    def data(self) -> Path:
        return self.home / "data"

    def env(self) -> dict[str, str]:
        kubeconfig = {"KUBECONFIG": str(self.data / "kubeconfig"), "PYTHONUTF8": "1"}
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **kubeconfig}

    def run(self, *command: str | Path) -> str:
        done = subprocess.run(command, env=self.env(), capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def request(self, method: str, path: str, sent: bytes | None = None) -> Any:
        """Ask as typed clients do: protobuf if possible, else JSON."""
        pki = self.data / "pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        url = json.loads((self.data / "server.json").read_text())["url"]
        headers = {"Content-Type": PROTOBUF, "Accept": f"{PROTOBUF},application/json"}
        request = urllib.request.Request(url + path, sent, headers, method=method)
        with urllib.request.urlopen(request, context=context, timeout=120) as response:
            return json.loads(response.read())


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("home"))
    atoll = (sys.executable, "-m", "atoll")
    server.run(*atoll, "up", "--data-dir", server.data)
    try:
        yield server
    finally:
        server.run(*atoll, "down", "--data-dir", server.data)


def lost(sent: Any, stored: Any, path: str = "") -> Iterator[str]:
    """The paths of what was sent and is not stored; more may be stored than was sent."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        for key, item in sent.items():
            yield from lost(item, stored.get(key, {}), f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        for number, pair in enumerate(zip(sent, stored, strict=True)):
            yield from lost(*pair, f"{path}[{number}]")
    elif sent != stored:
        yield f"{path}: sent {sent!r}, stored {stored!r}"


@pytest.mark.parametrize("command", COMMANDS)
def test_what_kubectl_creates_is_stored(
    ours: Server, kubectl: Path, tmp_path: Path, command: str
) -> None:
    printed, _ = KUBECTL[command]
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    words = shlex.split(command.replace("BINARY", f"bytes={binary}"))
    assert "created" in ours.run(kubectl, "create", *words)
    kind, name = printed["kind"], printed["metadata"]["name"]
    stored = json.loads(ours.run(kubectl, "get", kind, name, "--output=json"))
    assert list(lost(without_nulls(printed), stored)) == []


def test_typed_clients_update_scale_and_delete(ours: Server) -> None:
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    labels = field(1, field(1, b"app") + field(2, b"x"))
    container = field(1, b"c") + field(2, b"image")
    template = field(1, field(11, labels[2:])) + field(2, field(2, container))
    spec = field(2, labels) + field(3, template)
    made = body("Deployment", named("typed") + field(2, field(1, 3) + spec), "apps/v1")
    assert ours.request("POST", deployments, made)["spec"]["replicas"] == 3

    none = body("Deployment", named("typed") + field(2, field(1, 0) + spec), "apps/v1")
    assert ours.request("PUT", f"{deployments}/typed", none)["spec"]["replicas"] == 0

    scale = body("Scale", named("typed") + field(2, field(1, 5)), "autoscaling/v1")
    assert ours.request("PUT", f"{deployments}/typed/scale", scale)["spec"] == {"replicas": 5}
    assert ours.request("GET", f"{deployments}/typed")["spec"]["replicas"] == 5

    foreground = body("DeleteOptions", field(4, b"Foreground"), "apps/v1")
    going = ours.request("DELETE", f"{deployments}/typed", foreground)
    assert going["metadata"]["finalizers"] == ["foregroundDeletion"]
