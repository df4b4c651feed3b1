"""Joining a real Kubernetes API server, which has no controllers to write tokens into Secrets."""

import base64

import pytest
from running import Shell

from atoll.cli.app import run
from atoll.client.endpoint import Endpoint
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient
from atoll.errors import UsageError
from atoll.members.joining import Description, join
from testenv.cluster import Cluster

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def test_a_real_cluster_joins_with_a_token_asked_for_and_leaves(
    running_shell: Shell,
    kubernetes: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plane = PlainClient(read_kubeconfig(running_shell.data / "kubeconfig"))
    member = PlainClient(read_kubeconfig(kubernetes.kubeconfig))
    for _ in range(2):
        notes = join(plane, member, Description("real"), token_wait_s=1)
        assert "valid until" in notes[0]
    secret = plane.get("/api/v1/namespaces/karmada-cluster/secrets/real")
    token = base64.b64decode(secret["data"]["token"]).decode()
    ca = base64.b64decode(secret["data"]["caBundle"])
    as_plane = PlainClient(Endpoint(kubernetes.url, ca, token=token))
    assert as_plane.get("/api/v1/nodes")["kind"] == "NodeList"
    assert as_plane.get("/version")["major"] == "1"
    assert plane.get(f"{CLUSTERS}/real")["spec"]["apiEndpoint"] == kubernetes.url

    monkeypatch.setenv("HOME", str(running_shell.home))
    words = ["unjoin", "real", "--cluster-kubeconfig", str(kubernetes.kubeconfig)]
    assert run(words) == 0
    assert capsys.readouterr().out == "cluster(real) is unjoined\n"
    assert plane.request("GET", f"{CLUSTERS}/real").status == 404
    role = f"{ROLES}/karmada-controller-manager:karmada-real"
    assert member.request("GET", role).status == 404
    # Without its controllers nobody finishes the deletion of a namespace.
    space = member.request("GET", "/api/v1/namespaces/karmada-cluster")
    assert space.status == 404 or "deletionTimestamp" in space.json()["metadata"]
    with pytest.raises(UsageError, match="is no plane, as it knows no Clusters"):
        join(member, plane, Description("m"))
    for client in (plane, member, as_plane):
        client.close()
