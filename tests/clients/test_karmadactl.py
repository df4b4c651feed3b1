"""The stock karmadactl on our plane with simulated members, as its users say it."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from processes import Plane, wait_until

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: default, labels: {app: NAME}}
spec:
  replicas: 2
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: "nginx:1"}]}
"""
CONFIGMAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: legacy, namespace: default}}"
CUSTOMIZATION = """
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: declarative}
spec:
  target: {apiVersion: apps/v1, kind: Deployment}
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          return obj.spec.replicas + 1, nil
        end
"""


@dataclass(frozen=True)
class User:
    """Somebody with karmadactl and kubectl, a plane, and two members."""

    binary: Path
    kubectl: Path
    plane: Plane
    files: Path

    def run(self, words: str, *, status: int = 0) -> str:
        """What karmadactl says."""
        return self._run(self.binary, words, self.plane.kubeconfig, "", status)

    def kube(self, words: str, member: str = "", stdin: str = "") -> str:
        """What kubectl says, to the plane or to a member."""
        kubeconfig = self.plane.member(member) if member else self.plane.kubeconfig
        return self._run(self.kubectl, words, kubeconfig, stdin, 0)

    def file(self, name: str, text: str) -> Path:
        path = self.files / name
        path.write_text(text)
        return path

    def _run(self, binary: Path, words: str, kubeconfig: Path, stdin: str, status: int) -> str:
        environment = {
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(self.files),
            "PATH": os.environ["PATH"],
        }
        done = subprocess.run(
            [binary, *words.split()],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == status, said
        return said


@pytest.fixture(scope="module")
def user(
    karmadactl: Path, kubectl: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[User]:
    plane = Plane(tmp_path_factory.mktemp("federation"))
    plane.up("--fleet", "tiny")
    yield User(karmadactl, kubectl, plane, tmp_path_factory.mktemp("files"))
    plane.down()


def rows(said: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    return [line.split() for line in said.splitlines()[1:]]


def test_clusters_are_listed_and_described(user: User) -> None:
    listed = {row[0]: row[3:5] for row in rows(user.run("get clusters"))}
    assert listed == {"member1": ["Push", "True"], "member2": ["Push", "True"]}
    assert "CreateExecutionSpaceSucceed" in user.run("describe cluster member1")


def test_objects_of_the_plane_and_of_members_are_seen_together(user: User) -> None:
    file = user.file("web.yaml", DEPLOYMENT.replace("NAME", "web"))
    said = user.run(f"apply -f {file} --all-clusters")
    assert re.search(r"deployment.apps/web created\npropagationpolicy\S+ created", said)

    def everywhere() -> bool:
        table = rows(user.run("get deploy web -n default --operation-scope=all"))
        return sorted((row[1], row[2]) for row in table) == [
            ("Karmada", "4/2"),
            ("member1", "2/2"),
            ("member2", "2/2"),
        ]

    wait_until(everywhere)
    pods = rows(user.run("get pods -l app=web -C member1 --operation-scope=members"))
    pod = pods[0][0]
    assert "main: is ready" in user.run(f"logs {pod} -C member1")
    inside = f"exec {pod} --operation-scope=members --cluster=member1 -- hostname"
    assert user.run(inside).strip() == pod
    described = user.run("describe deploy web -C member1 --operation-scope=members")
    assert "MinimumReplicasAvailable" in described


def test_nodes_of_members_are_seen(user: User) -> None:
    table = rows(user.run("get nodes --operation-scope=members"))
    assert {row[1] for row in table} == {"member1", "member2"}


def test_clusters_are_cordoned_and_tainted(user: User) -> None:
    assert user.run("cordon member1") == "member1 cluster cordoned\n"
    assert "cluster.karmada.io/unschedulable" not in user.kube("get cluster member2 -o yaml")
    taints = "get cluster member1 -o jsonpath={.spec.taints[*].key}"
    assert "unschedulable" in user.kube(taints)
    assert user.run("uncordon member1") == "member1 cluster uncordoned\n"
    assert user.run("taint clusters member1 a=b:NoSchedule") == "cluster/member1 tainted\n"
    assert user.kube(taints) == "a"
    assert user.run("taint clusters member1 a:NoSchedule-") == "cluster/member1 untainted\n"
    assert user.kube(taints) == ""


def test_what_a_member_has_is_promoted(user: User) -> None:
    user.kube("create -f -", "member2", CONFIGMAP)
    said = user.run("promote configmap legacy -C member2 -n default")
    assert "(default/legacy) is promoted successfully" in said
    assert "legacy" in user.kube("get configmap legacy")
    managed = "get configmap legacy -o jsonpath={.metadata.labels}"
    wait_until(lambda: '"karmada.io/managed":"true"' in user.kube(managed, "member2"))


def test_customizations_are_checked_and_tried(user: User) -> None:
    customization = user.file("customization.yaml", CUSTOMIZATION)
    file = user.file("tried.yaml", DEPLOYMENT.replace("NAME", "tried"))
    said = user.run(f"interpret -f {customization} --check")
    assert re.search(r"InterpretReplica: +PASS", said)
    asked = f"interpret -f {customization} --operation interpretReplica --desired-file {file}"
    assert "replica:\n3" in user.run(asked)


def test_use_of_members_without_metrics_is_refused_in_words(user: User) -> None:
    said = user.run("top pods -C member1", status=1)
    assert "metrics" in said


def test_a_cluster_leaves_joins_again_and_registers_itself(user: User) -> None:
    kubeconfig = user.plane.member("member2")
    user.run(f"unjoin member2 --cluster-kubeconfig {kubeconfig}")
    assert [row[0] for row in rows(user.run("get clusters"))] == ["member1"]
    joined = user.run(f"join other --cluster-kubeconfig {kubeconfig} --cluster-context member2")
    assert "cluster(other) is joined successfully" in joined
    wait_until(lambda: ["other", "Karmada"] in [row[:2] for row in rows(user.run("get clusters"))])
    user.run(f"unjoin other --cluster-kubeconfig {kubeconfig} --cluster-context member2")
    asked = f"token create --print-register-command --kubeconfig {user.plane.kubeconfig}"
    command = user.run(asked).strip().removeprefix("karmadactl ")
    listed = user.run("token list")
    token = re.search(r"--token (\S+)", command)
    assert token is not None
    assert token[1] in listed
    said = user.run(f"{command} --cluster-name pulling --kubeconfig {kubeconfig}")
    assert "cluster(pulling) is joined successfully" in said
    assert "Approved,Issued" in user.kube("get csr")
