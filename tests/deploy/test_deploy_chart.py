"""The charts render what the product itself would install, and a real API server takes it."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosts import Host

from atoll import __version__
from atoll.hosting.definitions import host_definitions
from atoll.hosting.deploying import everything
from atoll.hosting.installation import NAMESPACE, Installation, Plane, Resources
from atoll.members.agent_home import Housing, home
from scripts.deploy import TARGET, files
from testenv.build import HELM, find
from testenv.errors import Unavailable

pytestmark = pytest.mark.testenv

CHART, AGENT_CHART = TARGET / "chart", TARGET / "agent-chart"
DIGEST = f"sha256:{'0' * 64}"

Helm = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    """Runs helm, with a home of its own; `values` is what the user chooses."""
    try:
        program = find(HELM).directory / "helm"
    except Unavailable as missing:
        if os.environ.get("ATOLL_REQUIRE_TESTENV") == "1":
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))

    def run(*words: str | Path, values: Any = None) -> subprocess.CompletedProcess[str]:
        more: list[str | Path] = []
        if values is not None:
            (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
            more = ["--values", tmp_path / "values.yaml"]
        return subprocess.run(
            [program, *words, *more],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def rendered(helm: Helm, chart: Path, values: Any, *words: str) -> dict[tuple[str, str], Any]:
    space = "karmada-system" if chart == AGENT_CHART else NAMESPACE
    where = () if "--namespace" in words else ("--namespace", space)
    done = helm("template", "x", chart, *where, *words, values=values)
    assert done.returncode == 0, done.stderr
    return by_name(each for each in yaml.safe_load_all(done.stdout) if each)


def by_name(objects: Any) -> dict[tuple[str, str], Any]:
    """Whatever their order; Helm makes the namespace itself."""
    return {
        (each["kind"], each["metadata"]["name"]): each
        for each in objects
        if each["kind"] != "Namespace"
    }


USUAL = Installation()


@pytest.mark.parametrize(
    ("wanted", "values", "words"),
    [
        pytest.param(USUAL, {}, (), id="as-usual"),
        pytest.param(
            replace(USUAL, namespace="elsewhere"), {}, ("--namespace", "elsewhere"), id="elsewhere"
        ),
        pytest.param(
            replace(
                USUAL,
                image=f"mirror/atoll@{DIGEST}",
                pull_policy="Always",
                pull_secrets=("one", "two"),
            ),
            {
                "image": {"repository": "mirror/atoll", "digest": DIGEST, "pullPolicy": "Always"},
                "imagePullSecrets": ["one", "two"],
            },
            (),
            id="image",
        ),
        pytest.param(
            replace(
                USUAL,
                image="atoll:next",
                replicas=3,
                resources=Resources({"cpu": "1", "memory": "256Mi"}, {"memory": "4Gi"}),
            ),
            {
                "image": {"tag": "next"},
                "replicas": 3,
                "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "4Gi"}},
            },
            (),
            id="sizes",
        ),
        pytest.param(
            replace(
                USUAL,
                words=("--feature-gates=Failover=true", "--lease-duration=30s"),
                priority_class="system-cluster-critical",
                node_selector={"pool": "system"},
                tolerations=({"key": "system", "operator": "Exists"},),
            ),
            {
                "featureGates": "Failover=true",
                "extraArgs": ["--lease-duration=30s"],
                "priorityClassName": "system-cluster-critical",
                "nodeSelector": {"pool": "system"},
                "tolerations": [{"key": "system", "operator": "Exists"}],
            },
            (),
            id="where-and-how",
        ),
        pytest.param(
            replace(USUAL, with_network_policy=False, with_service_monitor=True),
            {"networkPolicy": {"enabled": False}, "serviceMonitor": {"enabled": True}},
            (),
            id="monitored",
        ),
        pytest.param(
            replace(USUAL, with_service_monitor=True),
            {},
            ("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor"),
            id="monitored-as-the-kind-is-there",
        ),
        pytest.param(
            replace(
                USUAL, plane=Plane("https://atoll.atoll-system.svc"), with_service_monitor=True
            ),
            {"plane": {"kubeconfigSecret": "atoll-plane"}, "serviceMonitor": {"enabled": True}},
            (),
            id="a-plane-elsewhere",
        ),
        pytest.param(
            USUAL,
            {"serviceMonitor": {"enabled": False}},
            ("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor"),
            id="not-monitored-although",
        ),
    ],
)
def test_it_renders_what_atoll_install_applies(
    helm: Helm, wanted: Installation, values: Any, words: tuple[str, ...]
) -> None:
    assert rendered(helm, CHART, values, *words) == by_name(everything(wanted))


def test_the_agents_renders_what_atoll_register_makes(helm: Helm) -> None:
    words = ("--cluster-api-endpoint=https://edge:6443", "--cluster-region=eu", "--v=1")
    housing = Housing(image=f"atoll:{__version__}", words=words)
    cluster = {"name": "edge", "apiEndpoint": "https://edge:6443", "region": "eu"}
    values = {"kubeconfig": "kind: Config\n", "cluster": cluster, "extraArgs": ["--v=1"]}
    made = by_name(home("edge", housing, "kind: Config\n"))
    assert rendered(helm, AGENT_CHART, values) == made
    # What registering made already is not made again.
    del values["kubeconfig"]
    deployment = ("Deployment", "karmada-agent")
    assert rendered(helm, AGENT_CHART, values) == {deployment: made[deployment]}


@pytest.mark.parametrize(
    ("chart", "values", "problem"),
    [
        pytest.param(CHART, {"replicas": 0}, "minimum: got 0, want 1", id="no-replicas"),
        pytest.param(CHART, {"replica": 1}, "additional properties 'replica'", id="misspelt"),
        pytest.param(CHART, {"image": {"digest": "sha256:1"}}, "/image/digest", id="digest"),
        pytest.param(CHART, {"plane": {"serveAt": "http://x"}}, "/plane/serveAt", id="no-tls"),
        pytest.param(CHART, {"extraArgs": ["run"]}, "/extraArgs/0", id="no-option"),
        pytest.param(CHART, {"featureGates": "Failover"}, "/featureGates", id="gates"),
        pytest.param(CHART, {"serviceMonitor": {"enabled": "yes"}}, "/enabled", id="monitor"),
        pytest.param(AGENT_CHART, {}, "cluster.name is needed", id="no-name"),
        pytest.param(AGENT_CHART, {"cluster": {"name": "e" * 49}}, "/cluster/name", id="long-name"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(
    helm: Helm, chart: Path, values: Any, problem: str
) -> None:
    done = helm("template", "x", chart, values=values)
    assert done.returncode == 1
    assert problem in done.stderr


@pytest.mark.parametrize("chart", [CHART, AGENT_CHART], ids=lambda path: path.name)
def test_it_is_well_formed_and_of_this_version(helm: Helm, chart: Path) -> None:
    done = helm("lint", "--strict", chart)
    assert done.returncode == 0, done.stdout + done.stderr
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (__version__, __version__)


def test_what_follows_from_the_product_is_up_to_date() -> None:
    wanted = files()
    folders = [TARGET / "chart/crds", TARGET / "chart/files", TARGET / "manifests"]
    there = {str(path.relative_to(TARGET)) for folder in folders for path in folder.iterdir()}
    assert there == set(wanted), "run: make deploy"
    for name, text in wanted.items():
        assert (TARGET / name).read_text() == text, f"{name} is out of date; run: make deploy"


def test_a_real_server_takes_the_plain_manifests(host: Host) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    host.apply(f"/api/v1/namespaces/{NAMESPACE}", space)
    for trial in (["--dry-run=server"], []):
        done = host.kubectl("apply", "--server-side", "-f", TARGET / "manifests", *trial)
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        assert done.stdout.count("serverside-applied") == len(everything(USUAL))
    assert host.kinds_there() == {each["kind"] for each in everything(USUAL)}


def test_helm_installs_upgrades_and_uninstalls_it_on_a_real_server(host: Host, helm: Helm) -> None:
    where = ("--kubeconfig", host.kubeconfig, "--namespace", NAMESPACE)
    done = helm("install", "atoll", CHART, *where, "--create-namespace")
    assert done.returncode == 0, done.stderr
    assert f"Atoll {__version__} starts in namespace {NAMESPACE}" in done.stdout
    kinds = {each["kind"] for each in everything(USUAL)}
    assert host.kinds_there() == kinds
    for each in host_definitions():
        name = each["metadata"]["name"]
        assert host.has(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    done = helm("upgrade", "atoll", CHART, *where, values={"replicas": 3})
    assert done.returncode == 0, done.stderr
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/atoll"
    assert host.client.get(path)["spec"]["replicas"] == 3
    done = helm("uninstall", "atoll", *where)
    assert done.returncode == 0, done.stderr
    assert host.kinds_there() == {"Namespace"}
