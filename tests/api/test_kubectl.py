"""The real kubectl, talking to ours and to the real server: both must make it say the same."""

import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kubectl_files import CHANGED, CONFIGMAP, CRD, DEPLOYMENT, GADGET, LIST
from ours import Ours

from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import write_kubeconfig
from testenv.cluster import Cluster

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
        }
        done = subprocess.run(
            arguments, input=stdin, capture_output=True, text=True, env=environment, timeout=60
        )
        failed = f"exit code {done.returncode}\n" if done.returncode else ""
        return self._plain(f"{done.stdout}{done.stderr}{failed}")

    def _plain(self, text: str) -> str:
        """The text without what must differ from server to server and from run to run."""
        text = text.replace(self.namespace, "NAMESPACE")
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
        text = re.sub(r'resourceVersion: "\d+"', "resourceVersion: VERSION", text)
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


Session = list[tuple[str, str]]
SESSIONS: dict[str, Session] = {
    "create, get and replace": [
        ("create -f -", CONFIGMAP),
        ("create -f -", CONFIGMAP),
        ("get configmaps", ""),
        ("get cm settings -o yaml", ""),
        ("get cm settings -o jsonpath={.data.color}", ""),
        ("get cm -l app=shop --show-labels", ""),
        ("get cm --field-selector metadata.name=nope", ""),
        ("get cm nope", ""),
        ("get nonsense", ""),
        ("replace -f -", CONFIGMAP.replace("red", "blue")),
        ("get cm settings -o jsonpath={.data.color}", ""),
        ("replace --force -f -", CONFIGMAP),
        ("delete cm settings", ""),
        ("delete cm settings", ""),
        ("delete cm settings --ignore-not-found", ""),
    ],
    "a list of objects in one file": [
        ("create -f -", LIST),
        ("apply -f -", LIST.replace("red", "blue")),
        ("get cm -o name", ""),
        ("delete -f -", LIST),
    ],
    "apply on the client's side": [
        ("apply -f -", DEPLOYMENT),
        ("apply -f -", DEPLOYMENT),
        ("diff -f -", CHANGED),
        ("apply --dry-run=server -f -", CHANGED),
        ("apply -f -", CHANGED),
        ("get deployment web", ""),
        ("get deployment web -o wide", ""),
        ("get deployment web -o jsonpath={.spec.template.spec.containers[*].image}", ""),
        ("get deployment web -o yaml", ""),
        ("apply view-last-applied deployment web", ""),
        ("delete -f -", DEPLOYMENT),
    ],
    "apply on the server's side": [
        ("apply --server-side -f -", DEPLOYMENT),
        ("apply --server-side -f -", DEPLOYMENT),
        ("apply --server-side --field-manager=other -f -", CHANGED),
        ("diff --server-side -f -", CHANGED),
        ("apply --server-side --field-manager=other --force-conflicts -f -", CHANGED),
        ("get deployment web -o yaml --show-managed-fields", ""),
    ],
    "from the client's side to the server's": [
        ("apply -f -", DEPLOYMENT),
        ("apply --server-side -f -", DEPLOYMENT),
        ("get deployment web -o yaml --show-managed-fields", ""),
    ],
    "patch, label, annotate, scale, set": [
        ("apply -f -", DEPLOYMENT),
        ("""patch deployment web -p '{"spec":{"replicas":1}}'""", ""),
        ("""patch deployment web --type=merge -p '{"spec":{"paused":true}}'""", ""),
        (
            "patch deployment web --type=json "
            """-p '[{"op":"replace","path":"/spec/replicas","value":5}]'""",
            "",
        ),
        (
            "patch deployment web --subresource=status --type=merge "
            """-p '{"status":{"replicas":4}}'""",
            "",
        ),
        ("label deployment web tier=front", ""),
        ("label deployment web tier=back", ""),
        ("label deployment web tier=back --overwrite", ""),
        ("label deployment web tier-", ""),
        ("annotate deployment web note=hello", ""),
        ("scale deployment web --replicas=7", ""),
        ("scale deployment web --current-replicas=1 --replicas=2", ""),
        ("set image deployment/web main=nginx:9", ""),
        ("set env deployment/web A=b", ""),
        ("rollout pause deployment web", ""),
        ("rollout resume deployment web", ""),
        ("get deployment web -o yaml", ""),
    ],
    "waiting and deleting": [
        ("apply -f -", CONFIGMAP),
        ("wait --for=jsonpath={.data.color}=red cm/settings --timeout=10s", ""),
        ("wait --for=jsonpath={.data.color}=blue cm/settings --timeout=1s", ""),
        ("delete cm settings --cascade=background", ""),
        ("wait --for=delete cm/settings --timeout=10s", ""),
        ("apply -f -", CONFIGMAP),
        ("delete cm --all", ""),
        ("get cm", ""),
        ("delete cm settings --dry-run=server", ""),
    ],
    "definitions and their objects": [
        ("apply -f -", CRD),
        ("wait --for=condition=Established crd/gadgets.kubectl.example.com --timeout=20s", ""),
        ("apply -f -", GADGET),
        ("apply -f -", GADGET.replace("3", "4")),
        ("get gd", ""),
        ("get gadgets.v1.kubectl.example.com one -o yaml", ""),
        ("apply -f -", GADGET.replace("3", "30")),
        ("apply -f -", GADGET.replace("size", "sise").replace("one", "two")),
        ("scale gadget one --replicas=7", ""),
        ("patch gadget one -p '{}'", ""),
        ("""patch gadget one --type=merge -p '{"spec":{"size":8}}'""", ""),
        ("explain gadget.spec", ""),
        ("delete gadget one", ""),
        ("delete crd gadgets.kubectl.example.com", ""),
    ],
    "rights": [
        ("create serviceaccount robot", ""),
        ("create token robot --duration=10s", ""),
        ("create token nobody", ""),
        ("create role reader --verb=get,list --resource=configmaps,deployments.apps", ""),
        ("create rolebinding readers --role=reader --user=ann --serviceaccount=a:b", ""),
        ("get roles,rolebindings -o wide", ""),
        ("describe role reader", ""),
        ("describe rolebinding readers", ""),
        ("auth can-i list configmaps", ""),
        ("auth can-i list secrets --as nobody", ""),
        ("auth can-i get /api --as nobody", ""),
        ("auth can-i --list --as nobody", ""),
        ("auth whoami --as ann --as-group team --as-user-extra a=b", ""),
        ("get configmaps --as nobody", ""),
    ],
    "explain": [
        ("explain configmap.data", ""),
        ("explain deployment.spec.strategy", ""),
        ("explain deployment.spec.template.spec.containers.ports --recursive", ""),
        ("explain nonsense", ""),
    ],
    "sorting and paging": [
        ("apply -f -", CONFIGMAP),
        ("apply -f -", CONFIGMAP.replace("settings", "another")),
        ("apply -f -", CONFIGMAP.replace("settings", "third")),
        ("get cm --sort-by=.metadata.name -o name", ""),
        ("get cm --sort-by=.metadata.name", ""),
        ("get cm --chunk-size=1", ""),
        ("get cm -o custom-columns=N:.metadata.name,C:.data.color", ""),
        ("get cm,deploy", ""),
    ],
}


@pytest.mark.parametrize("session", SESSIONS)
def test_kubectl_says_the_same_of_both_servers(
    with_ours: Kubectl, with_real: Kubectl, session: str
) -> None:
    for command, stdin in SESSIONS[session]:
        expected = with_real.run(command, stdin)
        assert with_ours.run(command, stdin) == expected, command


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
    gone = with_ours.run(f"delete deployment web --cascade={cascade} --timeout=20s")
    assert gone.startswith('deployment.apps "web" deleted')
    assert "exit code" not in gone
    assert "NotFound" in with_ours.run("get deployment web")


def test_a_namespace_can_be_deleted_and_waited_for(with_ours: Kubectl) -> None:
    with_ours.run("apply -f -", CONFIGMAP)
    gone = with_ours.run(f"delete namespace {with_ours.namespace} --timeout=20s")
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
