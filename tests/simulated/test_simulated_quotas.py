"""Controllers of a member keep to quotas, say so, and go on when there is room again."""

import asyncio

import pytest
from simulated_talk import APPS, CORE, LABELS, ask, settled, workload

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
    failures = [one for one in few["conditions"] if one["type"] == "ReplicaFailure"]
    assert [(one["status"], one["reason"]) for one in failures] == [("True", "FailedCreate")]
    assert "ReplicaFailure" not in [one["type"] for one in many["conditions"]]
    assert (event["reason"], event["type"]) == ("FailedCreate", "Warning")
    assert event["involvedObject"]["kind"] == "ReplicaSet"
    assert event["message"].startswith('Error creating: pods "w-')
    assert event["message"].endswith(
        " is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
    )


@pytest.mark.parametrize("kind", ["replicasets", "replicationcontrollers"])
def test_whoever_makes_pods_says_that_a_quota_refuses_them_until_it_does_not(kind):
    async def scenario(member):
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
        await ask(member, "POST", f"{CORE}resourcequotas", quota)
        wanted = workload("w", replicas=3)
        if kind == "replicationcontrollers":
            wanted["spec"]["selector"] = LABELS
        where = f"{APPS if kind == 'replicasets' else CORE}{kind}"
        await ask(member, "POST", where, wanted)
        await asyncio.sleep(20)
        few = (await ask(member, "GET", f"{where}/w"))["status"]
        await ask(member, "PATCH", f"{where}/w", {"spec": {"replicas": 2}})
        await asyncio.sleep(20)
        return few, (await ask(member, "GET", f"{where}/w"))["status"]

    async def main(world):
        member = build("m1", world.effects("m1"))
        async with running(member):
            return await scenario(member)

    few, enough = simulate(main, 1).value
    [failure] = few["conditions"]
    assert (failure["type"], failure["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "is forbidden: exceeded quota: q" in failure["message"]
    assert "conditions" not in enough
