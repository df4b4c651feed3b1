"""The definitions we print, on the real API server: taken, established, and used as on ours."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from karmada_samples import OWN_SAMPLES, SAMPLES, Sample

from testenv.cluster import Cluster

pytestmark = pytest.mark.testenv
ROOT = Path(__file__).parents[2]
# Clusters are no custom resources on a host: `atoll run` serves them.
ALL = tuple(each for each in (*SAMPLES, *OWN_SAMPLES) if each.kind != "Cluster")


def kubectl_on(cluster: Cluster, kubectl: Path, *arguments: str, given: str = "") -> str:
    command = [kubectl, "--kubeconfig", cluster.kubeconfig, *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(kubernetes: Cluster, kubectl: Path) -> Iterator[Cluster]:
    """The real API server, with what `make crds` prints; others find it as it was."""
    printed = subprocess.run(
        [sys.executable, "-m", "scripts.crds"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    kubectl_on(kubernetes, kubectl, "apply", "--server-side", "-f", "-", given=printed)
    names = [line for line in printed.splitlines() if line.startswith("  name: ")]
    crds = [f"crd/{line.removeprefix('  name: ')}" for line in names]
    waiting = ("wait", "--for=condition=Established", "--timeout=3m")
    kubectl_on(kubernetes, kubectl, *waiting, *crds)
    yield kubernetes
    # A kind that has objects is looked after once in five seconds, five kinds at a time.
    for sample in ALL:
        kubernetes.request("DELETE", sample.path())
    kubectl_on(kubernetes, kubectl, "delete", "--timeout=3m", *crds)


@pytest.mark.parametrize("sample", ALL, ids=[sample.kind for sample in ALL])
def test_a_real_server_serves_every_kind(installed: Cluster, sample: Sample):
    body = json.dumps(sample.named("printed")).encode()
    headers = {"Content-Type": "application/json"}
    made = installed.request("POST", sample.path(), body, headers)
    assert made.status == 201, made.json()
    assert made.json()["kind"] == sample.kind


def test_kubectl_explains_our_own_fields(installed: Cluster, kubectl: Path):
    about = kubectl_on(installed, kubectl, "explain", "propagationpolicy.spec.atoll.select.order")
    assert "Cheapest (the lowest" in about
    about = kubectl_on(installed, kubectl, "explain", "clusterprice.spec")
    assert "What a CPU costs per hour" in about
