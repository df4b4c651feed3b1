"""`atoll up --fleet`: simulated members with endpoints of their own, and the examples on them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Shell, until

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A user with the fleet `tiny`, for tests that leave it running."""
    user = Shell(tmp_path_factory.mktemp("home"))
    up = user.up("--fleet", "tiny")
    assert "2 simulated clusters: member1, member2" in up.err
    until(lambda: user.atoll("status", "-o", "json").json["clustersReady"] == 2, "both ready")
    yield user
    user.clean_up()


def read(shell: Shell, kubectl: Path, *words: str, cluster: str = "") -> Any:
    return json.loads(shell.kubectl(kubectl, "get", *words, "-o", "json", cluster=cluster))


def image(wire: dict[str, Any]) -> str:
    found: str = wire["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def test_status_says_that_the_controllers_run_and_how_many_clusters_are_ready(tiny: Shell) -> None:
    assert "controllers running, 2 of 2 clusters ready\n" in tiny.atoll("status").out


def test_the_articles_example_ends_as_described(tiny: Shell, kubectl: Path) -> None:
    said = tiny.kubectl(kubectl, "apply", "-f", str(EXAMPLES / "nginx" / "nginx.yaml"))
    assert said.splitlines() == [
        "deployment.apps/nginx created",
        "propagationpolicy.policy.karmada.io/nginx-propagation created",
        "overridepolicy.policy.karmada.io/example-override created",
    ]
    tiny.kubectl(
        *(kubectl, "wait", "deployment/nginx", "--for=jsonpath={.status.readyReplicas}=2"),
        "--timeout=180s",
    )
    # Who comes late overrides late: the policy may have been sent before its override was there.
    until(
        lambda: image(read(tiny, kubectl, "deployment", "nginx", cluster="member1")) != "nginx",
        "the image of member1",
    )
    first = read(tiny, kubectl, "deployment", "nginx", cluster="member1")
    other = read(tiny, kubectl, "deployment", "nginx", cluster="member2")
    assert image(first) == "dc-1.registry.io/nginx:1.17.0-alpine"
    assert first["metadata"]["annotations"]["foo"] == "bar"
    assert image(other) == "nginx"
    assert "foo" not in other["metadata"]["annotations"]
    assert [each["spec"]["replicas"] for each in (first, other)] == [1, 1]
    template = read(tiny, kubectl, "deployment", "nginx")
    assert (image(template), template["spec"]["replicas"]) == ("nginx", 2)
    binding = read(tiny, kubectl, "resourcebinding", "nginx-deployment")
    placed = {each["name"]: each["replicas"] for each in binding["spec"]["clusters"]}
    assert placed == {"member1": 1, "member2": 1}
    gone = tiny.kubectl(kubectl, "delete", "-f", str(EXAMPLES / "nginx" / "nginx.yaml"))
    assert gone.count("deleted") == 3
    for cluster in ("member1", "member2"):
        until(
            lambda at=cluster: not read(tiny, kubectl, "deployments", cluster=at)["items"],
            f"{cluster} is empty again",
        )


def test_the_articles_other_example_goes_to_one_cluster(tiny: Shell, kubectl: Path) -> None:
    tiny.kubectl(kubectl, "apply", "-f", str(EXAMPLES / "one-cluster" / "one-cluster.yaml"))
    tiny.kubectl(
        *(kubectl, "wait", "deployment/web", "--for=jsonpath={.status.readyReplicas}=4"),
        "--timeout=180s",
    )
    found = {
        cluster: [each["spec"]["replicas"] for each in items]
        for cluster in ("member1", "member2")
        if (items := read(tiny, kubectl, "deployments", cluster=cluster)["items"])
    }
    assert list(found.values()) == [[4]]


def test_a_member_is_an_endpoint_of_its_own(tiny: Shell, kubectl: Path) -> None:
    path = tiny.atoll("kubeconfig", "path", "--cluster", "member1").out.strip()
    assert Path(path).read_text() == tiny.atoll("kubeconfig", "print", "--cluster", "member1").out
    assert tiny.url("member1") != tiny.url("member2") != tiny.note()["url"]
    assert len(read(tiny, kubectl, "nodes", cluster="member1")["items"]) == 3
    clusters = {
        each["metadata"]["name"]: each["spec"]["apiEndpoint"]
        for each in read(tiny, kubectl, "clusters")["items"]
    }
    assert clusters == {name: tiny.url(name) for name in ("member1", "member2")}
    unknown = tiny.atoll("kubeconfig", "path", "--cluster", "member9")
    assert unknown.code == 1
    assert unknown.err == (
        'error: there is no simulated member "member9"; there are member1, member2\n'
    )


def test_another_fleet_is_refused_while_one_runs(tiny: Shell) -> None:
    result = tiny.atoll("up", "--fleet", "hybrid")
    assert result.code == 1
    assert 'without the fleet "hybrid"; try: atoll down' in result.err
    assert tiny.atoll("up", "--fleet", "tiny").code == 0


def test_an_unknown_fleet_is_refused_with_those_there_are(shell: Shell) -> None:
    result = shell.atoll("up", "--fleet", "huge")
    assert result.code == 1
    assert result.err == (
        'error: there is no fleet "huge"; try: one of tiny, hybrid, gpu, big, or a file\n'
    )
    assert "controllers" not in shell.atoll("status").out
    shell.up()
    until(lambda: "no clusters" in shell.atoll("status").out, "a plane without members")
    assert shell.atoll("kubeconfig", "path", "--cluster", "member1").err == (
        'error: there is no simulated member "member1"; there are none; '
        "try: atoll up --fleet tiny\n"
    )


def test_a_fleet_is_remembered_and_purged_with_the_rest(shell: Shell) -> None:
    up = shell.up("--fleet", "hybrid")
    assert "5 simulated clusters: idc-bj, idc-sh, ali-hz, aws-use1, azr-weu" in up.err
    until(lambda: shell.atoll("status", "-o", "json").json["clustersReady"] == 5, "all ready")
    clusters = shell.request("GET", "/apis/cluster.karmada.io/v1alpha1/clusters")["items"]
    by_name = {each["metadata"]["name"]: each for each in clusters}
    assert by_name["azr-weu"]["spec"]["taints"][0]["key"] == "maintenance"
    assert by_name["aws-use1"]["metadata"]["annotations"]["atoll.io/price"].startswith("cpu=")
    summary = by_name["idc-sh"]["status"]["resourceSummary"]
    assert (summary["allocatable"]["cpu"], summary["allocated"]["cpu"]) == ("192", "173")
    url = shell.url("idc-bj")
    shell.atoll("down")
    assert "5 simulated clusters" in shell.up().err
    assert shell.url("idc-bj") == url
    tenants = shell.request("GET", "/apis/apps/v1/namespaces/tenants/deployments", cluster="idc-bj")
    assert [each["metadata"]["name"] for each in tenants["items"]] == ["erp"]
    shell.atoll("down")
    other = shell.atoll("up", "--fleet", "tiny")
    assert other.code == 1
    assert 'are of the fleet "hybrid"; try: another --data-dir' in other.err
    assert shell.atoll("down", "--purge", "--yes").code == 0
    assert not shell.data.exists()
