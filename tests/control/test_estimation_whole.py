"""A plane that asks the estimators of its clusters how much fits, over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace

import pytest
from sites import PATIENCE_S, until
from test_pipeline import condition, deployment, policy
from test_room_whole import binding_ref, by_room, given, large, named
from whole import ADMINISTRATOR, Whole, whole

from atoll.client.api import Taken
from atoll.client.inprocess import InProcess
from atoll.config import EstimatorChoice
from atoll.control.hub import CLUSTER
from atoll.control.scheduler.decide.inquiring import ESTIMATOR, Answers, Inquiry
from atoll.control.scheduler.estimation import Estimation, place
from atoll.effects import system_effects
from atoll.estimator.asking import UNKNOWN, Estimators
from atoll.estimator.estimating import estimating
from atoll.estimator.messages import REPLICAS, SETS
from atoll.estimator.serving import serving
from atoll.model.action import Ref
from atoll.model.amount import Amount
from atoll.model.demand import Component, Demand
from atoll.runtime.children import Children
from atoll.wire import Wire

HOST = "127.0.0.1"
M2 = Ref(CLUSTER, "Cluster", "", "m2")
ASKED = EstimatorChoice(enabled=True, timeout=10.0)
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}


def service(cluster: str, port: int) -> Wire:
    name = f"karmada-scheduler-estimator-{cluster}"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "karmada-system"},
        "spec": {
            "type": "ExternalName",
            "externalName": HOST,
            "ports": [{"port": 10352, "targetPort": port, "protocol": "TCP"}],
        },
    }


class Saying:
    """An estimator that says what it is told to, and keeps what it was asked."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[tuple[str, Wire]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def answer(self, method: str, request: Wire) -> int:
        self.asked.append((method, request))
        await self.open.wait()
        return self.count


@asynccontextmanager
async def asking(
    members: Sequence[str], says: dict[str, Saying], choice: EstimatorChoice = ASKED
) -> AsyncIterator[Whole]:
    async with whole(members, estimators=choice) as it, asyncio.timeout(4 * PATIENCE_S):
        with suppress(Taken):
            await it.create(SPACE)
        await until(lambda: all(each.free for each in it.hub.fleet.clusters))
        async with AsyncExitStack() as stack:
            for cluster, answers in says.items():
                port = await stack.enter_async_context(serving(answers, HOST, 0))
                await it.create(service(cluster, port))
            yield it


def said(it: Whole, name: str) -> str:
    return condition(it.hub.plane.find(binding_ref(name)), "Scheduled")


async def estimates(it: Whole, name: str) -> dict[str, dict[str, int]]:
    """By cluster, who said how much, as it is explained."""
    path = f"/apis/placement.atoll.io/v1alpha1/namespaces/default/explanations/{name}-deployment"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await it.api.read(path)
            if answer.status == 200:
                break
            await asyncio.sleep(0.02)
    told = (await it.api.get(path))["decisions"][0]["clusters"]
    return {
        each["name"]: {one["from"]: one["replicas"] for one in each.get("estimates", ())}
        for each in told
    }


def test_what_estimators_say_counts_and_is_told_and_who_is_unknown_has_no_say() -> None:
    async def story() -> None:
        m1 = Saying(3)
        async with asking(["m1", "m2"], {"m1": m1}) as it:
            await it.create(by_room("m1", "m2"))
            await it.create(large("app", 13))
            await until(lambda: said(it, "app") == "Success")
            assert given(it) == {"m1": 3, "m2": 10}
            told = await estimates(it, "app")
            assert told["m1"][ESTIMATOR] == 3
            assert ESTIMATOR not in told["m2"]
            method, request = m1.asked[0]
            assert method == REPLICAS
            assert request["cluster"] == "m1"
            assert request["replicaRequirements"]["resourceRequest"] == {"cpu": "64"}

    asyncio.run(story())


def test_work_on_its_way_is_told_and_what_needs_no_room_is_not_asked_about() -> None:
    async def story() -> None:
        m1 = Saying(10)
        async with asking(["m1"], {"m1": m1}) as it:
            copies = named(policy("m1"), "copies")
            await it.create(copies)
            await it.create(deployment(2, "copies"))
            await until(lambda: said(it, "copies") == "Success")
            assert not m1.asked
            for name in ("first", "second"):
                await it.create(named(by_room("m1"), name))
            await it.create(large("first", 4))
            await until(lambda: said(it, "first") == "Success")
            second = large("second", 1)
            wanted = second["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
            wanted["cpu"] = "63"
            await it.create(second)
            await until(lambda: said(it, "second") == "Success")
            told = m1.asked[-1][1]["assumedWorkloads"][0]["components"]
            assert {"cpu": "64"} in [
                each["replicaRequirements"]["resourceRequest"] for each in told
            ]

    asyncio.run(story())


def test_one_that_hangs_holds_up_nobody_else_and_has_no_say_in_the_end() -> None:
    async def story() -> None:
        m1 = Saying(0)
        m1.open.clear()
        choice = EstimatorChoice(enabled=True, timeout=5.0)
        async with asking(["m1", "m2"], {"m1": m1}, choice) as it:
            await it.create(named(by_room("m1"), "waits"))
            await it.create(named(by_room("m2"), "quick"))
            await it.create(large("waits", 2))
            await until(lambda: m1.asked)
            await it.create(large("quick", 2))
            await until(lambda: said(it, "quick") == "Success")
            await until(lambda: said(it, "waits") == "Success")
            assert ESTIMATOR not in (await estimates(it, "waits"))["m1"]
            assert given(it) == {"m1": 2, "m2": 2}

    asyncio.run(story())


async def counted(port: int) -> None:
    """Wait until an estimator has something to say."""
    estimators = Estimators(lambda _: (HOST, port))
    while await estimators.ask(REPLICAS, "m1", {}) < 0:
        await asyncio.sleep(0.05)
    estimators.close()


def test_an_estimator_of_ours_answers_a_plane_of_ours() -> None:
    async def story() -> None:
        async with whole(["m1"], estimators=ASKED) as it, asyncio.timeout(4 * PATIENCE_S):
            with suppress(Taken):
                await it.create(SPACE)
            await until(lambda: all(each.free for each in it.hub.fleet.clusters))
            way = InProcess(it.members["m1"].server.handle, ADMINISTRATOR)
            async with estimating("m1", way, system_effects(), (HOST, 0)) as port:
                await counted(port)
                await it.create(service("m1", port))
                await it.create(by_room("m1"))
                await it.create(large("app", 2))
                await until(lambda: said(it, "app") == "Success")
                told = (await estimates(it, "app"))["m1"]
                assert told[ESTIMATOR] == told["node view"] == 10

    asyncio.run(story())


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"type": "ClusterIP", "ports": [{"port": 10352}]}, None),
        ({"type": "ExternalName", "externalName": "a.b", "ports": [{"port": 1}]}, None),
        ({"type": "ExternalName", "externalName": "a.b"}, None),
        ({"type": "ExternalName", "externalName": "", "ports": [{"port": 10352}]}, None),
        (
            {"type": "ExternalName", "externalName": "a.b", "ports": [{"port": 10352}]},
            ("a.b", 10352),
        ),
        (
            {
                "type": "ExternalName",
                "externalName": "a.b",
                "ports": [{"port": 10352, "targetPort": 7}],
            },
            ("a.b", 7),
        ),
    ],
    ids=["of the cluster", "another port", "no port", "no name", "the port itself", "a target"],
)
def test_where_a_service_says_an_estimator_is(spec: Wire, found: tuple[str, int] | None) -> None:
    assert place({"spec": spec}, 10352) == found


def test_sets_of_components_are_asked_for_as_sets_and_clusters_that_pull_may_be_left_out() -> None:
    async def story() -> None:
        m1, m2 = Saying(4), Saying(5)
        async with (
            asking(["m1", "m2"], {"m1": m1, "m2": m2}) as it,
            Children("estimators") as children,
        ):
            await it.change(M2, syncMode="Pull")
            await until(lambda: it.hub.plane.find(M2)["spec"]["syncMode"] == "Pull")
            estimation = Estimation(it.hub, replace(ASKED, disabled_in_pull_mode=True))
            children.spawn(estimation.run(), "estimators")
            parts = (Component("job", 1, Demand((("cpu", Amount(1500)),))), Component("task", 3))
            asked = Inquiry(parts, "shop", ("m1", "m2"))
            answers = Answers()
            assert answers.missing(asked, 0.0) == asked
            found = await estimation.find_out(asked, ())
            answers.note(asked, found, it.hub.now)
            assert answers.missing(asked, 0.0).clusters == ()
            assert answers.known(asked, ()) == {"m1": 4, "m2": UNKNOWN}
            ((method, request),) = m1.asked
            assert method == SETS
            assert request["namespace"] == "shop"
            assert [each["replicas"] for each in request["components"]] == [1, 3]
            assert not m2.asked

    asyncio.run(story())
