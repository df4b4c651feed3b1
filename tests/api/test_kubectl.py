"""The real kubectl, talking to ours and to the real server: both must make it say the same."""

import itertools
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from kubectl_everyday import EVERYDAY
from kubectl_files import CONFIGMAP, DEPLOYMENT
from kubectl_sessions import SESSIONS
from ours import Ours

from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import write_kubeconfig
from testenv.cluster import Cluster

# A kube-apiserver establishes a custom kind before it tells of it.
UNKNOWN = re.compile(r"couldn't find resource for .*widgets|no matches for kind \"Widget\"")
KNOWN_TIMEOUT_S = 120.0

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Kubectl:
    """kubectl with one server, in a namespace of its own."""

    binary: Path
    kubeconfig: Path
    home: Path
    namespace: str

    def run(self, command: str, stdin: str = "") -> str:
        """What the command prints, with its exit code if it fails."""
        arguments = [self.binary, "-n", self.namespace, *_split(command)]
        environment = {
            "KUBECONFIG": str(self.kubeconfig),
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "PATH": os.environ["PATH"],
            "KUBE_EDITOR": "sed -i s/red/green/",
        }
        done = subprocess.run(
            arguments, input=stdin, capture_output=True, text=True, env=environment, timeout=240
        )
        failed = f"exit code {done.returncode}\n" if done.returncode else ""
        return self._plain(f"{done.stdout}{done.stderr}{failed}")

    def run_once_known(self, command: str, stdin: str = "") -> str:
        """The same, once the server tells of kinds that it has taken but not told of yet."""
        deadline = time.monotonic() + KNOWN_TIMEOUT_S
        while UNKNOWN.search(said := self.run(command, stdin)):
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
        return said

    def _plain(self, text: str) -> str:
        """The text without what must differ from server to server and from run to run."""
        text = text.replace(self.namespace, "NAMESPACE")
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
        text = re.sub(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "TIME", text)
        text = re.sub(r"(?m)^W\d{4} \S+ +\d+ ", "W ", text)
        text = re.sub(r'(resourceVersion"?|Resource Version):( *)"?\d+"?', r"\1:\2VERSION", text)
        text = re.sub(r"https://127\.0\.0\.1:\d+", "URL", text)
        text = re.sub(r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS", text)
        text = re.sub(r"\b3[0-2]\d{3}(/TCP)", r"PORT\1", text)
        text = re.sub(rf"{self.home}\S+", "FILE", text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "TIME", text)
        text = re.sub(r"\s\d+(\.\d+)?m?s\b", " AGE", text)
        return re.sub(r"(?m)[ \t]+$", "", text)


def _split(command: str) -> list[str]:
    """By blanks, with single quotes around what has some."""
    return [part.strip("'") for part in re.findall(r"(?:[^\s']|'[^']*')+", command)]


@pytest.fixture
def with_ours(ours: Ours, kubectl: Path, tmp_path: Path) -> Iterator[Kubectl]:
    kubeconfig = tmp_path / "ours"
    certificate, key = (path.read_bytes() for path in ours.pair)
    endpoint = Endpoint(ours.url, ca=ours.authority.read_bytes(), certificate=certificate, key=key)
    write_kubeconfig(kubeconfig, "ours", endpoint)
    yield from _in_namespace(kubectl, kubeconfig, tmp_path / "home-ours")


@pytest.fixture
def with_real(kubernetes: Cluster, kubectl: Path, tmp_path: Path) -> Iterator[Kubectl]:
    yield from _in_namespace(kubectl, kubernetes.kubeconfig, tmp_path / "home-real")


def _in_namespace(binary: Path, kubeconfig: Path, home: Path) -> Iterator[Kubectl]:
    home.mkdir()
    namespace = f"kubectl-{next(_numbers)}"
    made = Kubectl(binary, kubeconfig, home, namespace)
    body = f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}"
    assert "created" in made.run("create -f -", body)
    yield made


EVERY = SESSIONS | EVERYDAY


@pytest.mark.parametrize("session", EVERY)
def test_kubectl_says_the_same_of_both_servers(
    with_ours: Kubectl, with_real: Kubectl, session: str
) -> None:
    with ThreadPoolExecutor(2) as both:
        for command, stdin in EVERY[session]:
            ways = (with_ours.run, with_real.run_once_known)
            asked = [both.submit(run, command, stdin) for run in ways]
            said, expected = (each.result() for each in asked)
            assert said == expected, command


def test_kubectl_creates_what_it_sends_as_protobuf(with_ours: Kubectl) -> None:
    assert with_ours.run("create configmap a --from-literal=k=v") == "configmap/a created\n"


def test_resources_can_be_listed(with_ours: Kubectl) -> None:
    lines = with_ours.run("api-resources --no-headers").splitlines()
    found = {tuple(line.split()) for line in lines}
    assert ("configmaps", "cm", "v1", "true", "ConfigMap") in found
    assert ("deployments", "deploy", "apps/v1", "true", "Deployment") in found


def test_versions_are_told(with_ours: Kubectl) -> None:
    assert re.search(r"Server Version: v1\.36\.", with_ours.run("version"))
    assert "apps/v1" in with_ours.run("api-versions").splitlines()


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_every_cascade_comes_to_an_end(with_ours: Kubectl, cascade: str) -> None:
    with_ours.run("apply -f -", DEPLOYMENT)
    gone = with_ours.run(f"delete deployment web --cascade={cascade} --timeout=120s")
    assert gone.startswith('deployment.apps "web" deleted')
    assert "exit code" not in gone
    assert "NotFound" in with_ours.run("get deployment web")


def test_a_namespace_can_be_deleted_and_waited_for(with_ours: Kubectl) -> None:
    with_ours.run("apply -f -", CONFIGMAP)
    gone = with_ours.run(f"delete namespace {with_ours.namespace} --timeout=120s")
    assert gone.startswith('namespace "NAMESPACE" deleted\n')
    assert "exit code" not in gone


def test_a_watch_prints_what_changes(with_ours: Kubectl) -> None:
    with_ours.run("apply -f -", CONFIGMAP)
    command = [with_ours.binary, "-n", with_ours.namespace, "get", "cm", "-w", "--no-headers"]
    environment = {"KUBECONFIG": str(with_ours.kubeconfig), "HOME": str(with_ours.home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().split()[:2] == ["settings", "1"]
        with_ours.run("apply -f -", CONFIGMAP.replace("settings", "second"))
        assert watch.stdout.readline().split()[:2] == ["second", "1"]
        watch.terminate()
