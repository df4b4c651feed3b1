"""Why things are where they are, and what they cost, through the whole plane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from sites import PATIENCE_S, until
from test_pipeline import NGINX, deployment, policy, ready
from whole import Whole, plane_over, whole

from atoll.client.api import Missing, Stale
from atoll.control.hub import BINDING, CLUSTER
from atoll.dialects.prices import API_VERSION
from atoll.effects import system_effects
from atoll.model.action import Ref
from atoll.model.price import NANO, Price
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.link import build

WEB = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")


@asynccontextmanager
async def reported(names: list[str]) -> AsyncIterator[Whole]:
    """A plane whose members have said what they serve: nothing is decided before."""
    async with whole(names) as it:
        await served(it, len(names))
        yield it


async def served(it: Whole, count: int) -> None:
    await until(lambda: sum(bool(each.apis) for each in it.hub.fleet.clusters) == count)


async def explanation(it: Whole, ref: Ref = WEB) -> list[dict[str, Any]]:
    """The decisions told of a binding, the newest first; none if nothing is told."""
    kind = "Explanation" if ref.namespace else "ClusterExplanation"
    path = it.hub.plane.collection(API_VERSION, kind).path(ref.namespace, ref.name)
    try:
        return (await it.api.get(path)).get("decisions", [])
    except Missing:
        return []


async def told(it: Whole, count: int, binding: Ref = WEB) -> list[dict[str, Any]]:
    """The decisions, as soon as there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while len(found := await explanation(it, binding)) < count:
            await asyncio.sleep(0.02)
    return found


def price(cluster: str, cpu: str, **spec: Any) -> dict[str, Any]:
    own = {"cluster": cluster, "currency": "EUR", "perCPUHour": cpu, "perGiBHour": "0.01", **spec}
    head = {"apiVersion": API_VERSION, "kind": "ClusterPrice", "metadata": {"name": cluster}}
    return {**head, "spec": own}


def cheapest(*, sticky: bool) -> dict[str, Any]:
    wire = policy("m1", "m2")
    select = {"order": "Cheapest", "maxClusters": 1, "sticky": sticky}
    wire["spec"]["atoll"] = {"select": select}
    return wire


async def change(it: Whole, ref: Ref, part: str, **fields: Any) -> None:
    """Change fields of an object, also while others write its status."""
    while True:
        wire = it.hub.plane.find(ref) or {}
        try:
            await it.replace({**wire, part: {**wire[part], **fields}})
        except Stale:
            await asyncio.sleep(0.01)
        else:
            return


async def reprice(it: Whole, name: str, cpu: str) -> None:
    await change(it, Ref(API_VERSION, "ClusterPrice", "", name), "spec", perCPUHour=cpu)


def targets(it: Whole, binding: Ref = WEB) -> list[str]:
    clusters = (it.hub.plane.find(binding) or {}).get("spec", {}).get("clusters") or []
    return [each["name"] for each in clusters]


def in_force(it: Whole, name: str) -> str:
    found = it.hub.plane.find(Ref(API_VERSION, "ClusterPrice", "", name)) or {}
    conditions = (found.get("status") or {}).get("conditions") or [{}]
    return str(conditions[0].get("reason", ""))


def moment(it: Whole, seconds: int) -> str:
    found = it.hub.effects.now() + timedelta(seconds=seconds)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_each_decision_is_explained_in_one_object_that_goes_with_its_binding() -> None:
    async def story() -> None:
        async with reported(["m1", "m2"]) as it:
            await it.create(policy("m1", "m2", weights={"m1": 1, "m2": 3}))
            await it.create(deployment(4))
            (first,) = await told(it, 1)
            assert first["outcome"]["summary"] == "4 replicas in 2 clusters: m1 1, m2 3"
            assert first["trigger"] == "placementChanged"
            assert [each["name"] for each in first["clusters"]] == ["m1", "m2"]
            await until(lambda: ready(it) == 4)
            await change(it, NGINX, "spec", replicas=8)
            second, again = await told(it, 2)
            assert second["trigger"] == "replicasChanged"
            assert second["targets"] == [
                {"name": "m1", "replicas": 2},
                {"name": "m2", "replicas": 6},
            ]
            assert again == {key: first[key] for key in first if key != "record"}
            await it.delete(it.hub.plane.find(NGINX) or {})
            async with asyncio.timeout(PATIENCE_S):
                while await explanation(it):
                    await asyncio.sleep(0.02)

    asyncio.run(story())


def test_what_is_refused_is_explained_and_the_condition_keeps_karmadas_words() -> None:
    async def story() -> None:
        async with reported(["m1"]) as it:
            await it.create(policy("elsewhere"))
            await it.create(deployment())
            (refused,) = await told(it, 1)
            assert refused["outcome"]["verdict"] == "NoClusterFit"
            assert refused["outcome"]["message"].startswith("0/1 clusters are available")

            def scheduled() -> dict[str, Any]:
                status = (it.hub.plane.find(WEB) or {}).get("status") or {}
                return next(iter(status.get("conditions") or ()), {})

            await until(lambda: bool(scheduled()))
            assert scheduled()["reason"] == "NoClusterFit"
            assert scheduled()["message"] == refused["outcome"]["message"]

    asyncio.run(story())


def test_the_cheapest_is_chosen_by_price_and_left_for_a_cheaper_one_if_it_need_not_stay() -> None:
    async def story() -> None:
        async with reported(["m1", "m2"]) as it:
            await it.create(price("m1", "0.5"))
            await it.create(price("m2", "0.1"))
            await until(lambda: [in_force(it, each) for each in ("m1", "m2")] == ["InForce"] * 2)
            await it.create(cheapest(sticky=False))
            await it.create(deployment(2))
            await until(lambda: targets(it) == ["m2"])
            (first,) = await told(it, 1)
            # Two replicas of 0.1 CPU at 0.1 and of a sixteenth GiB at 0.01.
            assert first["cost"] == "0.02125 EUR per hour"
            await reprice(it, "m1", "0.01")
            await until(lambda: targets(it) == ["m1"])
            assert (await told(it, 2))[0]["targets"] == [{"name": "m1", "replicas": 2}]

    asyncio.run(story())


def test_what_runs_stays_where_it_is_whatever_becomes_cheaper_unless_told_otherwise() -> None:
    async def story() -> None:
        async with reported(["m1", "m2"]) as it:
            await it.create(price("m1", "0.5"))
            await it.create(price("m2", "0.1"))
            await until(lambda: in_force(it, "m2") == "InForce")
            await it.create(cheapest(sticky=True))
            await it.create(deployment(2))
            await until(lambda: targets(it) == ["m2"])
            await reprice(it, "m1", "0.01")
            await until(lambda: it.hub.clusters["m1"].price == Price(10**7, 10**7, {}, "EUR"))
            await it.create(deployment(2, "later"))
            later = Ref(BINDING, "ResourceBinding", "default", "later-deployment")
            await until(lambda: targets(it, later) == ["m1"])
            assert targets(it) == ["m2"]

    asyncio.run(story())


def test_a_price_counts_from_its_first_moment_to_its_last_and_in_one_currency() -> None:
    async def story() -> None:
        async with reported(["m1", "m2", "m3", "m4"]) as it:
            await it.create(price("m1", "1", validFrom=moment(it, 1)))
            await it.create(price("m2", "1", validUntil=moment(it, 1)))
            await it.create(price("m3", "1", currency="USD"))
            annotations = {"atoll.io/price": "cpu=2, currency=EUR"}
            await change(it, Ref(CLUSTER, "Cluster", "", "m4"), "metadata", annotations=annotations)
            reasons = ["InForce", "Expired", "OtherCurrency"]
            await until(lambda: [in_force(it, each) for each in ("m1", "m2", "m3")] == reasons)
            prices = {name: each.price for name, each in it.hub.clusters.items()}
            assert prices == {
                "m1": Price(NANO, NANO // 100, {}, "EUR"),
                "m2": None,
                "m3": None,
                "m4": Price(2 * NANO, None, {}, "EUR"),
            }

    asyncio.run(story())


def test_explanations_go_on_after_a_restart() -> None:
    async def story() -> None:
        log, effects = MemoryLog(), system_effects()
        members = {"m1": build("m1", effects)}
        async with running(*members.values()):
            async with plane_over(members, log, effects) as it:
                await served(it, 1)
                await it.create(policy("m1"))
                await it.create(deployment(1))
                (first,) = await told(it, 1)
            async with plane_over(members, log, effects) as it:
                await change(it, NGINX, "spec", replicas=3)
                second, again = await told(it, 2)
                assert second["targets"] == [{"name": "m1", "replicas": 3}]
                assert again == {key: first[key] for key in first if key != "record"}

    asyncio.run(story())


def test_an_explanation_that_someone_changed_or_removed_is_told_on() -> None:
    async def story() -> None:
        async with reported(["m1"]) as it:
            await it.create(policy("m1"))
            await it.create(deployment(1))
            await told(it, 1)
            path = it.hub.plane.collection(API_VERSION, "Explanation").path("default", WEB.name)
            shown = await it.api.get(path)
            shown["metadata"]["labels"] = {"seen": "yes"}
            await it.replace(shown)
            await change(it, NGINX, "spec", replicas=2)
            await told(it, 2)
            shown = await it.api.get(path)
            assert shown["metadata"]["labels"] == {"seen": "yes"}
            await it.delete(shown)
            await change(it, NGINX, "spec", replicas=3)
            (newest,) = await told(it, 1)
            assert newest["targets"] == [{"name": "m1", "replicas": 3}]

    asyncio.run(story())


def test_what_has_no_namespace_is_explained_too() -> None:
    async def story() -> None:
        async with reported(["m1"]) as it:
            role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
            wide = policy("m1")
            wide |= {"kind": "ClusterPropagationPolicy", "metadata": {"name": "roles"}}
            wide["spec"]["resourceSelectors"] = [role]
            await it.create(wide)
            await it.create({**role, "metadata": {"name": "reader"}, "rules": []})
            binding = Ref(BINDING, "ClusterResourceBinding", "", "reader-clusterrole")
            (decision,) = await told(it, 1, binding)
            assert decision["outcome"]["summary"] == "placed in 1 cluster: m1"

    asyncio.run(story())
