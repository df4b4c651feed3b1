"""A member that answers no more is waited for by its own workers, and by nobody else."""

import asyncio

from sites import until
from test_pipeline import deployment, policy
from whole import Whole, whole

from atoll.control.hub import WORK
from atoll.model.action import Ref

COUNT = 20
FOR_EVER_S = 3600.0


def arrived(it: Whole, cluster: str) -> int:
    return len(it.members[cluster].store.page("deployments.apps").records)


def reported(it: Whole, cluster: str) -> int:
    """How many Deployments of a cluster are said to be healthy there."""
    works = (
        each
        for each in it.hub.plane.all(WORK, "Work")
        if each["metadata"]["namespace"] == f"karmada-es-{cluster}"
    )
    statuses = [each.get("status", {}).get("manifestStatuses", []) for each in works]
    return sum(
        each["identifier"]["kind"] == "Deployment" and each.get("health") == "Healthy"
        for found in statuses
        for each in found
    )


def test_a_hanging_member_holds_up_no_other() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(policy("m1", "m2"))
            await it.create(deployment(1, "first"))
            # Only what is mirrored is written to: so its workers, not its mirrors, will hang.
            await until(lambda: reported(it, "m1") == reported(it, "m2") == 1)
            it.members["m1"].slow(FOR_EVER_S)
            for number in range(COUNT):
                await it.create(deployment(1, f"d{number}"))
            await until(lambda: arrived(it, "m2") == COUNT + 1)
            await until(lambda: reported(it, "m2") == COUNT + 1)
            first = it.hub.plane.find(Ref("apps/v1", "Deployment", "default", "first"))
            assert first is not None
            await it.replace({**first, "spec": {**first["spec"], "replicas": 3}})

            def scaled() -> bool:
                there = it.hub.sites["m2"].find(Ref.of(first))
                return there is not None and there["spec"]["replicas"] == 3

            await until(scaled)
            assert arrived(it, "m1") == 1

    asyncio.run(story())
