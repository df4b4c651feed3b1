"""A StatefulSet divided by ordinals over the members of a whole plane.

What every member may be running is kept from its own store, commit by commit; two of them never
have the same ordinal, whatever else is going on.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
from sites import PATIENCE_S, POLICY, until
from whole import Whole, whole

from atoll.control.hub import BINDING, WORK
from atoll.dialects.karmada.ordinals import NOTED
from atoll.model.action import Ref
from atoll.simulated.member import Member
from atoll.store.record import Event

SETS = "statefulsets.apps"
DB = Ref("apps/v1", "StatefulSet", "default", "db")
DB_BINDING = Ref(BINDING, "ResourceBinding", "default", "db-statefulset")


class Watchman:
    """What each member may be running, from everything that was ever stored in it."""

    def __init__(self, members: dict[str, Member]) -> None:
        self.running: dict[str, set[int]] = {name: set() for name in members}
        self.twins: list[str] = []
        for name, member in members.items():
            member.store.listen(lambda events, name=name: self._committed(name, events))

    def _committed(self, name: str, events: Sequence[Event]) -> None:
        for event in events:
            if event.after.collection == SETS:
                self._changed(name, {} if event.removed else orjson.loads(event.after.value))

    def _changed(self, name: str, wire: dict[str, Any]) -> None:
        spec, status = wire.get("spec") or {}, wire.get("status") or {}
        start, count = (spec.get("ordinals") or {}).get("start", 0), spec.get("replicas", 0)
        wanted = set(range(start, start + count))
        observed = status.get("observedGeneration") == (wire.get("metadata") or {}).get(
            "generation"
        )
        if wire and not (observed and status.get("replicas", 0) <= count):
            wanted |= self.running[name]
        self.running[name] = wanted
        for other, theirs in self.running.items():
            if other != name and wanted & theirs:
                self.twins.append(f"{name} {sorted(wanted)} and {other} {sorted(theirs)}")


def stateful_set(replicas: int) -> dict[str, Any]:
    labels = {"app": "db"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"namespace": "default", "name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "db", "image": "db:1"}]},
            },
        },
    }


def even_policy(*clusters: str) -> dict[str, Any]:
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": 1} for name in clusters]
    return {
        "apiVersion": POLICY,
        "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "db"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "StatefulSet"}],
            "placement": {
                "clusterAffinity": {"clusterNames": list(clusters)},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights},
                },
            },
            "atoll": {"ordinals": {}},
        },
    }


def test_ordinals_are_scaled_and_moved_and_never_run_twice() -> None:
    async def story() -> None:
        async with whole(["m1", "m2", "m3"]) as it:
            watchman = Watchman(it.members)

            async def runs(**expected: range) -> None:
                wanted = {name: set(expected.get(name, range(0))) for name in it.members}
                await until(lambda: watchman.running == wanted)
                total = sum(map(len, wanted.values()))
                await until(lambda: ready(it) == total)
                assert not watchman.twins

            policy = await it.create(even_policy("m1", "m2"))
            await it.create(stateful_set(6))
            await runs(m1=range(3), m2=range(3, 6))
            binding = it.hub.plane.find(DB_BINDING) or {}
            noted = '{"m1":{"replicas":3,"start":0},"m2":{"replicas":3,"start":3}}'
            assert binding["metadata"]["annotations"][NOTED] == noted
            await it.change(DB, replicas=8)
            await runs(m1=range(4), m2=range(4, 8))
            await it.change(DB, replicas=4)
            await runs(m1=range(2), m2=range(2, 4))
            await it.change(Ref.of(policy), **even_policy("m1", "m3")["spec"])
            await runs(m1=range(2), m3=range(2, 4))
            await until(lambda: works(it) == ["karmada-es-m1", "karmada-es-m3"])

    asyncio.run(story())


def test_what_an_unreachable_member_may_run_starts_elsewhere_when_it_is_back() -> None:
    async def story() -> None:
        async with whole(["m1", "m2", "m3"]) as it:
            watchman = Watchman(it.members)
            policy = await it.create(even_policy("m1", "m2"))
            await it.create(stateful_set(4))
            await until(lambda: ready(it) == 4)
            it.members["m2"].kill()
            await it.change(Ref.of(policy), **even_policy("m1", "m3")["spec"])
            await until(lambda: replicas_told(it, "m2") == 0)
            async with asyncio.timeout(PATIENCE_S):
                while "OrdinalsWaiting" not in await reasons(it):
                    await asyncio.sleep(0.01)
            assert watchman.running["m3"] == set()
            it.members["m2"].heal()
            await until(lambda: watchman.running["m3"] == {2, 3})
            await until(lambda: works(it) == ["karmada-es-m1", "karmada-es-m3"])
            assert not watchman.twins

    asyncio.run(story())


def ready(it: Whole) -> int:
    found = it.hub.plane.find(DB) or {}
    return int((found.get("status") or {}).get("readyReplicas", 0))


def works(it: Whole) -> list[str]:
    found = (each["metadata"] for each in it.hub.plane.all(WORK, "Work"))
    return sorted(each["namespace"] for each in found if each["name"].startswith("db-"))


def replicas_told(it: Whole, name: str) -> int | None:
    found = it.hub.plane.all(WORK, "Work")
    here = [each for each in found if each["metadata"]["namespace"] == f"karmada-es-{name}"]
    manifests = [each["spec"]["workload"]["manifests"][0] for each in here]
    return next((each["spec"]["replicas"] for each in manifests if each["kind"] == DB.kind), None)


async def reasons(it: Whole) -> set[str]:
    listed = await it.api.get("/api/v1/namespaces/default/events")
    return {each["reason"] for each in listed["items"]}
