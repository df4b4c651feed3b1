"""Through the plane to a cluster: what the member is asked, as whom, and what comes back."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import orjson
import pytest

from atoll.apiserver.assembly import assemble
from atoll.apiserver.authentication import MASTERS
from atoll.apiserver.karmada.proxy import with_proxy
from atoll.apiserver.placement.kinds import plane_kinds
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable, closing, whole
from atoll.effects import system_effects
from atoll.errors import UsageError
from atoll.exchange import Duplex, Peer, Request, Response
from atoll.main import Plane, run
from atoll.store.memory import MemoryLog
from atoll.store.store import Store
from atoll.wire import Wire

Member = Callable[[Request], Awaitable[Response]]

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ADMIN = Peer("admin", (MASTERS, "staff"))
TOKEN = base64.b64encode(b"impersonator's").decode()


class Gone:
    """The way to a cluster that does not answer."""

    async def send(self, request: Request) -> Response:
        raise Unreachable("it has been silent for an hour")

    async def close(self) -> None:
        """There is nothing to let go of."""


class Fleet:
    """Members by name, each a handler, and all requests that came to them with their tokens."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        self._members = members
        self.requests: list[Request] = []
        self.tokens: list[str] = []

    def reach(self, cluster: Mapping[str, Any], secret: Mapping[str, Any] | None) -> Transport:
        assert secret is not None
        self.tokens.append(base64.b64decode(secret["data"]["token"]).decode())
        member = self._members.get(cluster["metadata"]["name"])
        if member is None:
            return Gone()
        if cluster["spec"].get("apiEndpoint") != "https://there":
            raise UsageError("it has no spec.apiEndpoint")

        async def noted(request: Request) -> Response:
            self.requests.append(request)
            return await member(request)

        return InProcess(noted, None)


class Asking:
    """The plane, as somebody who asks it."""

    def __init__(self, runner: asyncio.Runner, server: Any) -> None:
        self._runner, self._server = runner, server

    def send(self, request: Request, who: Peer = ADMIN) -> Response:
        async def sent() -> Response:
            return await whole(await InProcess(self._server.handle, who).send(request))

        return self._runner.run(sent())

    def run(self, ask: Callable[[Transport], Awaitable[None]]) -> None:
        async def asked() -> None:
            async with asyncio.timeout(120):
                await ask(InProcess(self._server.handle, ADMIN))

        self._runner.run(asked())

    def make(self, path: str, wire: Wire) -> None:
        headers = {"content-type": "application/json"}
        response = self.send(Request("POST", path, "", headers, orjson.dumps(wire)))
        assert response.status == 201, response.body

    def make_cluster(self, name: str, **spec: Any) -> None:
        secret = {"metadata": {"name": name, "namespace": "default"}, "data": {"token": TOKEN}}
        self.make("/api/v1/namespaces/default/secrets", secret)
        ref = {"namespace": "default", "name": name}
        told = {"syncMode": "Push", "apiEndpoint": "https://there", "impersonatorSecretRef": ref}
        self.make(
            CLUSTERS,
            {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": name},
                "spec": {**told, **spec},
            },
        )


@contextmanager
def plane(fleet: Fleet) -> Iterator[Asking]:
    effects = system_effects()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def begin() -> Asking:
            store = Store.open(MemoryLog())
            kinds = with_proxy(plane_kinds(effects), store, fleet.reach)
            server = assemble(store, effects, kinds=kinds)
            await run(Plane(store, server), effects, stack)
            return Asking(runner, server)

        yield runner.run(begin())
        runner.run(stack.aclose())


async def _hello(request: Request) -> Response:
    return Response(203, {"x-from": "member", "Audit-Id": "theirs"}, b"hello")


def test_a_member_is_asked_what_the_plane_was_asked() -> None:
    fleet = Fleet({"m1": _hello})
    with plane(fleet) as asking:
        asking.make_cluster("m1")
        path = "api/v1/namespaces/a%2Fb/configmaps"
        sent = {"content-type": "text/x", "authorization": "Bearer the plane's", "x-own": "yes"}
        request = Request("PUT", f"{CLUSTERS}/m1/proxy/{path}", "a=b%20c&d", sent, b"body")
        response = asking.send(request)
        assert (response.status, response.body) == (203, b"hello")
        assert response.headers["x-from"] == "member"
        assert response.headers["audit-id"] != "theirs"
        (asked,) = fleet.requests
        assert (asked.method, asked.path, asked.query) == ("PUT", f"/{path}", "a=b%20c&d")
        assert (asked.body, asked.headers["x-own"]) == (b"body", "yes")
        assert "authorization" not in asked.headers
        assert fleet.tokens == ["impersonator's"]


def test_the_member_is_told_on_whose_behalf_and_only_groups_that_may_be_spoken_for() -> None:
    fleet = Fleet({"m1": _hello})
    with plane(fleet) as asking:
        asking.make_cluster("m1")
        assert asking.send(Request("GET", f"{CLUSTERS}/m1/proxy/api")).status == 203
        other = {"impersonate-user": "jane", "impersonate-group": "system:masters\nclerks"}
        assert asking.send(Request("GET", f"{CLUSTERS}/m1/proxy/api", "", other)).status == 203
        told = [
            (each.headers["impersonate-user"], each.headers["impersonate-group"])
            for each in fleet.requests
        ]
        assert told == [("admin", "system:masters"), ("jane", "system:masters")]


def test_who_has_no_right_to_the_way_is_refused_and_who_is_given_it_goes() -> None:
    fleet = Fleet({"m1": _hello, "m2": _hello})
    jane = Peer("jane", ("ops",))
    with plane(fleet) as asking:
        asking.make_cluster("m1")
        asking.make_cluster("m2")
        ask = {name: Request("GET", f"{CLUSTERS}/{name}/proxy/api") for name in ("m1", "m2")}
        assert asking.send(ask["m1"], jane).status == 403
        rule = {
            "apiGroups": ["cluster.karmada.io"],
            "resources": ["clusters/proxy"],
            "resourceNames": ["m1"],
            "verbs": ["get"],
        }
        asking.make(f"{RBAC}/clusterroles", {"metadata": {"name": "way"}, "rules": [rule]})
        asking.make(
            f"{RBAC}/clusterrolebindings",
            {
                "metadata": {"name": "way"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": "way",
                },
                "subjects": [
                    {"kind": "Group", "name": "ops", "apiGroup": "rbac.authorization.k8s.io"}
                ],
            },
        )
        assert asking.send(ask["m1"], jane).status == 203
        assert asking.send(ask["m2"], jane).status == 403
        headers = fleet.requests[-1].headers
        assert (headers["impersonate-user"], headers["impersonate-group"]) == ("jane", "ops")


def test_a_watch_comes_piece_by_piece_and_ends_at_the_member_when_closed() -> None:
    ended = asyncio.Event()

    async def member(request: Request) -> Response:
        async def frames() -> AsyncIterator[bytes]:
            try:
                yield b"one\n"
                await asyncio.Event().wait()
            finally:
                ended.set()

        return Response(200, {}, stream=frames())

    async def ask(transport: Transport) -> None:
        request = Request("GET", f"{CLUSTERS}/m1/proxy/api/v1/pods", "watch=1")
        response = await transport.send(request)
        assert response.stream is not None
        async with closing(response.stream):
            assert await anext(response.stream) == b"one\n"
        await ended.wait()

    with plane(Fleet({"m1": member})) as asking:
        asking.make_cluster("m1")
        asking.run(ask)


def test_an_upgraded_connection_goes_through() -> None:
    async def speak(other: Duplex) -> None:
        await other.write((await other.read()).upper())

    async def member(request: Request) -> Response:
        assert request.headers["upgrade"] == "shouting"
        return Response(101, {"Upgrade": "shouting"}, upgrade=speak)

    class Near:
        heard = b""

        async def read(self) -> bytes:
            return b"hello"

        async def write(self, data: bytes) -> None:
            self.heard += data

    async def ask(transport: Transport) -> None:
        headers = {"connection": "Upgrade", "upgrade": "shouting"}
        request = Request("POST", f"{CLUSTERS}/m1/proxy/exec", "", headers)
        response = await transport.send(request)
        assert response.upgrade is not None
        near = Near()
        await response.upgrade(near)
        assert near.heard == b"HELLO"

    with plane(Fleet({"m1": member})) as asking:
        asking.make_cluster("m1")
        asking.run(ask)


@pytest.mark.parametrize(
    ("name", "spec", "code", "says"),
    [
        pytest.param("gone", {}, 503, "silent for an hour", id="no answer"),
        pytest.param("m1", {"apiEndpoint": ""}, 503, "no spec.apiEndpoint", id="no address"),
        pytest.param("m1", {"impersonatorSecretRef": None}, 503, "join it again", id="no token"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_said_to_be(
    name: str, spec: Wire, code: int, says: str
) -> None:
    with plane(Fleet({"m1": _hello})) as asking:
        asking.make_cluster(name, **spec)
        response = asking.send(Request("GET", f"{CLUSTERS}/{name}/proxy/api"))
        assert response.status == code
        message = orjson.loads(response.body)["message"]
        assert says in message
        assert name in message


def test_a_cluster_that_does_not_exist_is_not_found() -> None:
    with plane(Fleet({})) as asking:
        assert asking.send(Request("GET", f"{CLUSTERS}/m9/proxy/api")).status == 404


def _having(*names: str) -> Member:
    """A member with pods of these names."""

    async def member(request: Request) -> Response:
        assert request.headers["accept"] == "application/json"
        name = request.path.rpartition("/")[2]
        if name == "pods":
            items = [{"metadata": {"name": each}} for each in names]
            return Response(200, {}, orjson.dumps({"kind": "PodList", "items": items}))
        if name in names:
            return Response(200, {}, orjson.dumps({"metadata": {"name": name}}))
        return Response(404, {}, b"{}")

    return member


def test_all_clusters_are_asked_at_once_and_say_what_is_whose() -> None:
    fleet = Fleet({"m1": _having("a", "b"), "m2": _having("b")})
    with plane(fleet) as asking:
        for name in ("m1", "m2", "gone"):
            asking.make_cluster(name)
        every = f"{CLUSTERS}/*/proxy/api/v1/namespaces/x/pods"
        headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        listed = orjson.loads(asking.send(Request("GET", every, "", headers)).body)
        found = [
            (
                each["metadata"]["name"],
                each["metadata"]["annotations"]["resource.karmada.io/cached-from-cluster"],
            )
            for each in listed["items"]
        ]
        assert found == [("a", "m1"), ("b", "m1"), ("b", "m2")]
        assert orjson.loads(asking.send(Request("GET", f"{every}/a")).body)["metadata"]
        assert asking.send(Request("GET", f"{every}/b")).status == 409
        assert asking.send(Request("GET", f"{every}/c")).status == 404
        assert asking.send(Request("POST", every)).status == 405
        assert asking.send(Request("GET", every, "watch=1")).status == 405
