"""What a workload refers to goes where it goes, and leaves when nobody refers to it any more."""

import asyncio
from contextlib import suppress
from typing import Any

from sites import PATIENCE_S, until
from test_pipeline import NGINX, condition, deployment, policy, ready, replicas_in
from whole import Whole, plane_over, served, whole

from atoll.client.api import ApiClient, Missing, Stale
from atoll.control.hub import BINDING, WORK
from atoll.dialects.karmada import names
from atoll.effects import system_effects
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from atoll.wire import Wire
from simulation.link import build

SETTINGS = Ref("v1", "ConfigMap", "default", "settings")
PASSWORD = Ref("v1", "Secret", "default", "password")
ACCOUNT = Ref("v1", "ServiceAccount", "default", "worker")
CLAIM = Ref("v1", "PersistentVolumeClaim", "default", "disk")
ALL = (SETTINGS, PASSWORD, ACCOUNT, CLAIM)
CLAIMED = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}
KIND = "ResourceBinding"


def thing(ref: Ref, **more: Any) -> Wire:
    metadata = {"namespace": ref.namespace, "name": ref.name}
    return {"apiVersion": ref.api_version, "kind": ref.kind, "metadata": metadata, **more}


def workload(name: str = "nginx", replicas: int = 1, needs: tuple[Ref, ...] = ALL) -> Wire:
    wire = deployment(replicas, name)
    spec = wire["spec"]["template"]["spec"]
    sources = {"ConfigMap": "configMapRef", "Secret": "secretRef"}
    spec["containers"][0]["envFrom"] = [
        {sources[each.kind]: {"name": each.name}} for each in needs if each.kind in sources
    ]
    spec["volumes"] = [
        {"name": each.name, "persistentVolumeClaim": {"claimName": each.name}}
        for each in needs
        if each.kind == "PersistentVolumeClaim"
    ]
    accounts = [each.name for each in needs if each.kind == "ServiceAccount"]
    if accounts:
        spec["serviceAccountName"] = accounts[0]
    return wire


def carrying(*clusters: str, name: str = "nginx", of: str = "", **spec: Any) -> Wire:
    """A policy for one Deployment, or for all, that takes dependencies along."""
    wire = policy(*clusters)
    wire["metadata"]["name"] = name
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", **({"name": of} if of else {})}
    wire["spec"] |= {"propagateDeps": True, "resourceSelectors": [selector], **spec}
    return wire


def binding(it: Whole, ref: Ref) -> Wire | None:
    name = names.binding_name(ref.kind, ref.name)
    return it.hub.plane.find(Ref(BINDING, KIND, ref.namespace, name))


async def in_member(it: Whole, cluster: str, ref: Ref) -> Wire | None:
    """As the member itself has it, whether or not anybody follows it there."""
    site = it.hub.sites[cluster]
    wires, _ = await site.api.list(site.collection(ref.api_version, ref.kind))
    found = (each for each in wires if Ref.of(each) == ref)
    return next(found, None)


async def where(it: Whole, ref: Ref) -> set[str]:
    return {name for name in it.members if await in_member(it, name, ref)}


async def until_in(it: Whole, ref: Ref, *clusters: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await where(it, ref) != set(clusters):
            await asyncio.sleep(0.005)


def test_dependencies_go_where_their_workload_goes_and_move_with_it() -> None:
    async def story() -> None:
        async with whole(["m1", "m2", "m3"]) as it:
            for ref in ALL:
                await it.create(thing(ref, **({"spec": CLAIMED} if ref == CLAIM else {})))
            written = await it.create(carrying("m1", "m2"))
            await it.create(workload())
            for ref in (NGINX, *ALL):
                await until_in(it, ref, "m1", "m2")
            attached = binding(it, SETTINGS) or {}
            parent = binding(it, NGINX) or {}
            label = names.depended_by("default", "nginx-deployment")
            assert (
                attached["metadata"]["labels"][label]
                == (parent["metadata"]["labels"][names.BINDING_ID])
            )
            [snapshot] = attached["spec"]["requiredBy"]
            assert snapshot == {
                "namespace": "default",
                "name": "nginx-deployment",
                "clusters": parent["spec"]["clusters"],
            }
            assert names.DEPENDENCIES_FINALIZER in parent["metadata"]["finalizers"]
            assert "password" in parent["metadata"]["annotations"][names.DEPENDENCIES]
            await it.change(Ref.of(written), placement=policy("m3")["spec"]["placement"])
            for ref in (NGINX, *ALL):
                await until_in(it, ref, "m3")
            await until(lambda: ready(it) == 1)

    asyncio.run(story())


def test_a_dependency_stays_in_the_old_cluster_for_as_long_as_its_workload() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(thing(SETTINGS))
            written = await it.create(carrying("m1"))
            await it.create(workload(needs=(SETTINGS,)))
            await until_in(it, SETTINGS, "m1")
            await until(lambda: ready(it) == 1)
            order: list[str] = []

            def gone(before: Wire | None, after: Wire | None) -> None:
                wire = before or {}
                space = wire.get("metadata", {}).get("namespace")
                if after is None and wire.get("kind") == "Work" and space == "karmada-es-m1":
                    [manifest] = wire["spec"]["workload"]["manifests"]
                    order.append(manifest["kind"])

            it.hear(WORK, "Work", gone)
            await it.change(Ref.of(written), placement=policy("m2")["spec"]["placement"])
            await until_in(it, NGINX, "m2")
            await until_in(it, SETTINGS, "m2")
            await until(lambda: len(order) == 2)
            assert order == ["Deployment", "ConfigMap"]

    asyncio.run(story())


def test_a_dependency_of_two_goes_to_both_and_follows_the_one_that_is_left() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            await it.create(thing(PASSWORD))
            await it.create(carrying("m1", name="one", of="a", conflictResolution="Overwrite"))
            await it.create(carrying("m2", name="two", of="b", preserveResourcesOnDeletion=False))
            first = await it.create(workload("a", needs=(PASSWORD,)))
            second = await it.create(workload("b", needs=(PASSWORD,)))
            await until_in(it, PASSWORD, "m1", "m2")
            await until(lambda: len((binding(it, PASSWORD) or {})["spec"]["requiredBy"]) == 2)
            spec = (binding(it, PASSWORD) or {})["spec"]
            assert spec["conflictResolution"] == "Overwrite"
            events = it.hub.plane.collection("v1", "Event")

            async def told() -> list[str]:
                wires, _ = await it.api.list(events)
                return [
                    each["involvedObject"]["name"]
                    for each in wires
                    if each["reason"] == "DependencyPolicyConflict"
                ]

            async with asyncio.timeout(PATIENCE_S):
                while not await told():
                    await asyncio.sleep(0.005)
            assert set(await told()) == {"password-secret"}
            await it.delete(first)
            await until_in(it, PASSWORD, "m2")
            await until(
                lambda: (binding(it, PASSWORD) or {})["spec"]["conflictResolution"] == "Abort"
            )
            await it.delete(second)
            await until_in(it, PASSWORD)
            await until(lambda: not it.hub.plane.all(WORK, "Work"))

            def left() -> list[str]:
                return [each["metadata"]["name"] for each in it.hub.plane.all(BINDING, KIND)]

            # As in Karmada, it stays and goes nowhere.
            await until(lambda: left() == ["password-secret"])
            assert it.hub.plane.find(PASSWORD), "the template itself is the user's"

    asyncio.run(story())


def test_a_dependency_that_comes_later_changes_or_is_dropped_is_followed() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(carrying("m1"))
            await it.create(workload(needs=(SETTINGS, PASSWORD)))
            await until(lambda: replicas_in(it, "m1") == 1)
            secret = await it.create(thing(PASSWORD))
            made = await it.create(thing(SETTINGS, data={"a": "1"}))
            await until_in(it, SETTINGS, "m1")
            await until_in(it, PASSWORD, "m1")
            made = it.hub.plane.find(Ref.of(made)) or made
            await it.replace({**made, "data": {"a": "2"}})

            def data() -> Wire:
                return (it.hub.sites["m1"].find(SETTINGS) or {}).get("data") or {}

            await until(lambda: data() == {"a": "2"})
            await it.change(NGINX, **workload(needs=(PASSWORD,))["spec"])
            await until_in(it, SETTINGS)
            await until_in(it, PASSWORD, "m1")
            await it.delete(secret)
            await until_in(it, PASSWORD)
            await until(lambda: binding(it, PASSWORD) is None)
            again = await it.create(thing(PASSWORD))
            await until_in(it, PASSWORD, "m1")
            owner = (binding(it, PASSWORD) or {})["metadata"]["ownerReferences"][0]
            assert owner["uid"] == again["metadata"]["uid"]

    asyncio.run(story())


def test_a_dependency_with_a_policy_of_its_own_keeps_it() -> None:
    async def story() -> None:
        async with whole(["m1", "m2"]) as it:
            own = carrying("m2", name="own")
            own["spec"]["resourceSelectors"] = [{"apiVersion": "v1", "kind": "ConfigMap"}]
            await it.create(own)
            await it.create(thing(SETTINGS))
            await until_in(it, SETTINGS, "m2")
            await it.create(carrying("m1", conflictResolution="Overwrite"))
            made = await it.create(workload(needs=(SETTINGS,)))
            await until_in(it, SETTINGS, "m1", "m2")
            spec = (binding(it, SETTINGS) or {})["spec"]
            assert [each["name"] for each in spec["clusters"]] == ["m2"]
            assert spec["conflictResolution"] == "Abort"
            await it.delete(made)
            await until_in(it, SETTINGS, "m2")
            await until(lambda: condition(binding(it, SETTINGS), "Scheduled") == "Success")

    asyncio.run(story())


def test_a_parent_that_is_torn_out_while_nobody_looks_leaves_nothing_behind() -> None:
    async def story() -> None:
        effects, log = system_effects(), MemoryLog()
        members = {"m1": build("m1", effects)}
        async with running(*members.values()):
            async with plane_over(members, log, effects) as it:
                await it.create(thing(SETTINGS))
                await it.create(carrying("m1"))
                made = await it.create(workload(needs=(SETTINGS,)))
                await until_in(it, SETTINGS, "m1")
                bindings = it.hub.plane.collection(BINDING, KIND)
                deployments = it.hub.plane.collection("apps/v1", "Deployment")
            async with served(log, effects) as transport:
                api = ApiClient(transport)
                await api.delete(deployments, made)
                path = bindings.path("default", "nginx-deployment")
                async with asyncio.timeout(PATIENCE_S):
                    with suppress(Missing):
                        while parent := await api.get(path):
                            parent["metadata"]["finalizers"] = []
                            with suppress(Stale):
                                await api.replace(bindings, parent)
                            await asyncio.sleep(0.005)
            async with plane_over(members, log, effects) as it:
                await until_in(it, SETTINGS)
                assert (binding(it, SETTINGS) or {})["spec"].get("requiredBy", []) == []

    asyncio.run(story())


def test_a_policy_that_stops_carrying_leaves_the_workload_alone() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(thing(SETTINGS))
            written = await it.create(carrying("m1"))
            await it.create(workload(needs=(SETTINGS,)))
            await until_in(it, SETTINGS, "m1")
            await it.change(Ref.of(written), propagateDeps=False)
            await until_in(it, SETTINGS)
            parent = binding(it, NGINX) or {}
            await until(
                lambda: (
                    names.DEPENDENCIES_FINALIZER
                    not in (binding(it, NGINX) or parent)["metadata"]["finalizers"]
                )
            )
            assert replicas_in(it, "m1") == 1

    asyncio.run(story())


# Beside what pods refer to: whatever is labelled for the Deployment.
SCRIPT = """
function GetDependencies(desired)
  return {
    {apiVersion = "v1", kind = "Secret", namespace = "default", name = "password"},
    {apiVersion = "v1", kind = "ConfigMap", namespace = "default",
     labelSelector = {matchLabels = {["for"] = desired.metadata.name}}},
  }
end
"""
CUSTOMIZATION = {
    "apiVersion": "config.karmada.io/v1alpha1",
    "kind": "ResourceInterpreterCustomization",
    "metadata": {"name": "labelled"},
    "spec": {
        "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
        "customizations": {"dependencyInterpretation": {"luaScript": SCRIPT}},
    },
}


def test_a_plane_that_starts_again_takes_nothing_back_and_goes_on() -> None:
    async def story() -> None:
        effects, log = system_effects(), MemoryLog()
        members = {name: build(name, effects) for name in ("m1", "m2")}
        async with running(*members.values()):
            async with plane_over(members, log, effects) as it:
                await it.create(CUSTOMIZATION)
                labelled = thing(SETTINGS)
                labelled["metadata"]["labels"] = {"for": "nginx"}
                await it.create(labelled)
                await it.create(thing(PASSWORD))
                written = await it.create(carrying("m1"))
                await it.create(workload(needs=()))
                before = {}
                for ref in (SETTINGS, PASSWORD):
                    await until_in(it, ref, "m1")
                    before[ref] = await in_member(it, "m1", ref) or {}
            async with plane_over(members, log, effects) as it:
                await it.change(Ref.of(written), placement=policy("m1", "m2")["spec"]["placement"])
                for ref in (SETTINGS, PASSWORD):
                    await until_in(it, ref, "m1", "m2")
                    after = await in_member(it, "m1", ref) or {}
                    assert after["metadata"]["uid"] == before[ref]["metadata"]["uid"]

    asyncio.run(story())


def test_dependencies_meant_by_their_labels_come_and_go_with_those() -> None:
    async def story() -> None:
        async with whole(["m1"]) as it:
            await it.create(CUSTOMIZATION)
            labelled = thing(SETTINGS)
            labelled["metadata"]["labels"] = {"for": "nginx"}
            await it.create(labelled)
            other = Ref("v1", "ConfigMap", "default", "other")
            made = await it.create(thing(other))
            await it.create(carrying("m1"))
            await it.create(workload(needs=()))
            await until_in(it, SETTINGS, "m1")
            assert await where(it, other) == set()
            made["metadata"]["labels"] = {"for": "nginx"}
            await it.replace(made)
            await until_in(it, other, "m1")
            labelled = it.hub.plane.find(SETTINGS) or {}
            await it.replace({**labelled, "metadata": {**labelled["metadata"], "labels": {}}})
            await until_in(it, SETTINGS)

    asyncio.run(story())
