"""Clusters that pull, by the real commands over HTTPS: from a token to the agent's last word."""

import shlex
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pulling import QUICK, agent, clusters
from running import Shell, until

from atoll.cli.app import run
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
POLICIES = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SECRETS = "/api/v1/namespaces/karmada-cluster/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
UNREACHABLE = "cluster.karmada.io/unreachable"

Told = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user with a plane that soon misses an agent."""
    user = Shell(tmp_path_factory.mktemp("home"))
    user.up("--cluster-monitor-period", "1s", "--cluster-monitor-grace-period", "12s")
    yield user
    user.clean_up()


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    with clusters(tmp_path_factory.mktemp("members"), "far", "farther") as found:
        yield found


@pytest.fixture
def told(plane: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """A command in this process, which is sooner done: its code, and what it prints."""
    for name in ("ATOLL_DATA_DIR", "XDG_STATE_HOME", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(plane.home))

    def command(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        return code, *capsys.readouterr()

    return command


@pytest.fixture
def invited(told: Told) -> list[str]:
    """The command by which a cluster registers."""
    code, out, error = told("token", "create", "--print-register-command")
    assert code == 0, error
    return shlex.split(out)[1:]


def get(shell: Shell, path: str) -> Any:
    """An object of the plane; None if it is not there."""
    try:
        return shell.request("GET", path)
    except urllib.error.HTTPError as refusal:
        with refusal:
            if refusal.code == 404:
                return None
        raise


def ready(shell: Shell, name: str) -> str:
    cluster = get(shell, f"{CLUSTERS}/{name}") or {}
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return next((each["status"] for each in conditions if each["type"] == "Ready"), "")


def is_unreachable(shell: Shell, name: str) -> bool:
    taints = get(shell, f"{CLUSTERS}/{name}")["spec"].get("taints") or ()
    return any(each["key"] == UNREACHABLE for each in taints)


def test_tokens_are_made_listed_and_deleted(told: Told) -> None:
    code, out, _ = told("token", "create", "--ttl", "0", "--description", "for edge")
    token = out.strip()
    assert (code, len(token)) == (0, 23)
    out = told("token", "list")[1]
    assert out.splitlines()[0].split("   ")[0] == "TOKEN"
    row = next(line for line in out.splitlines() if line.startswith(token))
    cells = [each.strip() for each in row.split("   ") if each.strip()]
    assert cells[1:5] == ["<forever>", "<never>", "signing,authentication", "for edge"]
    assert cells[5] == "system:bootstrappers:karmada:default-cluster-token"
    assert told("token", "delete", token)[1] == f'bootstrap token "{token[:6]}" deleted\n'
    assert token not in told("token", "list")[1]


BAD_TOKENS = [
    pytest.param(["create", "--ttl", "soon"], "is no span of time", id="ttl"),
    pytest.param(["create", "--usages", "flying"], 'no usage "flying"', id="usage"),
    pytest.param(["create", "--groups", "people"], '"people" is no group for tokens', id="group"),
    pytest.param(["delete", "abcdef"], 'there is no token "abcdef"', id="unknown"),
    pytest.param(["delete", "abc"], "is no token; it has the form", id="no token"),
]


@pytest.mark.parametrize(("words", "problem"), BAD_TOKENS)
def test_a_token_that_cannot_be_is_refused_in_a_line(
    words: list[str], problem: str, told: Told
) -> None:
    code, out, error = told("token", *words)
    assert (code in (1, 2), out, error.count("\n")) == (True, "", 1)
    assert problem in error


HASH = "--discovery-token-ca-cert-hash"
TOKEN = "--token"
BAD_REGISTRATIONS = [
    pytest.param({1: "nowhere"}, [], "write HOST:PORT", id="address"),
    pytest.param({1: "127.0.0.1:1"}, [], "did not answer: Connection refused", id="nobody there"),
    pytest.param({3: "abcdef.0123456789abcdef"}, [], "does not know the token", id="unknown token"),
    pytest.param({3: "abcdef"}, [], "is no token", id="no token"),
    pytest.param({5: "sha256:12"}, [], "is no hash", id="no hash"),
    pytest.param({5: "sha256:" + 64 * "0"}, [], "may be an impostor", id="another plane"),
    pytest.param({}, ["--cluster-name", "Far"], "cannot be called", id="name"),
    pytest.param({}, ["--cluster-name", "rbac-generator"], "Karmada uses", id="reserved name"),
    pytest.param({}, ["--cluster-name", 44 * "f"], "more than 43", id="name for a certificate"),
]


@pytest.mark.parametrize(("instead", "more", "problem"), BAD_REGISTRATIONS)
def test_what_cannot_be_trusted_or_named_is_refused_in_a_line(
    instead: dict[int, str],
    more: list[str],
    problem: str,
    *,
    told: Told,
    invited: list[str],
    members: dict[str, Path],
) -> None:
    words = [instead.get(number, word) for number, word in enumerate(invited)]
    quick = ["--discovery-timeout", "0", "--kubeconfig", str(members["far"])]
    code, out, error = told(*words, *quick, *more)
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert problem in error


def test_a_token_whose_secret_is_another_is_not_believed(
    told: Told, invited: list[str], members: dict[str, Path]
) -> None:
    token = invited[3]
    invited[3] = token[:-1] + ("a" if token[-1] != "a" else "b")
    quick = ["--discovery-timeout", "0", "--kubeconfig", str(members["far"])]
    assert "or is an impostor" in told(*invited, *quick)[2]


def test_the_plane_itself_and_a_dry_run_register_nothing(
    plane: Shell, told: Told, invited: list[str], members: dict[str, Path]
) -> None:
    error = told(*invited, "--kubeconfig", str(plane.data / "kubeconfig"))[2]
    assert "is the plane itself, and cannot be its own member" in error
    code, out, _ = told(*invited, "--kubeconfig", str(members["far"]), "--dry-run")
    assert code == 0
    assert "in the member: Secret karmada-system/karmada-kubeconfig" in out
    assert "in the plane: Role karmada-es-far/system:karmada:far:agent-work" in out
    assert get(plane, f"{RBAC}/clusterroles/system:karmada:far:agent") is None


def test_a_cluster_registers_pulls_is_missed_comes_back_and_leaves(
    plane: Shell, told: Told, invited: list[str], members: dict[str, Path]
) -> None:
    kubeconfig = str(members["far"])
    where = ["--kubeconfig", kubeconfig, "--cluster-region", "eu"]
    code, out, error = told(*invited, *where)
    assert code == 0, error
    first, command = out.splitlines()
    assert first == "cluster(far) is registered"
    # Whoever was interrupted just says it again.
    assert told(*invited, *where)[:2] == (0, out)
    words = [*shlex.split(command)[1:], *QUICK]
    refused = told(*invited, *where, "--cluster-name", "near")[2]
    assert 'this cluster has an agent as "far" already' in refused

    address = f"127.0.0.1:{free_port()}"
    with agent(plane, *words, "--metrics-bind-address", address) as process:
        until(lambda: ready(plane, "far") == "True", "the cluster is ready")
        check_shown(address)
        spec = get(plane, f"{CLUSTERS}/far")["spec"]
        assert (spec["syncMode"], spec["region"]) == ("Pull", "eu")
        check_secrets(plane, spec)
        send_workload(plane)
        until(lambda: replicas(plane) == 2, "its status comes back")
        process.end(signal.SIGKILL)
    with PlainClientOf(kubeconfig) as member:
        found = member.get(f"{DEPLOYMENTS}/web")
    until(lambda: ready(plane, "far") == "Unknown", "nobody knows how it is")
    until(lambda: is_unreachable(plane, "far"), "it has the taint")
    plane.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})

    with agent(plane, *words) as process:
        until(lambda: replicas(plane) == 3, "it goes on where it was")
        until(lambda: not is_unreachable(plane, "far"), "the taint is gone")
        with PlainClientOf(kubeconfig) as member:
            now = member.get(f"{DEPLOYMENTS}/web")
            assert now["metadata"]["uid"] == found["metadata"]["uid"]
            assert process.end() == 0, process.said
            assert "Stopped in good order" in process.said
    check_leaving(plane, told, words, members["far"])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port: int = held.getsockname()[1]
        return port


def check_shown(address: str) -> None:
    """The agent tells how it is, and what it counts."""

    def read(path: str) -> str:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=120) as answer:
            return str(answer.read().decode())

    assert read("/livez?verbose").endswith("livez check passed\n")
    assert "[+]plane ok" in read("/readyz?verbose")
    is_ready = 'cluster_ready_state{member_cluster="far"} 1'
    until(lambda: is_ready in read("/metrics"), "the agent counts")


def check_secrets(plane: Shell, spec: Any) -> None:
    for key, name in (("secretRef", "far"), ("impersonatorSecretRef", "far-impersonator")):
        assert spec[key] == {"namespace": "karmada-cluster", "name": name}
        assert get(plane, f"{SECRETS}/{name}")["metadata"]["ownerReferences"][0]["name"] == "far"


def check_leaving(plane: Shell, told: Told, words: list[str], kubeconfig: Path) -> None:
    """With a live agent nothing of it is left anywhere, and the agent ends by itself."""
    assert told("unjoin", "far")[2].endswith("so it leaves by: atoll unregister far\n")
    with agent(plane, *words) as process:
        until(lambda: ready(plane, "far") == "True", "the cluster is ready")
        until(lambda: "Attending" in process.said, "the agent attends")
        leave = ["unregister", "far", "--cluster-kubeconfig", str(kubeconfig)]
        code, out, error = told(*leave, "--wait", "200s")
        assert (code, out, error) == (0, "cluster(far) is unregistered\n", "")
        assert process.process.wait(120) == 1
        assert 'error: cluster "far" was removed from the plane' in process.said
    assert get(plane, f"{CLUSTERS}/far") is None
    for path in ("clusterroles", "clusterrolebindings"):
        assert get(plane, f"{RBAC}/{path}/system:karmada:far:agent") is None
    with PlainClientOf(str(kubeconfig)) as member:
        gone = [
            f"{DEPLOYMENTS}/web",
            "/api/v1/namespaces/karmada-system",
            "/api/v1/namespaces/karmada-cluster",
            f"{RBAC}/clusterroles/karmada-agent",
        ]
        for path in gone:
            until(lambda path=path: member.request("GET", path).status == 404, f"{path} is gone")
    assert told("unregister", "far")[2] == 'error: there is no cluster "far" in the plane\n'


class PlainClientOf:
    """A cluster as its administrator, for the length of a block."""

    def __init__(self, kubeconfig: str) -> None:
        self._client = PlainClient(read_kubeconfig(Path(kubeconfig)))

    def __enter__(self) -> PlainClient:
        return self._client

    def __exit__(self, *_: object) -> None:
        self._client.close()


def send_workload(plane: Shell) -> None:
    labels = {"app": "web"}
    container = {"name": "web", "image": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
    plane.request("POST", DEPLOYMENTS, deployment)
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "web"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": {
                "clusterAffinity": {"clusterNames": ["far"]},
                "clusterTolerations": [{"key": UNREACHABLE, "operator": "Exists"}],
            },
        },
    }
    plane.request("POST", POLICIES, policy)


def replicas(plane: Shell) -> int:
    status = (get(plane, f"{DEPLOYMENTS}/web") or {}).get("status") or {}
    return int(status.get("readyReplicas") or 0)


def test_an_agent_has_the_rights_of_its_own_cluster_and_no_others(
    plane: Shell, told: Told, invited: list[str], members: dict[str, Path]
) -> None:
    mine = plane.home / "farther.kubeconfig"
    where = ["--kubeconfig", str(members["farther"]), "--agent-kubeconfig", str(mine)]
    assert told(*invited, *where)[0] == 0
    works = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-{}/works"
    with PlainClientOf(str(mine)) as way:

        def status(method: str, path: str) -> int:
            return way.request(method, path, body=b"{}" if method != "GET" else None).status

        assert status("GET", works.format("farther")) == 200
        assert status("GET", works.format("far")) == 403
        assert status("GET", "/apis/work.karmada.io/v1alpha1/works") == 403
        assert status("GET", SECRETS) == 403
        assert status("GET", f"{SECRETS}/far") == 403
        assert status("GET", "/api/v1/namespaces/kube-system/secrets") == 403
        assert status("DELETE", f"{CLUSTERS}/far") == 403
        assert status("PATCH", f"{RBAC}/clusterroles/system:karmada:farther:agent") == 403
    # An agent that never came is let go as well, and what stays in its cluster is named.
    code, out, error = told("unregister", "farther")
    assert (code, out) == (0, "cluster(farther) is unregistered\n")
    assert "in the cluster there is still: Deployment karmada-system/karmada-agent, " in error
    with PlainClientOf(str(mine)) as way:
        assert way.request("GET", works.format("farther")).status == 403


def test_a_certificate_is_renewed_in_its_file_and_in_its_secret(
    plane: Shell, told: Told, invited: list[str], members: dict[str, Path]
) -> None:
    mine = plane.home / "renewed.kubeconfig"
    where = ["--kubeconfig", str(members["farther"]), "--agent-kubeconfig", str(mine)]
    code, out, error = told(*invited, *where, "--cert-expiration-seconds", "600")
    assert code == 0, error
    before = read_kubeconfig(mine)
    often = ["--cert-rotation-checking-interval", "1s"]
    often += ["--cert-rotation-remaining-time-threshold", "1"]
    with agent(plane, *shlex.split(out.splitlines()[1])[1:], *QUICK, *often) as process:
        until(lambda: process.said.count("is renewed; it is good until") > 1, "renewed twice")
        until(lambda: ready(plane, "farther") == "True", "it goes on with it")
        until(lambda: works(plane, "farther"), "something is delivered")
        process.end(signal.SIGKILL)
    after = read_kubeconfig(mine)
    assert after.certificate != before.certificate
    assert after.key != before.key
    # Nobody waits for a dead agent to take back what it delivered.
    code, _, error = told("unregister", "farther", "--wait", "200s")
    assert code == 0, error
    assert " ! its agent does not report; what it delivered stays in the cluster\n" in error
    assert works(plane, "farther") == []


def works(plane: Shell, cluster: str) -> list[Any]:
    path = f"/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-{cluster}/works"
    found: list[Any] = plane.request("GET", path)["items"]
    return found


BAD_AGENTS = [
    pytest.param(["--karmada-kubeconfig", "nowhere"], "cannot read", id="no kubeconfig"),
    pytest.param([], "Missing option", id="no plane"),
    pytest.param(
        ["--karmada-kubeconfig", "nowhere", "--report-secrets", "All"],
        'no Secret "All" to report',
        id="secrets",
    ),
]


@pytest.mark.parametrize(("words", "problem"), BAD_AGENTS)
def test_an_agent_that_cannot_work_says_why_in_a_line(
    words: list[str], problem: str, plane: Shell, members: dict[str, Path]
) -> None:
    near = ["--cluster-name", "far", "--kubeconfig", str(members["far"])]
    result = plane.atoll("agent", *near, *words)
    assert (result.code in (1, 2), result.out) == (True, "")
    assert problem in result.err
    assert result.err.count("\n") == 1
