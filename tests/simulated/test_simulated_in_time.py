"""Members under the simulated loop: pods take time, links break, and a seed decides it all."""

import asyncio
import json

import pytest
from simulated_talk import APPS, BATCH, JSON, ask, job, settled, workload

from atoll.client.transport import Unreachable, closing
from atoll.exchange import Request
from atoll.simulated.keeping import Pace
from atoll.simulated.member import running
from simulation.link import build
from simulation.world import simulate

PATH = f"{APPS}deployments"


def in_virtual_time(scenario, seed=1, **options):
    """Run a scenario in one member on the simulated loop."""

    async def main(world):
        member = build("m1", world.effects("m1"), **options)
        async with running(member):
            return await scenario(member)

    return simulate(main, seed)


async def _read(member, path=f"{PATH}/w"):
    return (await ask(member, "GET", path))["status"]


def test_pods_are_ready_after_the_start_delay_and_not_before():
    async def scenario(member):
        await ask(member, "POST", PATH, workload("w", replicas=2))
        await asyncio.sleep(29.0)
        early = await _read(member)
        await asyncio.sleep(2.0)
        return early, await _read(member)

    early, late = in_virtual_time(scenario, pace=Pace(start_s=30.0)).value
    assert (early["replicas"], early["unavailableReplicas"]) == (2, 2)
    assert "readyReplicas" not in early
    assert late["readyReplicas"] == 2


def test_a_new_template_keeps_the_old_pods_until_the_new_ones_are_ready():
    async def scenario(member):
        await ask(member, "POST", PATH, workload("w", replicas=2))
        await asyncio.sleep(60.0)
        await ask(member, "PATCH", f"{PATH}/w", {"spec": workload("w", cpu="200m")["spec"]})
        await asyncio.sleep(1.0)
        rolling = await _read(member)
        await asyncio.sleep(60.0)
        return rolling, await _read(member)

    rolling, done = in_virtual_time(scenario, pace=Pace(start_s=30.0)).value
    assert (rolling["observedGeneration"], rolling["readyReplicas"]) == (2, 2)
    assert (rolling["replicas"], rolling["updatedReplicas"]) == (3, 1)
    assert rolling["conditions"][1]["reason"] == "ReplicaSetUpdated"
    assert (done["updatedReplicas"], done["readyReplicas"]) == (2, 2)


def test_a_recreated_deployment_has_nothing_until_the_new_pods_are_ready():
    async def scenario(member):
        recreate = {"strategy": {"type": "Recreate"}}
        await ask(member, "POST", PATH, workload("w", replicas=2, **recreate))
        await asyncio.sleep(60.0)
        await ask(member, "PATCH", f"{PATH}/w", {"spec": workload("w", cpu="200m")["spec"]})
        await asyncio.sleep(1.0)
        return await _read(member)

    assert "readyReplicas" not in in_virtual_time(scenario, pace=Pace(start_s=30.0)).value


def test_a_job_runs_in_rounds_and_completes_when_its_time_is_up():
    async def scenario(member):
        path = f"{BATCH}jobs"
        await ask(member, "POST", path, job("w", completions=3, parallelism=2))
        seen = []
        for pause_s in (1.0, 10.0, 15.0):
            await asyncio.sleep(pause_s)
            found = await _read(member, f"{path}/w")
            seen.append((found.get("active", 0), found["ready"], found.get("succeeded", 0)))
        return seen, found

    seen, done = in_virtual_time(scenario, pace=Pace(start_s=2.0, job_s=8.0)).value
    assert seen == [(2, 0, 0), (1, 0, 2), (0, 0, 3)]
    assert done["completionTime"] == "2026-01-01T00:00:20Z"
    assert [one["type"] for one in done["conditions"]] == ["SuccessCriteriaMet", "Complete"]


def test_a_killed_member_is_not_reachable_until_it_is_healed_and_goes_on_meanwhile():
    async def scenario(member):
        await ask(member, "POST", PATH, workload("w", replicas=1))
        member.kill()
        with pytest.raises(Unreachable, match="m1 is not reachable"):
            await ask(member, "GET", f"{PATH}/w")
        await asyncio.sleep(60.0)
        member.heal()
        return await _read(member)

    assert in_virtual_time(scenario, pace=Pace(start_s=30.0)).value["readyReplicas"] == 1


async def _watched(member, seen):
    response = await member.transport.send(Request("GET", PATH, "watch=1", JSON))
    async with closing(response.stream):
        async for chunk in response.stream:
            seen += [json.loads(line)["type"] for line in chunk.splitlines()]


def test_killing_breaks_off_watches_that_are_open_and_requests_on_the_way():
    async def scenario(member):
        seen = []
        await ask(member, "POST", PATH, workload("w", replicas=1))
        await settled(member, f"{PATH}/w", lambda status: status.get("readyReplicas") == 1)
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_ended(_watched(member, seen)))
            await asyncio.sleep(1.0)
            member.slow(5.0)
            request = group.create_task(_ended(ask(member, "GET", f"{PATH}/w")))
            await asyncio.sleep(1.0)
            member.kill()
            member.kill()
        return seen, watch.result(), request.result(), asyncio.get_running_loop().time()

    seen, *ends, now = in_virtual_time(scenario).value
    assert seen == ["ADDED"]
    assert ends == ["m1 is not reachable", "m1 is not reachable"]
    assert now < 3.0


async def _ended(doing):
    try:
        await doing
    except Unreachable as error:
        return str(error)
    return "went well"


def test_a_watch_that_was_broken_off_stays_so_after_healing():
    async def scenario(member):
        response = await member.transport.send(Request("GET", PATH, "watch=1", JSON))
        async with closing(response.stream):
            member.kill()
            member.heal()
            with pytest.raises(Unreachable):
                await anext(response.stream)
        return await ask(member, "GET", PATH)

    assert in_virtual_time(scenario).value["items"] == []


def test_a_watch_that_nobody_reads_is_closed_all_the_same():
    async def scenario(member):
        response = await member.transport.send(Request("GET", PATH, "watch=1", JSON))
        async with closing(response.stream):
            pass
        with pytest.raises(StopAsyncIteration):
            await anext(response.stream)
        return "closed"

    assert in_virtual_time(scenario).value == "closed"


def test_nobody_waits_for_an_answer_for_ever():
    async def scenario(member):
        member.slow(3600.0)
        with pytest.raises(Unreachable, match="m1 is not reachable"):
            await ask(member, "GET", PATH)
        return asyncio.get_running_loop().time()

    assert in_virtual_time(scenario).value == 60.0


def test_a_slow_member_answers_late():
    async def scenario(member):
        member.slow(2.5)
        start = asyncio.get_running_loop().time()
        await ask(member, "GET", PATH)
        taken = asyncio.get_running_loop().time() - start
        member.heal()
        await ask(member, "GET", PATH)
        return taken, asyncio.get_running_loop().time() - start

    assert in_virtual_time(scenario).value == (2.5, 2.5)


def test_the_same_seed_does_the_same_and_a_refusing_disk_only_delays():
    async def scenario(member):
        for n in range(20):
            await ask(member, "POST", PATH, workload(f"w{n}", replicas=n % 4))
        member.store._log.refusal = "no space left"
        await asyncio.sleep(7.0)
        member.store._log.refusal = ""
        await asyncio.sleep(60.0)
        return [(await _read(member, f"{PATH}/w{n}")).get("readyReplicas", 0) for n in range(20)]

    first, second = (in_virtual_time(scenario, pace=Pace(start_s=5.0)) for _ in range(2))
    assert first == second
    assert first.value == [n % 4 for n in range(20)]
