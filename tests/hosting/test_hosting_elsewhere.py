"""Replicas in one cluster and their plane on another API server, both real: from end to end.

What runs in a pod elsewhere runs here as a process, with the very kubeconfig that installing made.
"""

import base64
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from planes import asked
from replicas import ACCOUNT, CLUSTERS, LEASE, QUICK, Host, noted, replica, wait_for

from atoll.cli.app import run as run_command
from atoll.cli.run import run as run_replica
from atoll.client.kubeconfig import read_kubeconfig
from atoll.hosting.deploying import COLLECTIONS, everything, everything_on_plane
from atoll.hosting.installation import METRICS, NAME, NAMESPACE, PLANE_SECRET, Installation, Plane
from atoll.hosting.place import Place
from atoll.hosting.registering import DEFINITIONS, Registration, definitions, registrations
from atoll.hosting.rights import RIGHTS_ELSEWHERE
from atoll.wire import Wire
from testenv.build import find
from testenv.cluster import BARE, HOST, Shape, start_together, starting

pytestmark = [pytest.mark.testenv, pytest.mark.timeout(900)]

Capture = pytest.CaptureFixture[str]
DEPLOYMENT = COLLECTIONS["Deployment"].path(NAMESPACE, NAME)
WAY = COLLECTIONS["Secret"].path(NAMESPACE, PLANE_SECRET)
NUMBERS = COLLECTIONS["Secret"].path(NAMESPACE, METRICS)
MONITORS = "servicemonitors.monitoring.coreos.com"
POLICY = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/mine"
URL = "https://atoll.atoll-system.svc"


@dataclass
class Pair:
    """A cluster with room for pods, an API server for users, and the words that name both."""

    host: Host
    plane: Host

    @property
    def words(self) -> list[str]:
        return [
            f"--kubeconfig={self.host.cluster.kubeconfig}",
            f"--plane-kubeconfig={self.plane.cluster.kubeconfig}",
        ]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    shapes = (BARE, Shape(HOST.controllers, is_audited=True))
    with ExitStack() as started:
        clusters = start_together([starting(find(), each, started) for each in shapes])
        host, plane = map(Host, clusters)
        host.apply(DEFINITIONS.path(name=MONITORS), monitor_definition())
        wait_for("the kind", lambda: host.get("/apis/monitoring.coreos.com/v1"))
        yield Pair(host, plane)
        host.client.close()
        plane.client.close()


def monitor_definition() -> Wire:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": MONITORS},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": "ServiceMonitor", "plural": "servicemonitors"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def command(capsys: Capture, *words: str) -> tuple[int, list[str], str]:
    """Run a command; its exit code, what it printed, and what it told."""
    code = run_command(list(words))
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out.splitlines(), printed.err


def there(server: Host, objects: list[Wire]) -> set[tuple[str, str]]:
    """Which of these objects a server has."""
    return {
        (each["kind"], each["metadata"]["name"])
        for each in objects
        if server.get(COLLECTIONS[each["kind"]].path_of(each)) is not None
    }


def names(objects: list[Wire]) -> set[tuple[str, str]]:
    return {(each["kind"], each["metadata"]["name"]) for each in objects}


ON_HOST = everything(
    Installation(with_service_monitor=True, plane=Plane(URL, "kubeconfig", "token", "uid"))
)
ON_PLANE = everything_on_plane(Installation(with_service_monitor=True))


class TestAPlaneElsewhere:
    """In this order: what is installed once is used, and taken off."""

    def test_a_host_that_is_a_plane_itself_gets_no_second_one(
        self, pair: Pair, capsys: Capture
    ) -> None:
        here = (pair.words[0], "--namespace=alone")
        assert command(capsys, "install", *here)[0] == 0
        for word in ("install", "uninstall"):
            code, done, told = command(capsys, word, *here, pair.words[1])
            assert (code, done, told.count("\n")) == (1, [], 1)
            assert "is itself the plane of its replicas in alone; leave out --plane-ku" in told
        assert command(capsys, "uninstall", *here)[0] == 0

    def test_a_trial_tells_of_both_and_writes_nothing(self, pair: Pair, capsys: Capture) -> None:
        code, done, told = command(capsys, "install", *pair.words, "--dry-run")
        assert code == 0
        assert told == f"Note: replicas look for {pair.plane.cluster.url} on their own machine\n"
        assert done[0] == "namespace/atoll-system created on the plane (dry run)"
        assert "secret/atoll-plane created (dry run)" in done
        assert all(" created" in each for each in done)
        assert len(done) == len(ON_HOST) + len(ON_PLANE)
        assert there(pair.host, ON_HOST) == there(pair.plane, ON_PLANE) == set()

    def test_each_side_gets_what_belongs_there(self, pair: Pair, capsys: Capture) -> None:
        code, done, _ = command(capsys, "install", *pair.words)
        assert code == 0
        assert all(" created" in each for each in done), done
        assert there(pair.host, ON_HOST) == names(ON_HOST)
        assert there(pair.plane, ON_PLANE) == names(ON_PLANE)
        both = names(ON_HOST) & names(ON_PLANE)
        assert there(pair.host, ON_PLANE) == there(pair.plane, ON_HOST) == both
        assert {kind for kind, _ in both} == {"Namespace", "ServiceAccount", "Secret"}
        role = pair.plane.client.get(COLLECTIONS["ClusterRole"].path(name=NAME))
        assert role["rules"] == RIGHTS_ELSEWHERE.everywhere
        pod = pair.host.client.get(DEPLOYMENT)["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False
        name, *words = pod["containers"][0]["args"]
        said = run_replica.make_context(name, words).params
        assert (said["kubeconfig"], said["serve_at"]) == ("/etc/atoll/kubeconfig", URL)

    def test_done_again_nothing_changes(self, pair: Pair, capsys: Capture) -> None:
        for more in ([], ["--dry-run"]):
            code, done, _ = command(capsys, "install", *pair.words, *more)
            assert code == 0
            assert [each for each in done if " unchanged" not in each] == []

    def test_replicas_serve_it_with_the_rights_that_they_were_given(
        self, pair: Pair, capsys: Capture, tmp_path: Path
    ) -> None:
        kubeconfig, plane = tmp_path / "kubeconfig", pair.plane
        kubeconfig.write_bytes(decoded(pair.host, WAY, "kubeconfig"))
        assert read_kubeconfig(kubeconfig).key is None, "it is no administrator's"
        with replica(kubeconfig, *QUICK) as one:
            wait_for("one who leads", one.terms)
            assert plane.leader()
            wire = {"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}}
            wait_for("a Cluster", lambda: plane.client.create(CLUSTERS, {**head(), **wire}))
            wait_for("a policy", lambda: plane.apply(POLICY, policy()).get("metadata"))
            (url,) = re.findall(r"Serving at (127\.0\.0\.1:\d+)", one.said())
            token = decoded(pair.host, NUMBERS, "token").decode()
            may = {"authorization": f"Bearer {token}"}
            assert asked(plane, f"https://{url}/metrics", **may) == 200
            assert one.stop() == 0, one.said()
        entries = noted(plane.cluster)
        assert {each["user"]["username"] for each in entries} == {ACCOUNT}
        assert LEASE in {each["requestURI"].partition("?")[0] for each in entries}
        codes = [(each["responseStatus"]["code"], each["requestURI"]) for each in entries]
        assert [each for each in codes if each[0] in (401, 403)] == []
        assert pair.host.get(LEASE) is None, "where they run they ask for nothing"

    @pytest.mark.parametrize("word", ["install", "uninstall"])
    def test_neither_side_is_taken_for_an_installation_of_its_own(
        self, pair: Pair, capsys: Capture, word: str
    ) -> None:
        host, plane = (str(each.cluster.kubeconfig) for each in (pair.host, pair.plane))
        for there, elsewhere, problem in (
            (host, None, "serve a plane elsewhere; name it with --plane-kubeconfig"),
            (plane, None, "is the plane of replicas that run elsewhere; name it with --plane-ku"),
            (host, host, "is the host itself, which needs no second kubeconfig"),
            (plane, host, "has replicas of its own in atoll-system; take them off first"),
        ):
            more = [f"--plane-kubeconfig={elsewhere}"] if elsewhere else []
            code, done, told = command(capsys, word, f"--kubeconfig={there}", *more)
            assert (code, done, told.count("\n")) == (1, [], 1)
            assert problem in told

    def test_replicas_are_not_moved_to_another_plane(self, pair: Pair, capsys: Capture) -> None:
        (known,) = pair.host.client.get(WAY)["metadata"]["annotations"].items()
        for uid in ("another", known[1]):
            change = {"metadata": {"annotations": {known[0]: uid}}}
            pair.host.client.patch(WAY, change)
            code, _, told = command(capsys, "install", *pair.words, "--dry-run")
            assert code == (1 if uid == "another" else 0)
            assert ("serve another plane than" in told) == (uid == "another")

    def test_a_plane_of_atoll_up_is_none_for_replicas(
        self, pair: Pair, capsys: Capture, tmp_path: Path
    ) -> None:
        def atoll(word: str) -> None:
            arguments = [sys.executable, "-m", "atoll", word, "--data-dir", str(tmp_path)]
            subprocess.run(arguments, capture_output=True, timeout=240, check=True)

        atoll("up")
        try:
            words = (pair.words[0], f"--plane-kubeconfig={tmp_path / 'kubeconfig'}")
            code, done, told = command(capsys, "install", *words)
        finally:
            atoll("down")
        assert (code, done, told.count("\n")) == (1, [], 1)
        assert "of `atoll up`, which needs no replicas elsewhere" in told

    def test_without_a_monitor_nobody_is_let_read_the_numbers(
        self, pair: Pair, capsys: Capture
    ) -> None:
        code, done, _ = command(capsys, "install", *pair.words, "--no-service-monitor")
        assert code == 0
        assert [each for each in done if " unchanged" not in each] == [
            "clusterrolebinding.rbac.authorization.k8s.io/atoll-metrics deleted on the plane",
            "secret/atoll-metrics deleted on the plane",
            "serviceaccount/atoll-metrics deleted on the plane",
            "servicemonitor.monitoring.coreos.com/atoll deleted",
            "secret/atoll-metrics deleted",
        ]

    def test_taking_it_off_leaves_both_as_they_were_but_for_what_users_have(
        self, pair: Pair, capsys: Capture
    ) -> None:
        code, done, told = command(capsys, "uninstall", *pair.words)
        assert (code, done) == (2, [])
        assert "The plane has 1 cluster and 0 deliveries. They stay" in told
        code, done, _ = command(capsys, "uninstall", *pair.words, "--yes")
        assert code == 0
        assert done[0].startswith("apiservice.apiregistration.k8s.io/")
        assert done[0].endswith(" deleted on the plane")
        assert done.index("deployment.apps/atoll deleted") < done.index(
            "serviceaccount/atoll deleted on the plane"
        )
        wait_for("its home on the plane to go", lambda: there(pair.plane, ON_PLANE) == set())
        assert there(pair.host, ON_HOST) <= {("Namespace", NAMESPACE)}  # which nobody there ends
        registered = registrations(Registration(Place(NAMESPACE)))
        assert not [path for path, _ in registered if pair.plane.get(path)]
        assert all(pair.plane.get(path) for path, _ in definitions())
        # Users still have what they had, and may go on writing.
        pair.plane.client.patch(POLICY, {"metadata": {"labels": {"still": "mine"}}})
        code, done, told = command(capsys, "uninstall", *pair.words, "--yes")
        assert (code, done) == (0, [])
        assert "There is nothing of atoll in atoll-system" in told

    def test_a_plane_that_makes_no_tokens_is_told_what_it_lacks(
        self, pair: Pair, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("atoll.hosting.elsewhere._TOKEN_WAIT_S", 1)
        host, plane = (each.cluster.kubeconfig for each in (pair.plane, pair.host))
        words = (f"--kubeconfig={host}", f"--plane-kubeconfig={plane}", "--namespace=third")
        code, _, told = command(capsys, "install", *words)
        assert code == 1
        assert "puts no token into secret/atoll-token in third; its controller manager" in told


def decoded(server: Host, path: str, key: str) -> bytes:
    """What a Secret has under a key."""
    return base64.b64decode(server.client.get(path)["data"][key])


def head() -> Wire:
    return {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind}


def policy() -> Wire:
    selected = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "mine"},
        "spec": {"resourceSelectors": [selected]},
    }
