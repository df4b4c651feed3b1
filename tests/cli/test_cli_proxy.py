"""Through the plane to members with the real kubectl: objects, watches, logs and commands."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from running import Shell, until

pytestmark = pytest.mark.testenv

PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy"


@dataclass
class Through:
    """kubectl with a member, by way of the plane, as whoever this kubeconfig names."""

    user: Shell
    kubectl: Path
    words: tuple[str, ...]

    def __call__(self, *words: str, stdin: str = "") -> str:
        done = self.tried(*words, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tried(self, *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.kubectl), *self.words, *words],
            env=self.user.env(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    user = Shell(tmp_path_factory.mktemp("home"))
    user.up("--fleet", "tiny")
    yield user
    user.clean_up()


@pytest.fixture(scope="module")
def member(plane: Shell, kubectl: Path) -> Through:
    """An administrator's way to member1, where a Deployment runs."""
    server = plane.note()["url"] + PROXY.format("member1")
    config = str(plane.data / "kubeconfig")
    through = Through(plane, kubectl, ("--kubeconfig", config, "--server", server))
    through("create", "deployment", "web", "--image=nginx", "--replicas=2")
    through("rollout", "status", "deployment/web", "--timeout=180s")
    return through


def test_objects_are_read_and_written_as_in_the_member_itself(
    member: Through, plane: Shell, kubectl: Path
) -> None:
    direct = plane.kubectl(kubectl, "get", "pods", "-o", "name", cluster="member1")
    assert member("get", "pods", "-o", "name") == direct
    assert len(direct.split()) == 2
    member("label", "deployment/web", "seen=yes")
    found = plane.kubectl(
        kubectl, "get", "deploy", "-l", "seen=yes", "-o", "name", cluster="member1"
    )
    assert found.strip() == "deployment.apps/web"


def test_a_watch_goes_through(member: Through) -> None:
    member("create", "configmap", "watched")
    with subprocess.Popen(
        [str(member.kubectl), *member.words, "get", "configmap", "watched", "-w", "-o", "name"],
        env=member.user.env(),
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().strip() == "configmap/watched"
        member("label", "configmap", "watched", "colour=green")
        assert watching.stdout.readline().strip() == "configmap/watched"
        watching.terminate()


def test_logs_and_commands_go_through(member: Through) -> None:
    pod = member("get", "pods", "-o", "name").split()[0]
    assert "is ready" in member("logs", pod)
    assert member("exec", pod, "--", "hostname").strip() == pod.removeprefix("pod/")
    assert member("exec", "-i", pod, "--", "cat", stdin="one\ntwo\n") == "one\ntwo\n"
    failed = member.tried("exec", pod, "--", "sh", "-c", "exit 3")
    assert failed.returncode == 3


def test_a_caller_may_do_in_the_member_what_the_member_lets_them(
    member: Through, plane: Shell, kubectl: Path
) -> None:
    plane.kubectl(kubectl, "create", "serviceaccount", "robot")
    token = plane.kubectl(kubectl, "create", "token", "robot").strip()
    server = member.words[-1]
    authority = str(plane.data / "pki" / "ca.crt")
    words = ("--server", server, "--certificate-authority", authority, "--token", token)
    robot = Through(plane, kubectl, (*words, "--kubeconfig", "/dev/null"))
    assert "cannot get resource" in robot.tried("get", "pods").stderr

    way = ["--verb=get,list,watch,create", "--resource=clusters.cluster.karmada.io/proxy"]
    plane.kubectl(kubectl, "create", "clusterrole", "way", *way)
    bound = ["--clusterrole=way", "--serviceaccount=default:robot"]
    plane.kubectl(kubectl, "create", "clusterrolebinding", "way", *bound)

    def refusal() -> str:
        return robot.tried("get", "pods").stderr

    # The member's own word now, once it has been told to let the plane speak for the robot.
    told = 'User "system:serviceaccount:default:robot" cannot list resource "pods"'
    until(lambda: told in refusal(), "the member refuses the robot itself")
    bound = ["--clusterrole=view", "--serviceaccount=default:robot"]
    plane.kubectl(kubectl, "create", "clusterrolebinding", "robots", *bound, cluster="member1")
    until(lambda: robot.tried("get", "pods").returncode == 0, "the member lets the robot read")
    assert "forbidden" in robot.tried("delete", "deployment", "web").stderr


def test_a_cluster_that_is_not_there_is_said_to_be(member: Through) -> None:
    here = Through(member.user, member.kubectl, member.words[:2])
    refused = here.tried("get", "--raw", f"{PROXY.format('member9')}/api")
    assert 'clusters.cluster.karmada.io "member9" not found' in refused.stderr
