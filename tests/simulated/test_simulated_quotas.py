"""Controllers of a member keep to quotas, say so, and go on when there is room again."""

import asyncio

from simulated_talk import APPS, CORE, ask, settled, workload

from atoll.simulated.member import build, running
from simulation.world import simulate


def test_a_workload_gets_as_many_pods_as_its_namespace_may_have():
    async def scenario(member):
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
        await ask(member, "POST", f"{CORE}resourcequotas", quota)
        await ask(member, "POST", f"{APPS}deployments", workload("w", replicas=5))
        path = f"{APPS}deployments/w"
        await settled(member, path, lambda status: status.get("readyReplicas") == 2)
        await asyncio.sleep(20)
        few = (await ask(member, "GET", path))["status"]
        told = (await ask(member, "GET", f"{CORE}events"))["items"]
        used = (await ask(member, "GET", f"{CORE}resourcequotas/q"))["status"]["used"]
        await ask(member, "PATCH", f"{CORE}resourcequotas/q", {"spec": {"hard": {"pods": "9"}}})
        await asyncio.sleep(20)
        many = (await ask(member, "GET", path))["status"]
        return few, told, used, many

    async def main(world):
        member = build("m1", world.effects("m1"))
        async with running(member):
            return await scenario(member)

    few, [event], used, many = simulate(main, 1).value
    assert (few["readyReplicas"], used, many["readyReplicas"]) == (2, {"pods": "2"}, 5)
    assert (event["reason"], event["type"]) == ("FailedCreate", "Warning")
    assert event["involvedObject"]["kind"] == "ReplicaSet"
    assert event["message"].startswith('Error creating: pods "w-')
    assert event["message"].endswith(
        " is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    )
