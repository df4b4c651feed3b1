"""How members are, as their Clusters tell it, and what the scheduler makes of their nodes."""

import asyncio
from typing import Any

from sites import until
from test_explained import told
from test_pipeline import deployment, policy
from whole import Whole, whole

from atoll.client.api import ApiClient, Collection
from atoll.control.hub import BINDING, CLUSTER
from atoll.model.action import Ref

DEPLOYMENTS = Collection("apps/v1", "Deployment", "deployments", namespaced=True)
CRDS = Collection(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False
)
WEB = Ref(BINDING, "ResourceBinding", "default", "nginx-deployment")


def status(it: Whole, name: str) -> dict[str, Any]:
    cluster = it.hub.plane.find(Ref(CLUSTER, "Cluster", "", name)) or {}
    return cluster.get("status") or {}


def reason(it: Whole, name: str, kind: str = "Ready") -> str:
    conditions = status(it, name).get("conditions") or ()
    return next((each["reason"] for each in conditions if each["type"] == kind), "")


def asking(cpu: str, replicas: int, name: str = "nginx") -> dict[str, Any]:
    wire = deployment(replicas, name)
    container = wire["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": cpu}}
    return wire


def by_room(*clusters: str) -> dict[str, Any]:
    wire = policy(*clusters)
    wire["spec"]["placement"]["replicaScheduling"] = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Aggregated",
    }
    return wire


def test_a_member_is_told_as_it_is_and_kept_as_it_was_while_it_is_gone() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await until(lambda: "resourceSummary" in status(it, "m1"))
            before = status(it, "m1")
            assert before["kubernetesVersion"].startswith("v1.")
            assert before["nodeSummary"] == {"totalNum": 10, "readyNum": 10}
            assert before["resourceSummary"]["allocatable"]["cpu"] == "640"
            assert (
                sum(each["count"] for each in before["resourceSummary"]["allocatableModelings"])
                == before["nodeSummary"]["totalNum"]
            )
            assert reason(it, "m1", "CompleteAPIEnablements") == "Complete"
            it.members["m1"].kill()
            await until(lambda: reason(it, "m1") == "ClusterNotReachable")
            after = status(it, "m1")
            assert {**after, "conditions": None} == {**before, "conditions": None}
            it.members["m1"].heal()
            await until(lambda: reason(it, "m1") == "ClusterReady")

    asyncio.run(story())


def test_what_a_member_comes_to_serve_and_to_run_is_told() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            api = ApiClient(it.members["m1"].transport)
            await api.create(DEPLOYMENTS, asking("2", 3))
            schema = {"openAPIV3Schema": {"type": "object"}}
            version = {"name": "v1", "served": True, "storage": True, "schema": schema}
            names = {"plural": "islands", "singular": "island", "kind": "Island"}
            spec = {"group": "example.io", "scope": "Namespaced", "names": names}
            await api.create(
                CRDS,
                {
                    "apiVersion": CRDS.api_version,
                    "kind": CRDS.kind,
                    "metadata": {"name": "islands.example.io"},
                    "spec": {**spec, "versions": [version]},
                },
            )

            def is_told() -> bool:
                found = status(it, "m1")
                served = [each["groupVersion"] for each in found.get("apiEnablements") or ()]
                taken = (found.get("resourceSummary") or {}).get("allocated") or {}
                return "example.io/v1" in served and taken.get("cpu") == "6"

            await until(is_told)
            assert status(it, "m1")["resourceSummary"]["allocated"]["pods"] == "3"

    asyncio.run(story())


def test_room_that_no_node_has_in_one_piece_is_not_given_away_and_it_is_told_why() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            # Of the 64 cores of each of ten nodes 31 stay free: 310 in all, never 32 in one place.
            await ApiClient(it.members["m1"].transport).create(
                DEPLOYMENTS, asking("33", 10, "tenant")
            )
            seen = it.hub.observations["m1"].columns
            await until(lambda: seen.summary().allocated.get("cpu") == 330_000)
            await until(
                lambda: (
                    (status(it, "m1")["resourceSummary"].get("allocated") or {}).get("cpu") == "330"
                )
            )
            await it.create(by_room("m1", "m2"))
            await it.create(asking("32", 4))
            (decision, *_) = await told(it, 1, WEB)
            assert decision["targets"] == [{"name": "m2", "replicas": 4}]
            first, second = decision["clusters"]
            assert first["room"] == 0
            assert first["estimates"] == [
                {"from": "cluster report", "replicas": 9},
                {
                    "from": "node view",
                    "replicas": 0,
                    "because": "10 nodes: 10 short of cpu; the best node has 31 cores free",
                },
            ]
            assert [each["replicas"] for each in second["estimates"]] == [20, 20]

    asyncio.run(story())
