"""Disruption budgets of a member: what they tell, and that evictions heed it."""

import asyncio
import json

import pytest
from simulated_talk import APPS, CORE, JSON, ask, settled, workload

from atoll.client.transport import whole
from atoll.exchange import Request
from atoll.simulated.member import build, running
from atoll.simulated.plans.budgets import plan
from atoll.simulated.plans.census import Pod
from simulation.world import simulate

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NOW = "2026-01-01T12:00:00Z"


def pod(name, *, ready=True, ending=False):
    return Pod(key=f"x/{name}", uid=name, born=1, labels={}, is_ready=ready, ending=ending)


def budget(status=None, **spec):
    meta = {"name": "b", "namespace": "x", "uid": "u", "generation": 3}
    return {"metadata": meta, "spec": spec, "status": status or {}}


def told(budget_, *pods, wanted=4):
    planned = plan(budget_, pods, lambda _: ("owner", wanted), NOW)
    return planned.steps[0].parts["status"], planned.again_s


@pytest.mark.parametrize(
    ("spec", "healthy", "numbers"),
    [
        pytest.param({"minAvailable": 2}, 3, (1, 3, 2, 3), id="at-least"),
        pytest.param({"minAvailable": 5}, 3, (0, 3, 5, 3), id="more-than-there-are"),
        pytest.param({"minAvailable": "50%"}, 3, (1, 3, 2, 4), id="a-share"),
        pytest.param({"maxUnavailable": 1}, 4, (1, 4, 3, 4), id="at-most"),
        pytest.param({"maxUnavailable": "30%"}, 4, (2, 4, 2, 4), id="a-share-rounded-up"),
        pytest.param({"maxUnavailable": 9}, 4, (4, 4, 0, 4), id="more-than-all"),
        pytest.param({"minAvailable": 0}, 0, (0, 0, 0, 0), id="nobody-there"),
    ],
)
def test_what_a_budget_allows(spec, healthy, numbers):
    status, again_s = told(budget(**spec), *(pod(str(number)) for number in range(healthy)))
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    assert tuple(status[name] for name in names) == numbers
    assert (status["observedGeneration"], again_s) == (3, None)
    [condition] = status["conditions"]
    assert condition["status"] == str(numbers[0] > 0)


def test_who_is_about_to_go_does_not_count_for_two_minutes():
    known = {"disruptedPods": {"a": "2026-01-01T11:59:00Z", "b": "2026-01-01T11:57:00Z"}}
    status, again_s = told(budget(known, minAvailable=1), pod("a"), pod("b"), pod("c"))
    assert status["disruptedPods"] == {"a": "2026-01-01T11:59:00Z"}
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (2, 1)
    assert again_s == 61.0


def test_who_is_ending_or_not_ready_does_not_count():
    status, _ = told(budget(minAvailable=1), pod("a"), pod("b", ending=True), pod("c", ready=False))
    assert (status["currentHealthy"], status["disruptionsAllowed"]) == (1, 0)


def test_as_many_pods_are_evicted_as_the_budget_allows():
    async def evict(member, name):
        body = json.dumps({"metadata": {"name": name}}).encode()
        path = f"{CORE}pods/{name}/eviction"
        answer = await whole(await member.transport.send(Request("POST", path, "", JSON, body)))
        return answer.status

    async def scenario(member):
        await ask(member, "POST", f"{APPS}deployments", workload("w", replicas=3))
        await settled(member, f"{APPS}deployments/w", lambda s: s.get("readyReplicas") == 3)
        spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "nginx"}}}
        await ask(member, "POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
        first = await settled(member, f"{BUDGETS}/b", lambda s: s.get("disruptionsAllowed") == 1)
        pods = (await ask(member, "GET", f"{CORE}pods"))["items"]
        names = [one["metadata"]["name"] for one in pods]
        answers = [await evict(member, name) for name in names[:2]]
        await settled(member, f"{BUDGETS}/b", lambda s: s.get("currentHealthy") == 3)
        await asyncio.sleep(130)
        last = await ask(member, "GET", f"{BUDGETS}/b")
        return first, answers, last["status"]

    async def main(world):
        member = build("m1", world.effects("m1"))
        async with running(member):
            return await scenario(member)

    first, answers, last = simulate(main, 1).value
    assert (first["expectedPods"], first["desiredHealthy"]) == (3, 2)
    assert answers == [201, 429]
    assert (last["disruptionsAllowed"], last.get("disruptedPods")) == (1, None)
