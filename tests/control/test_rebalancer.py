"""A user has workloads placed anew, and is told what came of it."""

import asyncio
from datetime import datetime
from typing import Any

from sites import APPS, until
from test_pipeline import deployment, policy, replicas_in
from whole import Whole, whole

from atoll.control.hub import BINDING, CLUSTER
from atoll.model.action import Ref
from atoll.wire import Wire

AGAIN = Ref(APPS, "WorkloadRebalancer", "", "again")
OF_NGINX = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")
TAINT = {"key": "down", "value": "yes", "effect": "NoSchedule"}


def rebalancer(*names: str, **spec: Any) -> Wire:
    listed = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
        for name in names
    ]
    return {
        "apiVersion": AGAIN.api_version,
        "kind": AGAIN.kind,
        "metadata": {"name": AGAIN.name},
        "spec": {"workloads": listed, **spec},
    }


def by_room(*clusters: str) -> Wire:
    """A policy that divides by what is free."""
    wire = policy(*clusters)
    wire["spec"]["placement"]["replicaScheduling"] = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    return wire


def status(it: Whole) -> Wire:
    return (it.hub.plane.find(AGAIN) or {}).get("status") or {}


def results(it: Whole) -> dict[str, tuple[str, str]]:
    return {
        each["workload"]["name"]: (each.get("result", ""), each.get("reason", ""))
        for each in status(it).get("observedWorkloads") or ()
    }


def test_a_divided_workload_uses_a_cluster_that_came_back_once_it_is_asked_to() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            second = Ref(CLUSTER, "Cluster", "", "m2")
            await it.change(second, taints=[TAINT])
            await it.create(by_room("m1", "m2"))
            await it.create(deployment(4))
            await until(lambda: replicas_in(it, "m1") == 4)
            await it.change(second, taints=[])
            await until(lambda: _scheduled_at(it) is not None)
            # Both moments are told in whole seconds.
            await until(lambda: int(it.hub.now) > (_scheduled_at(it) or 0))
            assert replicas_in(it, "m2") is None, "nothing that runs is moved unasked"
            made = await it.create(rebalancer("nginx", "missing"))
            await until(lambda: (replicas_in(it, "m1"), replicas_in(it, "m2")) == (2, 2))
            await until(lambda: results(it))
            assert results(it) == {
                "nginx": ("Successful", ""),
                "missing": ("Failed", "ReferencedBindingNotFound"),
            }
            assert status(it)["finishTime"]
            assert status(it)["observedGeneration"] == 1
            spec = (it.hub.plane.find(OF_NGINX) or {})["spec"]
            assert spec["rescheduleTriggeredAt"] == made["metadata"]["creationTimestamp"]
            await until(lambda: (_scheduled_at(it) or 0) >= _moment(spec["rescheduleTriggeredAt"]))

    asyncio.run(story())


def test_workloads_listed_later_are_asked_for_and_the_list_ends_with_its_time() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(policy("m1"))
            for name in ("a", "b"):
                await it.create(deployment(1, name))
            bindings = [
                Ref(BINDING, "ResourceBinding", "default", f"{each}-deployment") for each in "ab"
            ]
            await until(lambda: all(it.hub.plane.find(each) for each in bindings))
            await it.create(rebalancer("a", "missing"))
            await until(lambda: results(it).keys() == {"a", "missing"})
            await it.change(AGAIN, workloads=rebalancer("b")["spec"]["workloads"])
            await until(lambda: results(it).keys() == {"a", "b"})
            assert all(
                "rescheduleTriggeredAt" in (it.hub.plane.find(each) or {})["spec"]
                for each in bindings
            )
            await it.change(AGAIN, ttlSecondsAfterFinished=0)
            await until(lambda: it.hub.plane.find(AGAIN) is None)
            assert it.hub.plane.find(bindings[0]), "what was placed anew stays"

    asyncio.run(story())


def _scheduled_at(it: Whole) -> float | None:
    told = ((it.hub.plane.find(OF_NGINX) or {}).get("status") or {}).get("lastScheduledTime")
    return None if told is None else _moment(told)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
