"""Installing on a real API server, bringing it up to date, and taking it off again."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hosts import REGISTRATION, Host, command

from atoll.errors import UsageError
from atoll.hosting.deploying import (
    COLLECTIONS,
    PODS,
    SERVICE_MONITORS,
    everything,
    still_missing,
)
from atoll.hosting.installation import LABELS, NAMESPACE, Installation, Plane
from atoll.hosting.registering import DEFINITIONS, definitions, registrations
from atoll.hosting.removing import LEASES, RECORDS, Wish, purge
from atoll.members.unjoining import WORKS

pytestmark = pytest.mark.testenv

Capture = pytest.CaptureFixture[str]
EVERYTHING = set(COLLECTIONS) - {"ServiceMonitor", "Secret"}
DEPLOYMENT = COLLECTIONS["Deployment"].path(NAMESPACE, "atoll")
MONITORS = "servicemonitors.monitoring.coreos.com"


def test_everything_is_made_and_told_and_done_again_nothing_changes(
    host: Host, capsys: Capture
) -> None:
    code, told, problems = command(capsys, "install", "--kubeconfig", host.kubeconfig)
    assert (code, problems) == (0, "")
    assert told[0] == "namespace/atoll-system created"
    assert "deployment.apps/atoll created" in told
    assert all(line.endswith(" created") for line in told)
    assert host.kinds_there() == EVERYTHING
    code, told, _ = command(capsys, "install", "--kubeconfig", host.kubeconfig)
    assert code == 0
    assert all(line.endswith(" unchanged") for line in told), told


def test_another_wish_changes_only_what_differs(host: Host, capsys: Capture) -> None:
    command(capsys, "install", "--kubeconfig", host.kubeconfig)
    words = ["--replicas", "3", "--no-network-policy", "--limits", "memory=2Gi,cpu=2"]
    _, tried, _ = command(capsys, "install", "--kubeconfig", host.kubeconfig, *words, "--dry-run")
    _, told, _ = command(capsys, "install", "--kubeconfig", host.kubeconfig, *words)
    changed = [line for line in told if not line.endswith(" unchanged")]
    assert changed == [
        "deployment.apps/atoll configured",
        "networkpolicy.networking.k8s.io/atoll deleted",
    ]
    assert tried == [f"{line} (dry run)" for line in told]
    spec = host.client.get(DEPLOYMENT)["spec"]
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "256Mi"},
        "limits": {"cpu": "2", "memory": "2Gi"},
    }


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param(
            ["install", "--serve-at", "https://x"], "at goes with --plane-kubeconfig", id="no-plane"
        ),
        *(
            pytest.param([word, "--plane-context", "x"], "context goes with --plane-kube", id=word)
            for word in ("install", "uninstall")
        ),
        pytest.param(
            ["install", "--requests", "much"], 'requests "much" cannot be read', id="amounts"
        ),
        pytest.param(["install", "-o", "yaml"], "-o goes with --dry-run", id="form"),
    ],
)
def test_what_cannot_be_meant_is_refused(capsys: Capture, words: list[str], problem: str) -> None:
    code, done, told = command(capsys, *words, "--kubeconfig", "none")
    assert (code, done, told.count("\n")) == (2, [], 1)
    assert problem in told


def test_a_dry_run_writes_nothing(host: Host, capsys: Capture) -> None:
    code, told, _ = command(capsys, "install", "--kubeconfig", host.kubeconfig, "--dry-run")
    assert code == 0
    assert told[0] == "namespace/atoll-system created (dry run)"
    assert host.kinds_there() == set()


def test_manifests_are_printed_for_others_to_apply(capsys: Capture) -> None:
    # No host is asked: there is none by that name.
    words = ("install", "--kubeconfig", "nowhere", "--replicas", "1", "--dry-run")
    _, lines, _ = command(capsys, *words, "-o", "yaml")
    text = "\n".join(lines)
    assert "&id" not in text
    assert list(yaml.safe_load_all(text)) == everything(Installation(replicas=1))
    _, lines, _ = command(capsys, *words, "-o", "json")
    assert json.loads("\n".join(lines))["items"] == everything(Installation(replicas=1))
    _, lines, told = command(capsys, *words, "-o", "json", "--plane-kubeconfig", "nowhere")
    elsewhere = Installation(replicas=1, plane=Plane("https://atoll.atoll-system.svc"))
    assert json.loads("\n".join(lines))["items"] == everything(elsewhere)
    assert told == "Left out: what belongs on the plane, and secret/atoll-plane with its token\n"


def test_its_pods_keep_to_the_strictest_standard_of_the_host(host: Host, capsys: Capture) -> None:
    command(capsys, "install", "--kubeconfig", host.kubeconfig)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        **host.client.get(DEPLOYMENT)["spec"]["template"],
    }
    pod["metadata"]["name"] = "one"
    assert host.client.create(
        PODS, {**pod, "metadata": {**pod["metadata"], "namespace": NAMESPACE}}
    )
    labels = host.client.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_prometheus_operator_is_told_where_there_is_one(host: Host, capsys: Capture) -> None:
    path, monitor = DEFINITIONS.path(name=MONITORS), SERVICE_MONITORS.path(NAMESPACE, "atoll")
    wish = ("install", "--kubeconfig", host.kubeconfig)
    code, _, told = command(capsys, *wish, "--service-monitor")
    assert code == 1
    assert "does not know the kind; try: --no-service-monitor" in told
    host.apply(path, service_monitor_definition())
    try:
        host.wait_for(lambda: host.has("/apis/monitoring.coreos.com/v1"))
        _, done, _ = command(capsys, *wish)
        assert "servicemonitor.monitoring.coreos.com/atoll created" in done
        endpoint = host.client.get(monitor)["spec"]["endpoints"][0]
        assert endpoint["authorization"]["credentials"] == {"name": "atoll-metrics", "key": "token"}
        token = host.client.get(COLLECTIONS["Secret"].path(NAMESPACE, "atoll-metrics"))
        assert token["type"] == "kubernetes.io/service-account-token"
        _, done, _ = command(capsys, *wish, "--no-service-monitor")
        assert [each for each in done if not each.endswith(" unchanged")] == [
            "servicemonitor.monitoring.coreos.com/atoll deleted",
            "clusterrolebinding.rbac.authorization.k8s.io/atoll-metrics deleted",
            "secret/atoll-metrics deleted",
            "serviceaccount/atoll-metrics deleted",
        ]
    finally:
        host.client.delete(path)


def service_monitor_definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "ServiceMonitor", "plural": "servicemonitors"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": MONITORS},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def test_who_may_not_is_told_so_before_anything_is_written(
    host: Host, capsys: Capture, tmp_path: Path
) -> None:
    config = yaml.safe_load(host.kubeconfig.read_text())
    config["users"][0]["user"] = {
        "client-certificate-data": _inline(host.cluster.user.certificate),
        "client-key-data": _inline(host.cluster.user.key),
    }
    weak = tmp_path / "kubeconfig"
    weak.write_text(yaml.safe_dump(config))
    for words in (["install"], ["uninstall"]):
        code, done, told = command(capsys, *words, "--kubeconfig", weak)
        assert (code, done) == (1, [])
        assert told.startswith(f"error: {host.cluster.url}")
        assert 'is forbidden: User "user" cannot get resource "clusterrolebindings"' in told
        assert told.count("\n") == 1
    assert host.kinds_there() == set()


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def test_what_is_no_host_is_said_to_be_none(capsys: Capture, tmp_path: Path) -> None:
    code, _, told = command(capsys, "install", "--kubeconfig", tmp_path / "none")
    assert (code, told.count("\n")) == (1, 1)
    assert "cannot read" in told
    cluster = {"server": "https://127.0.0.1:1"}
    gone = {
        "clusters": [{"name": "a", "cluster": cluster}],
        "contexts": [{"name": "a", "context": {"cluster": "a"}}],
        "current-context": "a",
    }
    (tmp_path / "gone").write_text(yaml.safe_dump(gone))
    code, _, told = command(capsys, "install", "--kubeconfig", tmp_path / "gone")
    assert (code, told.count("\n")) == (1, 1)
    assert "did not answer: Connection refused" in told


def test_a_second_installation_finds_no_room(host: Host, capsys: Capture) -> None:
    command(capsys, "install", "--kubeconfig", host.kubeconfig)
    for word in ("install", "uninstall"):
        words = (word, "--kubeconfig", host.kubeconfig, "--namespace", "elsewhere")
        code, _, told = command(capsys, *words)
        assert code == 1
        assert "a host has room for one; use --namespace atoll-system" in told


def test_what_helm_looks_after_is_left_to_helm(host: Host, capsys: Capture) -> None:
    command(capsys, "install", "--kubeconfig", host.kubeconfig)
    annotations = {"meta.helm.sh/release-name": "ours"}
    host.client.patch(DEPLOYMENT, {"metadata": {"annotations": annotations}})
    for word in ("install", "uninstall"):
        code, _, told = command(capsys, word, "--kubeconfig", host.kubeconfig)
        assert code == 1
        assert "as release ours; use helm upgrade or helm uninstall" in told


def test_waiting_tells_what_keeps_it_from_running(host: Host, capsys: Capture) -> None:
    words = ("install", "--kubeconfig", host.kubeconfig, "--wait", "100ms")
    code, _, told = command(capsys, *words)
    assert code == 124
    assert "not within 0.1 s: 0 of 2 replicas run; try: kubectl" in told
    metadata = {"name": "stuck", "namespace": NAMESPACE, "labels": LABELS}
    template = host.client.get(DEPLOYMENT)["spec"]["template"]
    pod = host.client.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata}
    )
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "atoll"'}
    status = {
        "name": "atoll",
        "image": "atoll",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": waiting},
    }
    host.client.replace(PODS, {**pod, "status": {"containerStatuses": [status]}}, "status")
    expected = '0 of 2 replicas run; ImagePullBackOff: Back-off pulling image "atoll"'
    assert still_missing(host.client, NAMESPACE) == expected
    deployment = host.client.get(DEPLOYMENT)
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    good = dict.fromkeys(counts, 2)
    status = {**good, "observedGeneration": deployment["metadata"]["generation"]}
    host.client.replace(COLLECTIONS["Deployment"], {**deployment, "status": status}, "status")
    code, done, _ = command(capsys, *words)
    assert (code, done[-1]) == (0, "atoll runs in atoll-system")


def test_taking_it_off_removes_all_that_was_made_and_says_so(host: Host, capsys: Capture) -> None:
    words = ("uninstall", "--kubeconfig", host.kubeconfig)
    command(capsys, "install", "--kubeconfig", host.kubeconfig)
    code, done, told = command(capsys, *words)
    assert (code, told) == (0, "")
    assert done[0] == "deployment.apps/atoll deleted"
    assert done[-1] == "namespace/atoll-system deleted"
    assert host.kinds_there() <= {"Namespace"}  # which nobody here finishes to delete
    code, done, told = command(capsys, *words)
    assert (code, done) == (0, [])
    assert told.startswith("There is nothing of atoll in atoll-system")


def test_taking_it_off_leaves_an_api_alone_that_another_program_serves(
    host: Host, capsys: Capture
) -> None:
    ((path, wire), *_) = registrations(REGISTRATION)
    wire["spec"]["service"]["name"] = "karmada-aggregated-apiserver"
    wire["spec"]["insecureSkipTLSVerify"] = True
    host.apply(path, wire)
    try:
        code, done, _ = command(capsys, "uninstall", "--kubeconfig", host.kubeconfig)
        assert (code, done) == (0, [])
        assert host.has(path)
    finally:
        host.client.delete(path)


class TestTakingItOffWhileUsersHaveSomething:
    """In this order: definitions take a server long to serve, and longer to forget."""

    def test_asks_first(self, used_host: Host, capsys: Capture) -> None:
        code, done, told = command(capsys, "uninstall", "--kubeconfig", used_host.kubeconfig)
        assert (code, done) == (2, [])
        assert "The plane has 1 cluster and 1 delivery. They stay" in told
        assert "nothing was removed; there is no terminal to ask on; try: --yes" in told

    def test_purges_nothing_while_an_agent_would_act_on_it(
        self, used_host: Host, capsys: Capture
    ) -> None:
        words = ("uninstall", "--kubeconfig", used_host.kubeconfig, "--purge", "--yes")
        path = RECORDS.path(name="m1")
        with used_host.unasked():
            used_host.client.patch(path, {"spec": {"syncMode": "Pull"}})
        code, done, told = command(capsys, *words)
        assert (code, done) == (1, [])
        assert "m1 pulls, and its agent would take back" in told
        assert "try: atoll unregister m1" in told
        with used_host.unasked():
            used_host.client.patch(path, {"spec": {"syncMode": "Push"}})

    def test_purges_nothing_while_somebody_leads(self, used_host: Host) -> None:
        spec: dict[str, Any] = {"holderIdentity": "other", "leaseDurationSeconds": 15}
        used_host.create(LEASES, "atoll-controllers", {"namespace": NAMESPACE}, spec)
        path = LEASES.path(NAMESPACE, "atoll-controllers")

        def renew(seconds: float) -> None:
            used_host.client.patch(path, {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})

        with pytest.raises(UsageError, match="nothing was purged: other still leads"):
            list(purge(used_host.client, Wish(NAMESPACE), renew))
        assert all(used_host.has(path) for path, _ in definitions())

    def test_lets_the_host_ask_nobody_first_and_keeps_what_users_have(
        self, used_host: Host, capsys: Capture
    ) -> None:
        words = ("uninstall", "--kubeconfig", used_host.kubeconfig, "--yes")
        code, done, _ = command(capsys, *words)
        assert code == 0
        assert [line.split("/")[0] for line in done[:3]] == [
            "apiservice.apiregistration.k8s.io",
            "mutatingwebhookconfiguration.admissionregistration.k8s.io",
            "validatingwebhookconfiguration.admissionregistration.k8s.io",
        ]
        assert not [path for path, _ in registrations(REGISTRATION) if used_host.has(path)]
        assert used_host.has(WORKS.path("karmada-es-m1", "w"))
        for path, wire in definitions():
            conversion = used_host.client.get(path)["spec"]["conversion"]
            assert conversion["strategy"] == "None", wire["metadata"]["name"]

    def test_purging_deletes_every_kind_whoever_holds_their_objects(
        self, used_host: Host, capsys: Capture
    ) -> None:
        words = ("uninstall", "--kubeconfig", used_host.kubeconfig, "--purge", "--yes")
        code, done, told = command(capsys, *words, "--wait", "3m")
        assert code == 0
        assert "The clusters keep what was delivered" in told
        assert "namespace/karmada-es-m1 deleted" in done
        assert not [path for path, _ in definitions() if used_host.has(path)]
