"""What controllers hear of their own writes is no news; what others write in their place is."""

import asyncio

from sites import until
from test_explained import WEB
from test_numbers import numbers
from test_pipeline import condition, deployment, policy, ready
from whole import Whole, whole

from atoll.control.hub import WORK
from atoll.dialects.karmada import names
from atoll.model.action import Ref
from atoll.wire import Object

NAME = names.work_name("Deployment", "nginx", "default")


def work(it: Whole, cluster: str) -> Object | None:
    return it.hub.plane.find(Ref(WORK, "Work", names.execution_namespace(cluster), NAME))


async def sent_to_m1(it: Whole) -> Object:
    """The Work of a Deployment that runs in one member, and is told to."""
    await it.create(policy("m1"))
    await it.create(deployment())
    await until(lambda: ready(it) == 4)
    found = work(it, "m1")
    assert found is not None
    return found


def test_to_tell_where_something_goes_is_no_other_decision() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            asked = policy("m1")
            # No member says anything, so that the status tells of nothing but the decision.
            asked["spec"]["suspension"] = {"dispatching": True}
            await it.create(asked)
            await it.create(deployment())
            await until(lambda: condition(it.hub.plane.find(WEB), "Scheduled") == "Success")
            assert numbers(it)['atoll_decisions_total{outcome="Success"}'] == 1

    asyncio.run(story())


def test_a_status_that_somebody_else_writes_into_a_work_is_put_right() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await sent_to_m1(it)
            await asyncio.sleep(2)  # until nothing else makes anybody look at it
            found = work(it, "m1") or {}
            right = found["status"]
            path = it.hub.plane.collection(WORK, "Work")
            wrong = {**found, "status": {**right, "conditions": [], "manifestStatuses": []}}
            await it.api.replace(path, wrong, subresource="status")
            await until(lambda: condition(work(it, "m1"), "Applied") == "AppliedSuccessful")
            put_right = (work(it, "m1") or {})["status"]
            assert put_right["manifestStatuses"] == right["manifestStatuses"]

    asyncio.run(story())


def test_a_work_that_appears_where_its_binding_does_not_go_is_withdrawn() -> None:
    gone: list[str] = []

    def heard(before: Object | None, after: Object | None) -> None:
        if before is not None and after is None:
            gone.append(before["metadata"]["namespace"])

    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            found = await sent_to_m1(it)
            metadata = found["metadata"]
            marks = {key: metadata[key] for key in ("labels", "annotations", "finalizers")}
            there = names.execution_namespace("m2")
            stray = {**marks, "namespace": there, "name": NAME}
            it.hear(WORK, "Work", heard)
            await it.create({**found, "metadata": stray, "status": {}})
            await until(lambda: bool(gone))
            assert gone == [there]

    asyncio.run(story())
