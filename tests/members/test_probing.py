"""How a member is, by its own word: of our own server, of the real one, and of odd ones."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from atoll.client.api import ApiClient
from atoll.client.transport import Unreachable
from atoll.dialects.karmada.cluster_status.enablements import Discovered
from atoll.dialects.karmada.cluster_status.readiness import Health
from atoll.exchange import Request, Response
from atoll.members.probing import Discovery, health, version
from testenv.cluster import Cluster

AGGREGATED = "APIGroupDiscoveryList"
GROUPS = {
    "kind": "APIGroupList",
    "groups": [
        {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}]},
        {"name": "sick.io", "versions": [{"groupVersion": "sick.io/v1", "version": "v1"}]},
    ],
}
PLAIN = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": GROUPS,
    "/api/v1": {
        "resources": [
            {"name": "pods", "kind": "Pod"},
            {"name": "pods/log", "kind": "Pod"},
        ]
    },
    "/apis/apps/v1": {"resources": [{"name": "deployments", "kind": "Deployment"}]},
}


class Server:
    """Answers by path; a path that it has no answer for is not found."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request.path)
        answer = self.answers.get(request.path, 404)
        if answer is None:
            raise Unreachable("nobody answers")
        if isinstance(answer, int):
            return Response(answer, {}, b"no")
        if isinstance(answer, bytes):
            return Response(200, {}, answer)
        mark = f'"{hash(str(answer))}"'
        if request.headers.get("if-none-match") == mark:
            return Response(304, {"etag": mark})
        return Response(200, {"etag": mark}, orjson.dumps(answer))

    async def close(self) -> None:
        return


def ask(server: Server, question: Callable[[ApiClient], Awaitable[Any]]) -> Any:
    async def story() -> Any:
        return await question(ApiClient(server))

    return asyncio.run(story())


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        pytest.param({"/readyz": b"ok"}, Health.OK, id="ready"),
        pytest.param({"/readyz": 404, "/healthz": b"ok"}, Health.OK, id="an old server"),
        pytest.param({"/readyz": 500}, Health.FAILING, id="not ready"),
        pytest.param({"/readyz": 401}, Health.FAILING, id="does not know us"),
        pytest.param({"/readyz": 404, "/healthz": 500}, Health.FAILING, id="old and not well"),
        pytest.param({"/readyz": None}, Health.UNREACHABLE, id="no answer"),
    ],
)
def test_health_is_what_the_member_says(answers: dict[str, Any], found: Health) -> None:
    assert ask(Server(answers), health) is found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        pytest.param({"gitVersion": "v1.31.2"}, "v1.31.2", id="told"),
        pytest.param({"gitVersion": 7}, None, id="not a version"),
        pytest.param(b"<html>", None, id="not JSON"),
        pytest.param(500, None, id="refused"),
        pytest.param(None, None, id="no answer"),
    ],
)
def test_a_version_is_told_or_not_known(answer: Any, found: str | None) -> None:
    assert ask(Server({"/version": answer}), version) == found


def aggregated(*groups: tuple[str, str, str]) -> dict[str, Any]:
    """Groups with their version and how fresh it is; all serve things."""
    resource = {"resource": "things", "responseKind": {"kind": "Thing"}}
    hollow = {"resource": "hollow", "subresources": [{"subresource": "x"}]}
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [{"version": version, "freshness": fresh, "resources": [resource, hollow]}],
        }
        for name, version, fresh in groups
    ]
    return {"kind": AGGREGATED, "items": items}


def test_aggregated_discovery_is_read_in_two_answers_and_kept_while_it_is_the_same() -> None:
    server = Server(
        {
            "/api": aggregated(("", "v1", "Current")),
            "/apis": aggregated(("apps", "v1", "Current"), ("sick.io", "v1", "Stale")),
        }
    )

    async def twice(api: ApiClient) -> list[Discovered | None]:
        discovery = Discovery(api)
        return [await discovery.read(), await discovery.read()]

    first, second = ask(server, twice)
    things = (("things", "Thing"),)
    assert first == Discovered({"v1": things, "apps/v1": things}, frozenset({"sick.io/v1"}))
    assert second == first
    assert server.asked == ["/api", "/apis"] * 2


def test_a_server_of_plain_discovery_is_read_group_by_group_now_and_then() -> None:
    server = Server({**PLAIN, "/apis/sick.io/v1": {"resources": []}})

    async def often(api: ApiClient) -> list[Discovered | None]:
        discovery = Discovery(api)
        return [await discovery.read() for _ in range(5)]

    first, *later = ask(server, often)
    assert first.kinds["v1"] == (("pods", "Pod"),)
    assert first.kinds["apps/v1"] == (("deployments", "Deployment"),)
    assert not first.unread
    assert later == [None] * 4
    assert server.asked.count("/apis/apps/v1") == 1


def test_a_group_that_does_not_answer_is_asked_again_the_next_time() -> None:
    server = Server({**PLAIN, "/apis/sick.io/v1": 503})

    async def twice(api: ApiClient) -> list[Discovered | None]:
        discovery = Discovery(api)
        first = await discovery.read()
        server.answers["/apis/sick.io/v1"] = {"resources": []}
        return [first, await discovery.read()]

    first, second = ask(server, twice)
    assert first.unread == {"sick.io/v1"}
    assert not second.unread


@pytest.mark.parametrize("silence", [None, 500])
def test_one_that_was_read_and_is_busy_now_is_left_as_it_was(silence: int | None) -> None:
    server = Server({"/api": aggregated(("", "v1", "Current")), "/apis": aggregated()})

    async def twice(api: ApiClient) -> list[Discovered | None]:
        discovery = Discovery(api)
        first = await discovery.read()
        server.answers = dict.fromkeys(("/api", "/apis"), silence)
        return [first, await discovery.read()]

    first, second = ask(server, twice)
    assert first.kinds.keys() == {"v1"}
    assert second is None


@pytest.mark.parametrize("answer", [None, 500, b"<html>", {"kind": AGGREGATED, "items": [7]}])
def test_of_a_server_that_talks_nonsense_nothing_is_known(answer: Any) -> None:
    found = ask(Server({"/api": answer, "/apis": answer}), lambda api: Discovery(api).read())
    assert (found.kinds, found.groups_known) == ({}, False)


def test_the_real_server_is_read_whole(kubernetes: Cluster) -> None:
    """The aggregated form of kube-apiserver says what its plain lists say."""

    class Real(Server):
        async def send(self, request: Request) -> Response:
            answer = kubernetes.request("GET", request.path, headers=dict(request.headers))
            return Response(answer.status, answer.headers, answer.body)

    found = ask(Real({}), lambda api: Discovery(api).read())
    listed = kubernetes.get("/apis/apps/v1")["resources"]
    expected = {(each["name"], each["kind"]) for each in listed if "/" not in each["name"]}
    assert set(found.kinds["apps/v1"]) == expected
    assert ("pods", "Pod") in found.kinds["v1"]
    assert found.groups_known
    assert ask(Real({}), health) is Health.OK
    assert ask(Real({}), version).startswith("v1.")
