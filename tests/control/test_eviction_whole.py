"""A cluster that may not keep what it has: it runs elsewhere first, and only then leaves."""

import asyncio
from typing import Any

from sites import POLICY, until
from test_pipeline import NGINX, deployment, policy, ready, replicas_in
from whole import Whole, whole

from atoll.control.hub import BINDING, CLUSTER, WORK
from atoll.model.action import Ref

BOUND = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")
ORDER = {"key": "maintenance", "effect": "NoExecute"}


def divided(*clusters: str, **placement: Any) -> dict[str, Any]:
    made = policy(*clusters)
    made["spec"]["placement"] |= {
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        },
        **placement,
    }
    return made


def spec(it: Whole) -> dict[str, Any]:
    return (it.hub.plane.find(BOUND) or {}).get("spec") or {}


def targets(it: Whole) -> dict[str, int]:
    return {each["name"]: each.get("replicas", 0) for each in spec(it).get("clusters") or ()}


def tasks(it: Whole) -> list[str]:
    return [each["fromCluster"] for each in spec(it).get("gracefulEvictionTasks") or ()]


def clusters_with_works(it: Whole) -> set[str]:
    works = it.hub.plane.all(WORK, "Work")
    return {each["metadata"]["namespace"].removeprefix("karmada-es-") for each in works}


def taints(it: Whole, name: str) -> set[str]:
    found = it.hub.plane.find(Ref(CLUSTER, "Cluster", "", name)) or {}
    return {f"{each['key']}:{each['effect']}" for each in found["spec"].get("taints") or ()}


async def taint(it: Whole, name: str, *wanted: dict[str, Any]) -> None:
    await it.change(Ref(CLUSTER, "Cluster", "", name), taints=[*wanted])


def events(it: Whole, reason: str) -> list[str]:
    found = it.hub.plane.all("v1", "Event")
    return [each["message"] for each in found if each["reason"] == reason]


def test_a_lost_cluster_is_tainted_left_and_cleaned_up_when_it_returns() -> None:
    down = [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}]
    up = [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}]
    failover = {
        "apiVersion": POLICY,
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": "failover"},
        "spec": {
            "addOnConditions": down,
            "removeOnConditions": up,
            "taints": [{"key": "failed", "effect": "NoExecute"}],
        },
    }

    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.hub.plane.follow("v1", "Event")
            await it.create(failover)
            await it.create(divided("m1", "m2"))
            await it.create(deployment(3))
            await until(lambda: ready(it) == 3)
            (lost,) = targets(it)
            (other,) = {"m1", "m2"} - {lost}
            it.members[lost].kill()
            await until(lambda: "failed:NoExecute" in taints(it, lost))
            assert any(each.startswith("cluster.karmada.io/") for each in taints(it, lost))
            await until(lambda: targets(it) == {other: 3})
            await until(lambda: replicas_in(it, other) == 3)
            await until(lambda: not tasks(it))
            await until(lambda: len(events(it, "EvictWorkloadFromClusterSucceed")) == 2)
            (told,) = {*events(it, "EvictWorkloadFromClusterSucceed")}
            assert told == f"Evict from cluster {lost} succeed."
            # What it still has is withdrawn as soon as it answers again, and nothing returns there.
            assert clusters_with_works(it) == {lost, other}
            it.members[lost].heal()
            await until(lambda: clusters_with_works(it) == {other})
            await until(lambda: replicas_in(it, lost) is None)
            await until(lambda: not taints(it, lost))
            assert (targets(it), replicas_in(it, other)) == ({other: 3}, 3)

    asyncio.run(story())


def test_where_nothing_else_fits_what_runs_stays_and_is_kept_when_the_order_is_taken_back() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(divided("m1"))
            await it.create(deployment(2))
            await until(lambda: ready(it) == 2)
            await taint(it, "m1", ORDER)
            await until(lambda: tasks(it) == ["m1"])

            def said() -> str:
                conditions = it.hub.plane.find(BOUND)["status"]["conditions"]
                return next(each["message"] for each in conditions if each["type"] == "Scheduled")

            await until(lambda: "What is to leave m1 stays there" in said())
            assert said().startswith("0/2 clusters are available: ")
            assert replicas_in(it, "m1") == 2
            await taint(it, "m1")
            await until(lambda: targets(it) == {"m1": 2} and not tasks(it))
            await until(lambda: said() == "Binding has been scheduled successfully.")
            assert (replicas_in(it, "m1"), ready(it)) == (2, 2)

    asyncio.run(story())


def test_a_purge_asked_for_by_the_policy_sends_the_new_copy_when_the_old_one_is_gone() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            chosen = divided("m1", "m2")
            chosen["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
            await it.create(chosen)
            await it.create(deployment(2))
            await until(lambda: ready(it) == 2)
            (first,) = targets(it)
            (other,) = {"m1", "m2"} - {first}
            both: list[int] = []

            def seen(_before: Any, after: Any) -> None:
                if after is not None and Ref.of(after) == NGINX:
                    both.append(sum(bool(replicas_in(it, each)) for each in ("m1", "m2")))

            for each in ("m1", "m2"):
                it.hub.sites[each].listen(seen)
            await taint(it, first, ORDER)
            await until(lambda: replicas_in(it, other) == 2)
            await until(lambda: not tasks(it))
            assert replicas_in(it, first) is None
            assert max(both) == 1

    asyncio.run(story())


def test_many_leave_one_after_the_other_and_none_is_left_behind() -> None:
    count = 12

    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            left: list[int] = []
            await it.create(divided("m1", "m2"))
            for number in range(count):
                await it.create(deployment(1, f"d{number}"))

            def bound() -> list[set[str]]:
                found = it.hub.plane.all(BINDING, "ResourceBinding")
                lists = [each["spec"].get("clusters") or () for each in found]
                return [{each["name"] for each in one} for one in lists]

            def settled(avoiding: str = "") -> bool:
                works = it.hub.plane.all(WORK, "Work")
                everywhere = [each for each in bound() if each and avoiding not in each]
                return len(everywhere) == len(works) == count

            await until(settled)
            first = max(("m1", "m2"), key=lambda name: sum(name in each for each in bound()))
            moving = sum(first in each for each in bound())
            assert moving > 1

            def noted(_before: Any, _after: Any) -> None:
                left.append(sum(first in each for each in bound()))

            it.hear(BINDING, "ResourceBinding", noted)
            await taint(it, first, ORDER)
            await until(lambda: settled(avoiding=first))
            assert {*range(moving)} <= {*left}, "they left several at a time"

    asyncio.run(story())
