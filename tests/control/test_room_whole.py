"""A plane whose members have little room: who gets it, and that it is given away once only."""

import asyncio
from typing import Any

from sites import PATIENCE_S, until
from test_pipeline import condition, deployment, policy
from whole import Whole, whole

from atoll.control.hub import BINDING, CLUSTER
from atoll.control.scheduler.decide.queue import BACK_OFF_FIRST
from atoll.model.action import Ref

PRIORITY_CLASSES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "priorityclasses.scheduling.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for want of the real kind"},
    },
    "spec": {
        "group": "scheduling.k8s.io",
        "scope": "Cluster",
        "names": {
            "plural": "priorityclasses",
            "kind": "PriorityClass",
            "listKind": "PriorityClassList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def large(name: str, replicas: int = 1) -> dict[str, Any]:
    """A Deployment of whose replicas a simulated member has room for ten."""
    wire = deployment(replicas, name)
    container = wire["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "64"}}
    return wire


def by_room(*clusters: str, **spec: Any) -> dict[str, Any]:
    wire = policy(*clusters)
    wire["spec"]["placement"]["replicaScheduling"] = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Aggregated",
    }
    wire["spec"] |= spec
    return wire


def bindings(it: Whole) -> list[dict[str, Any]]:
    return it.hub.plane.all(BINDING, "ResourceBinding")


def given(it: Whole) -> dict[str, int]:
    """How many replicas were given to each cluster."""
    total: dict[str, int] = {}
    for each in bindings(it):
        for target in each["spec"].get("clusters") or ():
            total[target["name"]] = total.get(target["name"], 0) + target["replicas"]
    return total


def test_a_burst_of_bindings_is_not_given_the_same_room_twice() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await until(lambda: len(it.hub.fleet.clusters) == 2)
            await until(lambda: all(each.free for each in it.hub.fleet.clusters))
            await it.create(by_room("m1", "m2"))
            await asyncio.gather(*(it.create(large(f"app-{number}")) for number in range(30)))
            await until(lambda: len([each for each in bindings(it) if decided(each)]) == 30)
            assert max(given(it).values()) <= 10
            # What runs already may be counted twice until it is reported to run well.
            await until(lambda: given(it) == {"m1": 10, "m2": 10})
            refused = [each for each in bindings(it) if not each["spec"].get("clusters")]
            assert len(refused) == 10
            assert {condition(each, "Scheduled") for each in refused} == {"Unschedulable"}

    asyncio.run(story())


def test_room_stays_taken_between_running_well_and_the_next_report_of_the_cluster() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await until(lambda: any(each.free for each in it.hub.fleet.clusters))
            await it.create(by_room("m1"))
            await it.create(large("first", 10))
            await until(lambda: health_of(it, "first-deployment") == ["Healthy"])
            await it.create(large("second"))
            await until(lambda: len([each for each in bindings(it) if decided(each)]) == 2)
            assert given(it) == {"m1": 10}

    asyncio.run(story())


def health_of(it: Whole, name: str) -> list[str]:
    binding = it.hub.plane.find(Ref(BINDING, "ResourceBinding", "default", name)) or {}
    told = (binding.get("status") or {}).get("aggregatedStatus") or ()
    return [each["health"] for each in told]


def decided(binding: dict[str, Any]) -> bool:
    return bool(condition(binding, "Scheduled"))


def test_of_those_that_wait_for_room_the_highest_priority_gets_it() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"], gates="PriorityBasedScheduling=true") as it:
            closed = [{"key": "closed", "effect": "NoSchedule"}]
            await it.change(Ref(CLUSTER, "Cluster", "", "m2"), taints=closed)
            await until(lambda: it.hub.clusters["m2"].taints)
            await until(lambda: all(each.free for each in it.hub.fleet.clusters))
            await it.create(PRIORITY_CLASSES)
            await until(lambda: it.hub.plane.directory.find(*PRIORITY_CLASS))
            await it.create(named(by_room("m1", "m2"), "first"))
            await it.create(large("first", 10))
            await until(lambda: health_of(it, "first-deployment") == ["Healthy"])
            for name in ("low", "high"):
                asked = {"priorityClassSource": "KubePriorityClass", "priorityClassName": name}
                await it.create(named(by_room("m1", "m2", schedulePriority=asked), name))
                await it.create(large(name, 10))
            await until_told(it, "there is no PriorityClass high")
            assert it.hub.plane.find(binding_ref("high")) is None
            for name, value in (("low", 1), ("high", 1000)):
                metadata = {"name": name}
                kind = dict(zip(("apiVersion", "kind"), PRIORITY_CLASS, strict=True))
                await it.create({**kind, "metadata": metadata, "value": value})
            for name, value in (("low", 1), ("high", 1000)):
                await until(lambda name=name: said(it, name) == "Unschedulable")
                found = it.hub.plane.find(binding_ref(name)) or {}
                assert found["spec"]["schedulePriority"] == {"priority": value}
            # Who failed backs off for a second or two; only then does the order tell.
            tried_at = it.hub.now
            await until(lambda: it.hub.now > tried_at + 5 * BACK_OFF_FIRST)
            await it.change(Ref(CLUSTER, "Cluster", "", "m2"), taints=[])
            await until(lambda: said(it, "high") == "Success")
            assert said(it, "low") == "Unschedulable"
            assert given(it) == {"m1": 10, "m2": 10}

    asyncio.run(story())


PRIORITY_CLASS = ("scheduling.k8s.io/v1", "PriorityClass")


def named(wire: dict[str, Any], name: str) -> dict[str, Any]:
    """A policy of this name, for the Deployment of this name."""
    wire["metadata"]["name"] = name
    wire["spec"]["resourceSelectors"][0]["name"] = name
    return wire


def binding_ref(name: str) -> Ref:
    return Ref(BINDING, "ResourceBinding", "default", f"{name}-deployment")


def said(it: Whole, name: str) -> str:
    return condition(it.hub.plane.find(binding_ref(name)), "Scheduled")


async def until_told(it: Whole, words: str) -> None:
    """Wait for an event that says this."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            listed = await it.api.get("/api/v1/namespaces/default/events")
            if any(words in each["message"] for each in listed["items"]):
                return
            await asyncio.sleep(0.01)
