"""The reconcile loop on real servers: a small controller that copies ConfigMaps to a member."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sites import Scene, scene, until

from atoll.client.api import Missing
from atoll.control.loop import Controller, Loop
from atoll.control.performing import LookAgain
from atoll.model.action import NOTHING, Create, Delete, Plan, Ref, Tell, Update

Key = tuple[str, str]


def configmap(name: str, **data: str) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": name, "labels": {"copied": "yes"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def plan_copy(seen: tuple[dict | None, dict | None]) -> Plan:
    template, copy = seen
    if template is None:
        return Plan((Delete.of(copy, at="m"),))
    wanted = configmap(template["metadata"]["name"], **template.get("data", {}))
    if copy is None:
        return Plan((Create(wanted, at="m"), Tell(template, "Copied", "copied to m")))
    if copy.get("data") != wanted["data"]:
        return Plan((Update({**copy, "data": wanted["data"]}, at="m"),))
    return NOTHING


async def copying(it: Scene) -> Loop[Key]:
    plane, member = it.sites[""], it.sites["m"]

    def observe(key: Key) -> tuple[dict | None, dict | None] | None:
        ref = Ref("v1", "ConfigMap", *key)
        seen = plane.find(ref), member.find(ref)
        return None if seen == (None, None) else seen

    loop = Loop(Controller("copying", observe, plan_copy), it.performer)

    def woken(before: dict | None, after: dict | None) -> None:
        wire = after or before
        if (wire["metadata"].get("labels") or {}).get("copied"):
            loop.wake((wire["metadata"]["namespace"], wire["metadata"]["name"]))

    for site in (plane, member):
        site.listen(woken)
        await site.follow("v1", "ConfigMap")
    for worker in range(2):
        it.children.spawn(loop.run(), f"worker {worker}")
    return loop


def test_objects_are_copied_kept_alike_and_removed() -> None:
    async def story() -> None:
        async with scene("m") as it:
            await copying(it)
            plane, member = it.sites[""], it.sites["m"]
            configmaps = plane.collection("v1", "ConfigMap")
            made = await plane.api.create(configmaps, configmap("x", a="1"))
            ref = Ref("v1", "ConfigMap", "default", "x")
            await until(lambda: member.find(ref))
            made = await plane.api.replace(configmaps, {**made, "data": {"a": "2"}})
            await until(lambda: (member.find(ref) or {}).get("data") == {"a": "2"})
            copy = dict(member.find(ref) or {})
            await member.api.replace(configmaps, {**copy, "data": {"drifted": "yes"}})
            await until(lambda: (member.find(ref) or {}).get("data") == {"a": "2"})
            await plane.api.delete(configmaps, made)
            await until(lambda: member.find(ref) is None)
            assert (await member.api.list(configmaps))[0] == [
                each for each in member.all("v1", "ConfigMap") if Ref.of(each) != ref
            ]

    asyncio.run(story())


def test_an_event_is_told_once_however_often_it_is_planned() -> None:
    async def story() -> None:
        async with scene() as it:
            plane = it.sites[""]
            made = await plane.api.create(plane.collection("v1", "ConfigMap"), configmap("x"))
            for _ in range(3):
                await it.performer.perform(Tell(made, "Noticed", "it is there", warning=True))
            events, _ = await plane.api.list(plane.collection("v1", "Event"))
            assert [(each["reason"], each["type"]) for each in events] == [("Noticed", "Warning")]
            assert events[0]["involvedObject"]["uid"] == made["metadata"]["uid"]

    asyncio.run(story())


def test_what_was_decided_on_an_old_state_is_not_done() -> None:
    async def story() -> None:
        async with scene() as it:
            plane = it.sites[""]
            configmaps = plane.collection("v1", "ConfigMap")
            old = await plane.api.create(configmaps, configmap("x"))
            newest = await plane.api.replace(configmaps, {**old, "data": {"by": "another"}})
            with pytest.raises(LookAgain):
                await it.performer.perform(Update({**old, "data": {"by": "us"}}))
            with pytest.raises(LookAgain):
                await it.performer.perform(Create(configmap("x")))
            with pytest.raises(LookAgain):
                await it.performer.perform(Delete.of(old))
            with pytest.raises(LookAgain):
                await it.performer.perform(replace(Delete.of(newest), uid="another-uid"))
            items, _ = await plane.api.list(configmaps)
            assert {"by": "another"} in [each.get("data") for each in items]
            assert it.performer.writes == 4

    asyncio.run(story())


def test_an_update_that_does_not_say_what_it_was_decided_on_is_not_even_sent() -> None:
    async def story() -> None:
        async with scene() as it:
            plane = it.sites[""]
            old = await plane.api.create(plane.collection("v1", "ConfigMap"), configmap("x"))
            metadata = {key: old["metadata"][key] for key in ("namespace", "name", "uid")}
            with pytest.raises(AssertionError, match="ConfigMap default/x as of when"):
                await it.performer.perform(Update({**old, "metadata": metadata}))

    asyncio.run(story())


def test_what_the_last_one_lets_go_of_is_known_to_be_gone_before_it_is_told() -> None:
    async def story() -> None:
        async with scene() as it:
            plane, ref = it.sites[""], Ref("v1", "ConfigMap", "default", "x")
            configmaps = plane.collection("v1", "ConfigMap")
            held = configmap("x")
            held["metadata"]["finalizers"] = ["example.io/held"]
            made = await plane.api.create(configmaps, held)
            await plane.api.delete(configmaps, made)
            await plane.follow("v1", "ConfigMap")
            await it.children.cancel()  # from now on no watch tells anything
            going = plane.find(ref) or {}
            let_go = {**going, "metadata": {**going["metadata"], "finalizers": []}}
            await it.performer.perform(Update(let_go))
            assert plane.find(ref) is None

    asyncio.run(story())


@pytest.mark.parametrize("finalizers", [[], ["example.io/held"]])
def test_what_was_deleted_is_known_to_be_gone_or_going_before_it_is_told(
    finalizers: list[str],
) -> None:
    async def story() -> None:
        async with scene() as it:
            plane, ref = it.sites[""], Ref("v1", "ConfigMap", "default", "x")
            held = configmap("x")
            held["metadata"]["finalizers"] = finalizers
            made = await plane.api.create(plane.collection("v1", "ConfigMap"), held)
            await plane.follow("v1", "ConfigMap")
            await it.children.cancel()  # from now on no watch tells anything
            await it.performer.perform(Delete.of(made))
            found = plane.find(ref)
            assert (found is not None) is bool(finalizers)
            assert found is None or found["metadata"]["deletionTimestamp"]

    asyncio.run(story())


def test_to_delete_what_is_gone_is_as_good_and_an_unknown_kind_is_named() -> None:
    async def story() -> None:
        async with scene() as it:
            none = Ref("v1", "ConfigMap", "default", "none")
            await it.performer.perform(Delete(none, "uid", "1"))
            with pytest.raises(Missing, match="the plane does not serve Widget of x/v1"):
                await it.performer.perform(Create({"apiVersion": "x/v1", "kind": "Widget"}))

    asyncio.run(story())


def test_a_directory_knows_the_kinds_users_make() -> None:
    async def story() -> None:
        async with scene() as it:
            directory = it.sites[""].directory
            kinds = {(each.api_version, each.kind) for each in directory.deletable}
            assert ("apps/v1", "Deployment") in kinds
            assert ("v1", "Binding") not in kinds
            assert directory.find("batch/v1", "Job") in list(directory.served)

    asyncio.run(story())
