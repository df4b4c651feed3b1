"""Registering and announcing, at two real servers: what is made, refused and repeated."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pairs import Pair, pair

from atoll.agent.announcing import Announcement, announce
from atoll.agent.renewing import check_certificate, is_due
from atoll.cli.agent import agent
from atoll.client.kubeconfig import read_kubeconfig
from atoll.client.plain import PlainClient
from atoll.errors import UsageError
from atoll.members import tokens
from atoll.members.agent_home import Housing
from atoll.members.registering import Registration, register
from atoll.members.trusting import Invitation

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
SECRET = "/api/v1/namespaces/karmada-system/secrets/karmada-kubeconfig"
NONE = frozenset[str]()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair(tmp_path_factory.mktemp("pair")) as found:
        yield found


@pytest.fixture
def plane(both: Pair) -> Iterator[PlainClient]:
    client = PlainClient(both.plane)
    yield client
    client.close()


@pytest.fixture
def member(both: Pair) -> Iterator[PlainClient]:
    client = PlainClient(both.member)
    yield client
    client.close()


def pause(_: float) -> None:
    """Signing and approving take a moment; who asks again has waited for an answer."""


def invitation(plane: PlainClient, ttl_s: float = 600.0, **more: Any) -> Invitation:
    token = tokens.create(plane, datetime.now(UTC), ttl_s, **more)
    authority = plane.endpoint.ca
    assert authority is not None
    address = plane.endpoint.server.removeprefix("https://")
    return Invitation(address, str(token), tuple(tokens.hashes_of(authority)), wait_s=600.0)


def registered(
    plane: PlainClient, member: PlainClient, path: Path, name: str = "edge", **more: Any
) -> PlainClient:
    """The plane as the agent sees it."""
    registration = Registration(name, Housing(**more))
    path.write_text(register(invitation(plane), member, registration, pause))
    return PlainClient(read_kubeconfig(path))


def test_an_agent_announces_its_cluster_with_no_more_than_its_rights(
    plane: PlainClient, member: PlainClient, tmp_path: Path
) -> None:
    told = Announcement("edge", "https://edge:6443", "p", "r", ("a", "b"), reported=NONE)
    with closing(registered(plane, member, tmp_path / "edge")) as way:
        assert announce(way, member, told) == []
        check_spec(plane.get(f"{CLUSTERS}/edge")["spec"], member)
        assert announce(way, member, told) == []
        # What it may not change stays, and is told.
        (note,) = announce(way, member, replace(told, region="elsewhere"))
        assert "spec.region is not 'elsewhere', and only its administrator" in note
        with pytest.raises(UsageError, match='this cluster is in the plane as "edge" already'):
            announce(way, member, replace(told, name="near"))
    plane.delete(f"{CLUSTERS}/edge")


def check_spec(spec: dict[str, Any], member: PlainClient) -> None:
    said = {key: spec[key] for key in spec if key not in ("resourceModels", "taints")}
    assert said == {
        "syncMode": "Pull",
        "id": _uid(member),
        "apiEndpoint": "https://edge:6443",
        "provider": "p",
        "region": "r",
        "zones": ["a", "b"],
    }


def test_names_and_clusters_that_are_taken_stay_so(
    plane: PlainClient, member: PlainClient, tmp_path: Path
) -> None:
    cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster"}
    path = tmp_path / "edge"
    for name, spec, problem in (
        ("edge", {"syncMode": "Pull", "id": "another"}, "another cluster is in the plane as"),
        ("edge", {"syncMode": "Push"}, "first: atoll unjoin edge"),
        ("other", {"syncMode": "Push", "id": _uid(member)}, "first: atoll unjoin other"),
        ("other", {"syncMode": "Pull", "id": _uid(member)}, "first: atoll unregister other"),
    ):
        whole = {**cluster, "metadata": {"name": name}, "spec": spec}
        status = plane.request("POST", CLUSTERS, body=json.dumps(whole).encode()).status
        assert status == 201
        with pytest.raises(UsageError, match=problem):
            registered(plane, member, path)
        plane.delete(f"{CLUSTERS}/{name}")


def _uid(member: PlainClient) -> str:
    found: str = member.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    return found


def test_a_deployment_runs_the_agent_by_words_that_it_understands(
    plane: PlainClient, member: PlainClient, tmp_path: Path
) -> None:
    words = ("--cluster-api-endpoint=https://edge:6443", "--cluster-zones=a,b")
    registered(plane, member, tmp_path / "edge", image="atoll:1", words=words).close()
    path = "/apis/apps/v1/namespaces/karmada-system/deployments/karmada-agent"
    pod = member.get(path)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (container["image"], container["command"]) == ("atoll:1", ["atoll"])
    name, *rest = container["args"]
    context = agent.make_context(name, list(rest))
    assert context.params["cluster_name"] == "edge"
    assert context.params["cluster_zones"] == ("a", "b")
    (mount, scratch), (volume, memory) = container["volumeMounts"], pod["volumes"]
    assert (scratch["mountPath"], memory["emptyDir"]["medium"]) == ("/tmp", "Memory")
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert volume["secret"]["secretName"] == "karmada-kubeconfig"
    assert context.params["karmada_kubeconfig"] == f"{mount['mountPath']}/karmada-kubeconfig"


def test_a_token_that_may_not_come_in_is_refused_with_what_to_do(
    plane: PlainClient, member: PlainClient
) -> None:
    for more in ({"usages": ["signing"]}, {"groups": ["system:bootstrappers:others"]}):
        with pytest.raises(UsageError, match="make another one in the plane with: atoll token"):
            register(invitation(plane, **more), member, Registration("edge", Housing()), pause)


def test_a_secret_of_another_plane_is_not_overwritten(
    plane: PlainClient, member: PlainClient, tmp_path: Path
) -> None:
    registered(plane, member, tmp_path / "edge").close()
    stored = member.get(SECRET)
    member.patch(SECRET, {"data": {"karmada-kubeconfig": "bm90aGluZw=="}})
    with pytest.raises(UsageError, match="is no kubeconfig of an agent; delete it first"):
        registered(plane, member, tmp_path / "edge")
    member.patch(SECRET, {"data": stored["data"]})
    with pytest.raises(UsageError, match='has an agent as "edge" already'):
        registered(plane, member, tmp_path / "edge", "near")


def test_a_certificate_is_due_when_little_of_its_time_is_left(
    plane: PlainClient, member: PlainClient, tmp_path: Path
) -> None:
    way = registered(plane, member, tmp_path / "edge")
    way.close()
    now, certificate = datetime.now(UTC), way.endpoint.certificate
    year = timedelta(days=365)
    assert not is_due(certificate, now, 0.2)
    assert not is_due(certificate, now + 0.7 * year, 0.2)
    assert is_due(certificate, now + 0.9 * year, 0.2)
    assert not is_due(None, now, 0.2)
    check_certificate(way.endpoint, now)
    with pytest.raises(UsageError, match="register the cluster again"):
        check_certificate(way.endpoint, now + year)
