"""Users' kinds, as their customizations explain them, from the template to members and back."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from sites import PATIENCE_S, until
from test_pipeline import condition, deployment, policy, ready, replicas_in
from whole import Whole, plane_over

from atoll.control.hub import BINDING, WORK
from atoll.control.site import Site
from atoll.effects import system_effects
from atoll.model.action import Ref
from atoll.runtime.children import Children
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.link import build

GROUP = "shops.example.io"
STALL = Ref(f"{GROUP}/v1", "Stall", "default", "fruit")
BOUND = Ref(BINDING, "ResourceBinding", "default", "fruit-stall")
CONFIG = "config.karmada.io/v1alpha1"

REPLICAS = """
local kube = require("kube")
function GetReplicas(obj)
  return obj.spec.keepers, kube.accuratePodRequirements(obj.spec.pod)
end
"""
REVISED = "function ReviseReplica(obj, n) obj.spec.keepers = n return obj end"
REFLECTED = "function ReflectStatus(obj) return {open = obj.status.open} end"
HEALTH = "function InterpretHealth(obj) return obj.status.open == obj.spec.keepers end"
SUMMED = """
function AggregateStatus(obj, items)
  local open = 0
  for _, item in ipairs(items or {}) do open = open + ((item.status or {}).open or 0) end
  obj.status = {open = open}
  return obj
end
"""
KEPT = """
function Retain(desired, observed)
  desired.spec.place = observed.spec.place
  return desired
end
"""
ENDLESS = "while true do end"


def definition() -> dict[str, Any]:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"stalls.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "stalls", "singular": "stall", "kind": "Stall"},
            "versions": [version],
        },
    }


def stall(keepers: int = 4) -> dict[str, Any]:
    container = {"name": "keeper", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": STALL.api_version,
        "kind": STALL.kind,
        "metadata": {"namespace": STALL.namespace, "name": STALL.name},
        "spec": {"keepers": keepers, "pod": {"spec": {"containers": [container]}}},
    }


def customization(name: str = "stalls", **scripts: str) -> dict[str, Any]:
    return {
        "apiVersion": CONFIG,
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name},
        "spec": {
            "target": {"apiVersion": STALL.api_version, "kind": STALL.kind},
            "customizations": {field: {"luaScript": script} for field, script in scripts.items()},
        },
    }


def stalls_policy() -> dict[str, Any]:
    made = policy("m1", "m2", weights={"m1": 1, "m2": 3})
    selector = {"apiVersion": STALL.api_version, "kind": STALL.kind}
    spec = {**made["spec"], "resourceSelectors": [selector]}
    return {**made, "metadata": {"namespace": "default", "name": "stalls"}, "spec": spec}


async def define(site: Site) -> None:
    """Have the kind served, and know it."""
    await site.directory.read()
    definitions = site.collection("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await site.api.create(definitions, definition())
    async with asyncio.timeout(PATIENCE_S):
        while site.directory.find(STALL.api_version, STALL.kind) is None:
            await site.directory.read()


@asynccontextmanager
async def market() -> AsyncIterator[Whole]:
    """A plane with two members, all of which serve stalls."""
    effects = system_effects()
    members = {name: build(name, effects) for name in ("m1", "m2")}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(*members.values()))
        children = await stack.enter_async_context(Children("definitions"))
        for name, member in members.items():
            await define(Site(name, member.transport, children))
        it = await stack.enter_async_context(plane_over(members, MemoryLog(), effects))
        await define(it.hub.plane)
        await it.hub.plane.follow("v1", "Event")
        yield it


def in_member(it: Whole, name: str) -> dict[str, Any]:
    return it.hub.sites[name].find(STALL) or {}


async def serve(it: Whole, name: str) -> None:
    """What a controller of the user's would do in a member: open the stall, and choose a place."""
    site = it.hub.sites[name]
    collection = site.collection(STALL.api_version, STALL.kind)
    found = await site.api.get(collection.path(STALL.namespace, STALL.name))
    found["spec"]["place"] = f"market of {name}"
    stored = await site.api.replace(collection, found)
    status = {"open": stored["spec"]["keepers"], "noise": "much"}
    await site.api.replace(collection, {**stored, "status": status}, "status")


def told(it: Whole, about: Ref | str, reason: str) -> str:
    """The warnings with a reason about an object, or about all of a kind."""
    found = [
        each["message"]
        for each in it.hub.plane.all("v1", "Event")
        if each["reason"] == reason
        and each["type"] == "Warning"
        and about in (each["involvedObject"]["kind"], _about(each))
    ]
    return "\n".join(found)


def _about(event: dict[str, Any]) -> Ref:
    involved = event["involvedObject"]
    return Ref(
        involved["apiVersion"], involved["kind"], involved.get("namespace", ""), involved["name"]
    )


def test_a_kind_of_a_user_is_divided_kept_reported_and_summed_up_by_scripts() -> None:
    async def story() -> None:
        async with market() as it:
            scripts = {
                "replicaResource": REPLICAS,
                "replicaRevision": REVISED,
                "statusReflection": REFLECTED,
                "statusAggregation": SUMMED,
                "healthInterpretation": HEALTH,
                "retention": KEPT,
            }
            await it.create(customization(**scripts))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))
            for name, count in (("m1", 1), ("m2", 3)):
                assert in_member(it, name)["spec"]["keepers"] == count
                await serve(it, name)
            summed = {"open": 4}
            await until(lambda: (it.hub.plane.find(STALL) or {}).get("status") == summed)
            binding = it.hub.plane.find(BOUND) or {}
            assert binding["spec"]["replicas"] == 4
            requests = binding["spec"]["replicaRequirements"]["resourceRequest"]
            assert requests == {"cpu": "100m"}

            def items() -> list[Any]:
                found = it.hub.plane.find(BOUND) or {}
                return found["status"]["aggregatedStatus"]

            await until(lambda: all(each["health"] == "Healthy" for each in items()))
            assert [each["status"] for each in items()] == [{"open": 1}, {"open": 3}]
            written = it.hub.plane.find(STALL) or {}
            await it.replace({**written, "spec": {**written["spec"], "colour": "red"}})
            await until(lambda: in_member(it, "m2")["spec"].get("colour") == "red")
            assert in_member(it, "m2")["spec"]["place"] == "market of m2"

    asyncio.run(story())


def test_what_a_customization_changes_is_looked_at_again() -> None:
    async def story() -> None:
        async with market() as it:
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))
            assert in_member(it, "m1")["spec"]["keepers"] == 4
            scripts = {"replicaResource": REPLICAS, "replicaRevision": REVISED}
            made = await it.create(customization(**scripts))

            def keepers() -> list[int]:
                return [in_member(it, name)["spec"]["keepers"] for name in ("m1", "m2")]

            await until(lambda: keepers() == [1, 3])
            twice = REVISED.replace("= n", "= 2 * n")
            changed = customization(replicaResource=REPLICAS, replicaRevision=twice)
            await it.replace({**made, "spec": changed["spec"]})
            await until(lambda: keepers() == [2, 6])

    asyncio.run(story())


def test_what_a_member_keeps_follows_the_script_that_says_so() -> None:
    def marking(mark: str) -> dict[str, Any]:
        script = (
            f"function Retain(desired, observed) desired.spec.mark = '{mark}' return desired end"
        )
        return customization(retention=script)

    async def story() -> None:
        async with market() as it:
            made = await it.create(marking("one"))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1"))
            written = it.hub.plane.find(STALL) or {}
            await it.replace({**written, "spec": {**written["spec"], "colour": "red"}})
            await until(lambda: in_member(it, "m1")["spec"].get("mark") == "one")
            await it.replace({**made, "spec": marking("two")["spec"]})
            await until(lambda: in_member(it, "m1")["spec"]["mark"] == "two")
            assert in_member(it, "m1")["spec"]["colour"] == "red"

    asyncio.run(story())


def test_a_script_that_never_ends_is_named_and_everything_else_goes_on() -> None:
    async def story() -> None:
        async with market() as it:
            endless = f"function GetReplicas(obj) {ENDLESS} end"
            await it.create(customization("endless", replicaResource=endless))
            await it.create(stalls_policy())
            await it.create(policy("m1"))
            for number in range(20):
                wire = stall()
                wire["metadata"]["name"] = f"s{number}"
                await it.create(wire)
            await it.create(stall())
            await it.create(deployment(2))
            await until(lambda: replicas_in(it, "m1") == 2)
            await until(lambda: ready(it) == 2)
            await until(lambda: told(it, STALL, "ApplyPolicyFailed"))
            message = told(it, STALL, "ApplyPolicyFailed")
            for part in ("ResourceInterpreterCustomization/endless", "GetReplicas", "1 s"):
                assert part in message

    asyncio.run(story())


def test_scripts_that_fail_are_named_on_the_objects_people_look_at() -> None:
    async def story() -> None:
        async with market() as it:
            await it.create(customization(replicaResource=REPLICAS, replicaRevision=REVISED))
            await it.create(stalls_policy())
            await it.create(stall(4))
            await until(lambda: in_member(it, "m1") and in_member(it, "m2"))
            scripts = {
                "replicaResource": REPLICAS,
                "replicaRevision": "function ReviseReplica(obj, n) return 7 end",
                "retention": "function Retain(desired, observed) error('kept nothing') end",
                "statusReflection": "function ReflectStatus(obj) return 'fine' end",
                "statusAggregation": "function AggregateStatus(obj, items) return {status = 1} end",
            }
            made = it.hub.plane.find(Ref(CONFIG, "ResourceInterpreterCustomization", "", "stalls"))
            assert made is not None
            await it.replace({**made, "spec": customization(**scripts)["spec"]})
            expected = [
                ("Work", "ReflectStatusFailed", "ReflectStatus"),
                (STALL, "ReflectStatusFailed", "ReflectStatus"),
                (BOUND, "ReflectStatusFailed", "ReflectStatus"),
                (STALL, "AggregateStatusFailed", "AggregateStatus"),
                (BOUND, "AggregateStatusFailed", "AggregateStatus"),
                (STALL, "SyncWorkFailed", "ReviseReplica"),
                (BOUND, "SyncWorkFailed", "ReviseReplica"),
                ("Work", "SyncFailed", "Retain"),
            ]
            for about, reason, function in expected:
                await until(lambda about=about, reason=reason: told(it, about, reason))
                assert "ResourceInterpreterCustomization/stalls" in told(it, about, reason)
                assert function in told(it, about, reason)

            def applied() -> list[str]:
                return [condition(each, "Applied") for each in it.hub.plane.all(WORK, "Work")]

            await until(lambda: applied() == ["AppliedFailed"] * 2)

    asyncio.run(story())


def pool() -> list[int]:
    """The processes for scripts that this one has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if b"atoll.lua.worker" in command and int(state[1]) == os.getpid() and state[0] != "Z":
            found.append(int(entry.name))
    return found


def test_processes_for_scripts_start_with_the_first_question_and_end_with_the_plane() -> None:
    before = set(pool())

    async def story() -> None:
        async with market() as it:
            await it.create(stalls_policy())
            await it.create(stall(1))
            await until(lambda: in_member(it, "m1"))
            assert set(pool()) == before
            await it.create(customization(replicaResource=REPLICAS, replicaRevision=REVISED))
            await until(lambda: (it.hub.plane.find(BOUND) or {})["spec"].get("replicas") == 1)
            assert set(pool()) > before

    asyncio.run(story())
    assert set(pool()) == before
