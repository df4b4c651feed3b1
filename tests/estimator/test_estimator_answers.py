"""What an estimator of ours answers: as Karmada's own did, and over real sockets for a cluster."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.apiserver.authentication import MASTERS
from atoll.client.api import ApiClient
from atoll.client.collection import Collection
from atoll.client.inprocess import InProcess
from atoll.client.transport import Transport, Unreachable
from atoll.effects import system_effects
from atoll.errors import Invalid
from atoll.estimator.asking import UNKNOWN, Estimators
from atoll.estimator.estimating import Estimating, NotCounted, estimate, estimating
from atoll.estimator.messages import REPLICAS, UNSCHEDULABLE
from atoll.estimator.serving import NotHere
from atoll.estimator.stuck import is_unschedulable, selecting
from atoll.exchange import Peer, Request, Response
from atoll.members.columns import Columns
from atoll.members.following import Observation
from atoll.members.reading import read_node, read_pod
from atoll.simulated.member import running
from atoll.wire import Wire
from simulation.link import build

RECORDED = json.loads((Path(__file__).parent / "answered.json").read_text())
HOST = "127.0.0.1"
WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}


def _run(main: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await main

    asyncio.run(bounded())


async def _until(ask: Callable[[], Coroutine[Any, Any, int]], wanted: int) -> None:
    while await ask() != wanted:
        await asyncio.sleep(0.05)


def _recorded() -> Columns:
    columns = Columns()
    for wire in RECORDED["nodes"]:
        columns.put_node(*read_node(json.dumps(wire).encode()))
    for wire in RECORDED["pods"]:
        columns.put_pod(*read_pod(json.dumps(wire).encode()))
    return columns


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_the_answer_is_that_of_karmadas_estimator(case: Wire) -> None:
    assert estimate(_recorded().table(), case["method"], case["asked"]) == case["answer"]


class Nowhere:
    """A way that leads nowhere."""

    async def send(self, request: Request) -> Response:
        raise Unreachable("nobody is there")

    async def close(self) -> None:
        return


def test_nothing_is_answered_for_another_cluster_before_the_count_or_of_an_unknown_kind() -> None:
    async def main() -> None:
        api = ApiClient(Nowhere())
        answers = Estimating("m1", api, Observation(api, "cluster m1"), lambda: 0.0)
        with pytest.raises(NotHere, match='of "m1", not of "m2"'):
            await answers.answer(REPLICAS, {"cluster": "m2"})
        with pytest.raises(NotCounted, match="still being counted"):
            await answers.answer(REPLICAS, {"cluster": "m1"})
        with pytest.raises(Invalid, match="no workload"):
            await answers.answer(UNSCHEDULABLE, {"cluster": "m1", "resource": {"kind": "Pod"}})

    _run(main())


@asynccontextmanager
async def _member() -> AsyncIterator[tuple[ApiClient, Transport]]:
    member = build("m1", system_effects())
    async with running(member):
        way = InProcess(member.server.handle, Peer("admin", (MASTERS,)))
        yield ApiClient(way), way


DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)


def _deployment(replicas: int, cpu: str) -> Wire:
    container = {"name": "web", "image": "web", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container]},
            },
        },
    }


def test_an_estimator_follows_its_cluster_and_says_what_fits_and_what_is_stuck() -> None:
    async def main() -> None:
        async with (
            _member() as (api, way),
            estimating("m1", way, system_effects(), (HOST, 0)) as port,
        ):
            estimators = Estimators(lambda _: (HOST, port))
            node = (await api.get("/api/v1/nodes"))["items"][0]
            cpus = int(node["status"]["allocatable"]["cpu"])
            count = len((await api.get("/api/v1/nodes"))["items"])
            whole_node = {"replicaRequirements": {"resourceRequest": {"cpu": str(cpus)}}}
            asked = {"resource": WEB, "unschedulableThreshold": 0}

            def fit() -> Coroutine[Any, Any, int]:
                return estimators.ask(REPLICAS, "m1", whole_node)

            await _until(fit, count)
            assert await estimators.ask(UNSCHEDULABLE, "m1", asked) == UNKNOWN
            await api.create(DEPLOYMENTS, _deployment(count + 2, str(cpus)))
            await _until(fit, 0)
            await _until(lambda: estimators.ask(UNSCHEDULABLE, "m1", asked), 2)
            an_hour = {**asked, "unschedulableThreshold": 3_600_000_000_000}
            assert await estimators.ask(UNSCHEDULABLE, "m1", an_hour) == 0
            estimators.close()

    _run(main())


def test_a_pod_is_stuck_if_no_node_was_found_for_it_for_long_enough() -> None:
    since = "2026-01-01T00:00:10Z"
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pod = {"status": {"conditions": [{**condition, "lastTransitionTime": since}]}}
    at = 1767225610.0
    assert is_unschedulable(pod, at + 1)
    assert not is_unschedulable(pod, at)
    assert not is_unschedulable({"status": {}}, at + 1)


def test_selectors_are_written_as_queries_have_them() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["x", "y"]},
        {"key": "b", "operator": "NotIn", "values": ["z"]},
        {"key": "c", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
    ]
    wire = {"matchLabels": {"app": "web"}, "matchExpressions": expressions}
    assert selecting(wire) == "app=web,a in (x,y),b notin (z),c,!d"
