"""Joining and letting go, by the real commands: two real servers, one the plane of the other."""

import base64
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.shell_completion import ShellComplete
from running import Shell, until

from atoll.cli.app import app, run
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
SECRETS = "/api/v1/namespaces/karmada-cluster/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NOWHERE = "https://127.0.0.1:1"


@pytest.fixture(scope="module")
def kubeconfig(running_shell: Shell) -> Iterator[Path]:
    """Of a cluster that can be joined."""
    directory = running_shell.home / "member"
    running_shell.up("--data-dir", str(directory))
    yield directory / "kubeconfig"
    running_shell.atoll("down", "--force", "--data-dir", str(directory))


Told = Callable[..., tuple[int, str, str]]


@pytest.fixture
def told(
    running_shell: Shell,
    kubeconfig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Told:
    """A command in this process, which is sooner done: its code, and what it prints."""
    for name in ("ATOLL_DATA_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(running_shell.home))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))

    def command(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def member(kubeconfig: Path) -> Iterator[PlainClient]:
    """The cluster, as its administrator."""
    client = PlainClient(read_kubeconfig(kubeconfig))
    yield client
    client.close()


def get(shell: Shell, path: str) -> Any:
    """An object of the plane; None if it is not there."""
    try:
        return shell.request("GET", path)
    except urllib.error.HTTPError as refusal:
        with refusal:
            if refusal.code == 404:
                return None
        raise


def uid(member: PlainClient) -> str:
    found: str = member.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    return found


def test_a_cluster_joins_stays_joined_however_often_and_leaves(
    running_shell: Shell, told: Told, kubeconfig: Path, member: PlainClient
) -> None:
    shell = running_shell
    words = ["join", "m1", "--cluster-kubeconfig", str(kubeconfig)]
    code, out, _ = told(*words, "--dry-run")
    assert code == 0
    assert "in the plane: Secret karmada-cluster/m1-impersonator" in out
    assert get(shell, f"{CLUSTERS}/m1") is None

    places = ["--cluster-provider", "p", "--cluster-region", "r", "--cluster-zones", "a,b"]
    assert shell.atoll(*words, *places).out == "cluster(m1) is joined successfully\n"
    cluster = get(shell, f"{CLUSTERS}/m1")
    check_cluster(cluster, member)
    check_secrets(shell, cluster, member)
    check_member(member)

    # What somebody removed, or an interrupted join did not make, is there after another.
    member.delete(f"{RBAC}/clusterrolebindings/karmada-controller-manager:karmada-m1")
    shell.request("DELETE", f"{SECRETS}/m1")
    assert told(*words)[0] == 0
    check_secrets(shell, get(shell, f"{CLUSTERS}/m1"), member)
    check_member(member)
    assert get(shell, f"{CLUSTERS}/m1")["spec"]["region"] == "r"

    code, _, error = told("join", "m2", *words[2:])
    assert error.startswith('error: this cluster has joined as "m1" already; ')
    assert (code, get(shell, f"{CLUSTERS}/m2")) == (1, None)

    code, out, error = told("unjoin", "m1", "--cluster-kubeconfig", str(kubeconfig))
    assert (code, out) == (0, "cluster(m1) is unjoined\n"), error
    assert get(shell, f"{CLUSTERS}/m1") is None
    until(lambda: get(shell, f"{SECRETS}/m1") is None, "the Secret goes with its Cluster")
    for path in ("clusterroles", "clusterrolebindings"):
        name = "karmada-controller-manager:karmada-m1"
        assert member.request("GET", f"{RBAC}/{path}/{name}").status == 404
    space = "/api/v1/namespaces/karmada-cluster"
    until(lambda: member.request("GET", space).status == 404, "the namespace goes")


def check_cluster(cluster: Any, member: PlainClient) -> None:
    spec = {key: cluster["spec"][key] for key in cluster["spec"] if key not in ADDED}
    assert spec == {
        "id": uid(member),
        "syncMode": "Push",
        "apiEndpoint": member.endpoint.server,
        "secretRef": {"namespace": "karmada-cluster", "name": "m1"},
        "impersonatorSecretRef": {"namespace": "karmada-cluster", "name": "m1-impersonator"},
        "provider": "p",
        "region": "r",
        "zones": ["a", "b"],
    }


# What the plane itself says of a new cluster.
ADDED = ("resourceModels", "taints")


def check_secrets(shell: Shell, cluster: Any, member: PlainClient) -> None:
    owner = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "name": "m1",
        "uid": cluster["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    names = {"m1": {"caBundle", "token"}, "m1-impersonator": {"token"}}
    for name, keys in names.items():
        secret = get(shell, f"{SECRETS}/{name}")
        assert secret["metadata"]["ownerReferences"] == [owner]
        assert secret["metadata"]["labels"] == {"karmada.io/system": "true"}
        assert set(secret["data"]) == keys
    secret = get(shell, f"{SECRETS}/m1")
    token = base64.b64decode(secret["data"]["token"]).decode()
    bearer = {"authorization": f"Bearer {token}"}
    anybody = PlainClient(read_kubeconfig(shell.home / "member" / "kubeconfig"))
    who = anybody.request("GET", "/api/v1/namespaces", headers=bearer)
    anybody.close()
    assert who.status == 200
    assert (
        base64.b64decode(secret["data"]["caBundle"]).strip() == (member.endpoint.ca or b"").strip()
    )


def check_member(member: PlainClient) -> None:
    name = "karmada-controller-manager:karmada-m1"
    role = member.get(f"{RBAC}/clusterroles/{name}")
    assert role["rules"] == [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["get"], "nonResourceURLs": ["*"]},
    ]
    binding = member.get(f"{RBAC}/clusterrolebindings/{name}")
    assert binding["roleRef"]["name"] == name
    subject = {"kind": "ServiceAccount", "name": "karmada-m1", "namespace": "karmada-cluster"}
    assert binding["subjects"] == [subject]
    for account in ("karmada-m1", "karmada-impersonator"):
        secret = member.get(f"/api/v1/namespaces/karmada-cluster/secrets/{account}")
        assert secret["type"] == "kubernetes.io/service-account-token"
        named = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
        assert named == account


def test_a_name_of_another_cluster_and_the_plane_itself_are_refused(
    running_shell: Shell, told: Told
) -> None:
    shell = running_shell
    with_cluster(shell, "taken", {"id": "another", "apiEndpoint": NOWHERE})
    code, _, taken = told("join", "taken")
    assert taken.startswith('error: another cluster has joined as "taken" already')
    plane = str(shell.data / "kubeconfig")
    assert "is the plane itself" in told("join", "me", "--cluster-kubeconfig", plane)[2]
    assert "must be no more than 48 characters" in told("join", "x" * 49)[2]
    assert (code, get(shell, f"{CLUSTERS}/me")) == (1, None)
    shell.request("DELETE", f"{CLUSTERS}/taken")


def with_cluster(shell: Shell, name: str, spec: dict[str, Any]) -> None:
    cluster = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", **spec},
    }
    shell.request("POST", CLUSTERS, cluster)


def test_every_context_of_a_kubeconfig_is_offered(
    running_shell: Shell, told: Told, kubeconfig: Path, member: PlainClient, tmp_path: Path
) -> None:
    shell = running_shell
    document = yaml.safe_load(kubeconfig.read_text())
    cluster, user = document["clusters"][0], document["users"][0]["name"]
    document["clusters"] += [{"name": "gone", "cluster": {"server": NOWHERE}}]
    document["contexts"] = [
        {"name": "gone", "context": {"cluster": "gone"}},
        {"name": "arn:aws:eks:eu-1:1:cluster/Prod_A", "context": named(cluster["name"], user)},
        {"name": "again", "context": named(cluster["name"], user)},
        {"name": "broken", "context": {"cluster": "nobody"}},
    ]
    document["current-context"] = "again"
    until(lambda: is_free(member), "the namespace of an earlier test goes")
    many = tmp_path / "many"
    many.write_text(yaml.safe_dump(document))
    words = ["join", "--all-contexts", "--cluster-kubeconfig", str(many), "--dry-run"]
    code, out, _ = told(*words)
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert code == 1
    assert "did not answer" in rows["gone"]
    assert "is the cluster of context again" in rows["arn:aws:eks:eu-1:1:cluster/Prod_A"]
    assert rows["again"].split()[1] == "again"
    assert rows["again"].endswith("would join")
    assert 'names the cluster "nobody"' in rows["broken"]
    assert get(shell, f"{CLUSTERS}/again") is None

    assert told(*words[:-1])[0] == 1
    assert get(shell, f"{CLUSTERS}/again")["spec"]["id"]
    assert "has joined already as again" in told(*words)[1]
    assert told("unjoin", "again", "--cluster-kubeconfig", str(kubeconfig))[0] == 0


def test_an_account_that_others_need_too_stays(
    running_shell: Shell, told: Told, kubeconfig: Path, member: PlainClient
) -> None:
    words = ["--cluster-kubeconfig", str(kubeconfig)]
    account = "/api/v1/namespaces/karmada-cluster/serviceaccounts/karmada-shared"
    for others, why in (("another", "another plane uses"), (None, "another tool made")):
        until(lambda: is_free(member), "the namespace of an earlier test goes")
        assert told("join", "shared", *words)[0] == 0
        own = member.get(account)["metadata"]["annotations"]["atoll.io/joined-by"]
        noted = others and f"{others},{own}"
        member.patch(account, {"metadata": {"annotations": {"atoll.io/joined-by": noted}}})
        code, out, error = told("unjoin", "shared", *words)
        assert (code, out) == (0, "cluster(shared) is unjoined\n"), error
        assert why in error
        left = member.get(account)["metadata"].get("annotations") or {}
        assert left.get("atoll.io/joined-by") == others
        member.delete("/api/v1/namespaces/karmada-cluster")


def is_free(member: PlainClient) -> bool:
    """Whether nothing is on its way out in the place of the accounts."""
    answer = member.request("GET", "/api/v1/namespaces/karmada-cluster")
    return answer.status == 404 or "deletionTimestamp" not in answer.json()["metadata"]


def named(cluster: str, user: str) -> dict[str, str]:
    return {"cluster": cluster, "user": user}


def test_a_cluster_that_does_not_answer_is_let_go_and_what_is_left_is_said(
    running_shell: Shell, told: Told
) -> None:
    with_cluster(running_shell, "lost", {"apiEndpoint": NOWHERE})
    code, out, error = told("unjoin", "lost", "--force")
    assert (code, out) == (0, "cluster(lost) is unjoined\n"), error
    assert f"{NOWHERE} does not answer" in error
    assert "ServiceAccount karmada-cluster/karmada-lost" in error
    assert told("unjoin", "lost") == (1, "", 'error: there is no cluster "lost" in the plane\n')


def test_a_cluster_is_not_let_go_by_the_kubeconfig_of_another(
    running_shell: Shell, kubeconfig: Path, told: Told
) -> None:
    with_cluster(running_shell, "other", {"id": "another", "apiEndpoint": NOWHERE})
    _, _, error = told("unjoin", "other", "--cluster-kubeconfig", str(kubeconfig))
    assert 'is not cluster "other"; nothing was done' in error
    assert "deletionTimestamp" not in get(running_shell, f"{CLUSTERS}/other")["metadata"]
    running_shell.request("DELETE", f"{CLUSTERS}/other")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["join"], "which name shall it have", id="no-name"),
        pytest.param(["join", "a", "--all-contexts"], "goes without a name", id="name-and-all"),
        pytest.param(["join", "a", "--cluster-kubeconfig", "no"], "cannot read no", id="no-file"),
        pytest.param(["join", "a", "--cluster-context", "x"], 'no context "x"', id="no-context"),
        pytest.param(["join", "a", "--karmada-as", "jo"], 'User "jo" cannot', id="as-another"),
        pytest.param(["join", "a", "--karmada-as-uid", "7"], "need a --karmada-as", id="as-nobody"),
        pytest.param(["unjoin", "a", "--wait", "soon"], "is no span of time", id="no-span"),
        pytest.param(["cordon", "nobody"], 'no cluster "nobody"', id="nobody"),
        pytest.param(["join", "a", "--data-dir", "x", "--context", "y"], "either", id="two-planes"),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line(told: Told, words: list[str], says: str) -> None:
    code, _, error = told(*words)
    assert code in (1, 2)
    assert says in error
    assert error.count("\n") == 1


def offers(asking: ShellComplete, given: list[str], name: str) -> bool:
    return name in [each.value for each in asking.get_completions(given, name[:3])]


def test_clusters_are_cordoned_and_tainted(running_shell: Shell, told: Told) -> None:
    shell = running_shell
    with_cluster(shell, "marked", {"apiEndpoint": NOWHERE})
    expected_of = [
        (["cordon", "marked"], "marked cluster cordoned\n"),
        (["cordon", "marked"], "marked cluster already cordoned\n"),
        (["taint", "clusters", "marked", "a=b:NoExecute"], "cluster/marked tainted\n"),
        (["uncordon", "marked"], "marked cluster uncordoned\n"),
        (["uncordon", "marked"], "marked cluster already uncordoned\n"),
    ]
    asking = ShellComplete(app, {}, "atoll", "_ATOLL_COMPLETE")
    for given in (["cordon"], ["unjoin"], ["taint", "clusters"]):
        # Completion does not wait long for a plane that is busy.
        until(lambda given=given: offers(asking, given, "marked"), "the name is offered")
    for words, expected in expected_of:
        assert told(*words) == (0, expected, "")
    taints = get(shell, f"{CLUSTERS}/marked")["spec"]["taints"]
    kept = [each for each in taints if each["key"] == "a"]
    assert [(each["value"], each["effect"]) for each in kept] == [("b", "NoExecute")]
    assert "cluster.karmada.io/unschedulable" not in {each["key"] for each in taints}
    shell.request("DELETE", f"{CLUSTERS}/marked")
