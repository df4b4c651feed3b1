"""Joining goes on where it was broken off, and says which side would not have it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from threading import Timer

import pytest
from pairs import Pair, pair

from atoll.client.endpoint import Endpoint
from atoll.client.plain import Answer, PlainClient
from atoll.client.refusals import Missing, Refused
from atoll.client.transport import Unreachable
from atoll.errors import UsageError
from atoll.members.joining import Description, join
from atoll.members.objects import CLUSTERS, NAMESPACES, SECRETS, identity, named
from atoll.members.unjoining import WORKS, Wish, unjoin

_numbers = count()


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair(tmp_path_factory.mktemp("pair")) as both:
        yield both


class Fate:
    """How many more requests are answered, whoever sends them."""

    def __init__(self, left: int) -> None:
        self.left = left


class Doomed(PlainClient):
    """A client that does what it is asked, and at some moment is not told so any more."""

    def __init__(self, endpoint: Endpoint, fate: Fate) -> None:
        super().__init__(endpoint)
        self._fate = fate

    def request(
        self,
        method: str,
        path: str,
        query: str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        answer = super().request(method, path, query, body, headers)
        self._fate.left -= 1
        if self._fate.left < 0:
            raise Unreachable("the cable was pulled")
        return answer


@pytest.fixture
def clients(ends: Pair) -> Iterator[tuple[PlainClient, PlainClient]]:
    plane, member = PlainClient(ends.plane), PlainClient(ends.member)
    yield plane, member
    plane.close()
    member.close()


def broken_off(ends: Pair, name: str, after: int) -> None:
    """Join, and lose both servers after so many answers."""
    fate = Fate(after)
    plane, member = Doomed(ends.plane, fate), Doomed(ends.member, fate)
    try:
        with pytest.raises(Unreachable, match="the cable was pulled"):
            join(plane, member, Description(name))
    finally:
        plane.close()
        member.close()


def check_joined(plane: PlainClient, member: PlainClient, name: str) -> None:
    cluster = plane.get(CLUSTERS.path(name=name))
    assert cluster["spec"]["id"] == identity(member)
    for key in ("secretRef", "impersonatorSecretRef"):
        named = cluster["spec"][key]
        secret = plane.get(SECRETS.path(named["namespace"], named["name"]))
        assert secret["data"]["token"]
        owners = secret["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [cluster["metadata"]["uid"]]


@pytest.mark.parametrize("after", range(1, 20, 3))
def test_a_join_that_was_broken_off_is_completed_by_another(
    ends: Pair, clients: tuple[PlainClient, PlainClient], after: int
) -> None:
    plane, member = clients
    name = f"m{after}"
    broken_off(ends, name, after)
    assert join(plane, member, Description(name)) == []
    check_joined(plane, member, name)
    plane.delete(CLUSTERS.path(name=name))


def test_which_side_refused_is_said(ends: Pair, clients: tuple[PlainClient, PlainClient]) -> None:
    plane = clients[0]
    nobody = PlainClient(replace(ends.member, certificate=None, key=None, token="nobody"))
    with pytest.raises(Refused, match="refused: Unauthorized; renew the credentials") as caught:
        join(plane, nobody, Description("m"))
    assert ends.member.server in str(caught.value)
    nobody.close()
    with pytest.raises(UsageError, match="cannot be its own member"):
        join(plane, plane, Description("m"))


def test_a_cluster_with_an_agent_or_on_its_way_out_is_not_joined(
    clients: tuple[PlainClient, PlainClient],
) -> None:
    plane, member = clients
    cluster = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "pulled", "finalizers": ["example.com/wait"]},
        "spec": {"syncMode": "Pull", "id": identity(member)},
    }
    path = CLUSTERS.path_of(plane.create(CLUSTERS, cluster))
    with pytest.raises(UsageError, match="has an agent"):
        join(plane, member, Description("pulled"))
    with pytest.raises(UsageError, match="atoll unregister"):
        unjoin(plane, None, Wish("pulled"), no_pause)
    plane.delete(path)
    with pytest.raises(UsageError, match="on its way out"):
        join(plane, member, Description("pulled"))
    plane.patch(path, {"metadata": {"finalizers": None}})


def no_pause(_: float) -> None:
    """Nobody has to wait for a server that is done at once."""


def deliver(plane: PlainClient, space: str) -> None:
    """A Work that waits for a member that does not take it back."""
    plane.create(NAMESPACES, {"metadata": {"name": space}})
    work = {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "name": "w",
            "namespace": space,
            "finalizers": ["karmada.io/execution-controller"],
        },
        "spec": {"workload": {"manifests": []}},
    }
    plane.create(WORKS, work)


def test_what_holds_a_cluster_is_said_and_taken_off_only_by_force(
    clients: tuple[PlainClient, PlainClient],
) -> None:
    plane, member = clients
    join(plane, member, Description("held"))
    path = CLUSTERS.path(name="held")
    plane.patch(path, {"metadata": {"finalizers": ["karmada.io/cluster-controller"]}})
    deliver(plane, "karmada-es-held")
    kept = unjoin(plane, member, Wish("held", wait_s=1), no_pause)
    assert not kept.is_gone
    assert kept.notes == [
        'Cluster "held" is still in the plane, with 1 delivery in karmada-es-held; '
        "it goes when the plane is done with it"
    ]
    gone = unjoin(plane, member, Wish("held", wait_s=1, is_forced=True), no_pause)
    assert gone.is_gone
    assert gone.notes[0] == "forgotten without being taken back: 1 delivery"
    assert not any("ClusterRole" in note for note in gone.notes)
    assert plane.request("GET", path).status == 404


@pytest.fixture
def ending(clients: tuple[PlainClient, PlainClient]) -> Iterator[str]:
    """A namespace of the member that is being deleted, and a Secret that keeps it from going."""
    _, member = clients
    name = f"going-{next(_numbers)}"
    member.create(NAMESPACES, named("v1", "Namespace", name))
    secret = named("v1", "Secret", "kept", name)
    secret["metadata"]["finalizers"] = ["example.io/kept"]
    member.create(SECRETS, secret)
    member.request("DELETE", NAMESPACES.path(name=name))
    yield name
    with suppress(Missing):
        member.patch(SECRETS.path(name, "kept"), {"metadata": {"finalizers": None}})


def test_a_namespace_that_is_on_its_way_out_is_waited_for(
    clients: tuple[PlainClient, PlainClient], ends: Pair, ending: str
) -> None:
    plane, member = clients
    other = PlainClient(ends.member)
    letting_go = Timer(
        0.5, other.patch, (SECRETS.path(ending, "kept"), {"metadata": {"finalizers": None}})
    )
    before = member.get(NAMESPACES.path(name=ending))["metadata"]
    letting_go.start()
    try:
        join(plane, member, Description("late", namespace=ending))
    finally:
        letting_go.join()
        other.close()
    after = member.get(NAMESPACES.path(name=ending))["metadata"]
    assert before["deletionTimestamp"]
    assert after["uid"] != before["uid"]
    assert plane.get(CLUSTERS.path(name="late"))["spec"]["secretRef"]["namespace"] == ending
    unjoin(plane, member, Wish("late", namespace=ending), no_pause)


def test_a_namespace_that_does_not_go_is_told(
    clients: tuple[PlainClient, PlainClient], ending: str
) -> None:
    plane, member = clients
    with pytest.raises(
        UsageError, match=f"namespace {ending} of .* is being deleted, and was still"
    ):
        join(plane, member, Description("late", namespace=ending), 1)
