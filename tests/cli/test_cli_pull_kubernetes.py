"""A real Kubernetes API server that pulls: its agent needs nothing that only ours has."""

import shlex

import pytest
from pulling import QUICK, agent
from running import Shell, until

from atoll.cli.app import run
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient
from testenv.cluster import Cluster

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
MAPS = "/api/v1/namespaces/default/configmaps"
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "pulled"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "pulled"}],
        "placement": {"clusterAffinity": {"clusterNames": ["real"]}},
    },
}


def test_a_real_cluster_pulls_what_is_for_it_and_leaves(
    running_shell: Shell,
    kubernetes: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plane = running_shell
    for name in ("ATOLL_DATA_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(plane.home))
    assert run(["token", "create", "--print-register-command"]) == 0
    # A namespace of its own: without controllers nobody finishes the deletion of one.
    own = ["-n", "pulling", "--cluster-name", "real", "--kubeconfig", str(kubernetes.kubeconfig)]
    assert run([*shlex.split(capsys.readouterr().out)[1:], *own]) == 0
    command = shlex.split(capsys.readouterr().out.splitlines()[1])
    member = PlainClient(read_kubeconfig(kubernetes.kubeconfig))
    with agent(plane, *command[1:], *QUICK, "--report-secrets", "None"):
        until(lambda: "real" in ready_clusters(plane), "the cluster is ready")
        spec = plane.request("GET", f"{CLUSTERS}/real")["spec"]
        assert "secretRef" not in spec
        plane.create("pulled")
        plane.request("POST", POLICIES, POLICY)
        until(lambda: member.request("GET", f"{MAPS}/pulled").status == 200, "it is there")
        leave = ["unregister", "real", "--wait", "200s", "-n", "pulling"]
        assert run([*leave, "--cluster-kubeconfig", str(kubernetes.kubeconfig)]) == 0
    assert member.request("GET", f"{MAPS}/pulled").status == 404
    assert capsys.readouterr().out == "cluster(real) is unregistered\n"
    member.close()


def ready_clusters(plane: Shell) -> list[str]:
    return [
        cluster["metadata"]["name"]
        for cluster in plane.request("GET", CLUSTERS)["items"]
        for each in (cluster.get("status") or {}).get("conditions") or ()
        if (each["type"], each["status"]) == ("Ready", "True")
    ]
