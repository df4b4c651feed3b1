"""Who names clusters has those looked at, and no others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sites import until
from test_observing import no_way
from whole import served

from atoll.control.access.wiring import access
from atoll.control.hub import Hub
from atoll.control.loop import Loop
from atoll.control.taints.wiring import tainting
from atoll.effects import system_effects
from atoll.runtime.children import Children
from atoll.scheduling.features import Features
from atoll.scheduling.setting import Setting
from atoll.store.memory import MemoryLog
from atoll.wire import Object

Make = Callable[[Object], Awaitable[None]]
CLUSTERS = ("m1", "m2", "m3")
WAYS = {"apiGroups": ["cluster.karmada.io"], "resources": ["clusters/proxy"], "verbs": ["*"]}


def pulling(name: str) -> Object:
    """A cluster that the plane never speaks to."""
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Pull", "id": name},
    }


def role(**rule: Any) -> Object:
    rules = [WAYS | rule]
    return _rbac("ClusterRole", rules=rules)


def bound(to: str) -> Object:
    return _rbac(
        "ClusterRoleBinding", roleRef={"apiGroup": _GROUP, "kind": "ClusterRole", "name": to}
    )


def taint_policy(name: str = "odd", **target: Any) -> Object:
    asked = {"conditionType": "Odd", "operator": "In", "statusValues": ["True"]}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": name},
        "spec": {
            **({"targetClusters": target} if target else {}),
            "addOnConditions": [asked],
            "taints": [{"key": "odd", "effect": "NoSchedule"}],
        },
    }


_GROUP = "rbac.authorization.k8s.io"


def _rbac(kind: str, **rest: Any) -> Object:
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": {"name": "way"}, **rest}


@asynccontextmanager
async def looking() -> AsyncIterator[tuple[Make, Loop[str], Loop[str]]]:
    """A plane of three clusters, how to make more in it, and controllers that nobody runs: what is
    woken stays so.
    """
    effects = system_effects()
    async with served(MemoryLog(), effects) as plane, Children("hub") as children:
        setting = Setting(features=Features(Failover=True))
        hub = Hub(plane, effects, children, reach=no_way, setting=setting)
        loops = access(hub), tainting(hub)
        await hub.start()

        async def make(made: Object) -> None:
            for loop in loops:
                loop._keys._waiting[0].clear()
            site = hub.plane
            collection = site.collection(made["apiVersion"], made["kind"])
            await site.api.create(collection, made)
            await until(lambda: site.mirror(collection).get("", made["metadata"]["name"]))

        for each in map(pulling, CLUSTERS):
            await make(each)
        yield make, *loops
        await children.cancel()


@pytest.mark.parametrize(
    ("made", "first", "controller", "expected"),
    [
        pytest.param(lambda: role(resourceNames=["m2"]), (), "access", ["m2"], id="a way to one"),
        pytest.param(
            lambda: role(resourceNames=["m2", "m4"]),
            (),
            "access",
            ["m2", "m4"],
            id="to one to come",
        ),
        pytest.param(role, (), "access", [*CLUSTERS], id="a way to all"),
        pytest.param(lambda: role(resources=["clusters"]), (), "access", [], id="no way"),
        pytest.param(lambda: role(resourceNames=[""]), (), "access", [], id="a way to no name"),
        pytest.param(
            lambda: bound("way"), (role(resourceNames=["m3"]),), "access", ["m3"], id="who has one"
        ),
        pytest.param(lambda: bound("another"), (role(),), "access", [], id="who has another role"),
        pytest.param(
            lambda: taint_policy(clusterNames=["m2", "m4"]), (), "taints", ["m2"], id="taints one"
        ),
        pytest.param(taint_policy, (), "taints", [*CLUSTERS], id="taints all"),
        pytest.param(
            lambda: taint_policy(exclude=["m1"]), (), "taints", ["m2", "m3"], id="taints others"
        ),
    ],
)
def test_only_the_clusters_that_are_named_are_looked_at(
    made: Callable[[], Object], first: tuple[Object, ...], controller: str, expected: list[str]
) -> None:
    async def story() -> None:
        async with looking() as (make, *loops):
            for each in (*first, made()):
                await make(each)
            found = {loop.name: sorted(loop._keys._waiting[0]) for loop in loops}
            assert found == {name: [] for name in found} | {controller: expected}

    asyncio.run(story())


def test_a_cluster_is_held_against_the_taint_policies_that_may_mean_it() -> None:
    async def story() -> None:
        async with looking() as (make, _, taints):
            await make(taint_policy("one", clusterNames=["m2"]))
            await make(taint_policy("other", exclude=["m1"]))
            await make(taint_policy("all"))
            seen = {name: taints._controller.observe(name) for name in CLUSTERS}
            found = {
                name: sorted(each.meta.name for each in one.policies)
                for name, one in seen.items()
                if one is not None
            }
            two = ["all", "other"]
            assert found == {"m1": two, "m2": ["all", "one", "other"], "m3": two}

    asyncio.run(story())
