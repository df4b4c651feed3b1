"""A full fleet, and work of a higher priority that arrives: who gives way, and what follows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from sites import PATIENCE_S, until
from test_room_whole import (
    PRIORITY_CLASS,
    PRIORITY_CLASSES,
    binding_ref,
    by_room,
    health_of,
    large,
    named,
    said,
    until_told,
)
from whole import Whole, plane_over, whole

from atoll.client.api import Missing
from atoll.client.transport import Transport
from atoll.dialects.karmada.preemption_notes import GAVE_WAY, PREEMPTS
from atoll.effects import system_effects
from atoll.exchange import Request, Response
from atoll.model.action import Ref
from atoll.simulated.member import running
from atoll.store.memory import MemoryLog
from simulation.link import build

DEPLOYMENT = Ref("apps/v1", "Deployment", "default")
GATE = "PriorityBasedScheduling=true"
CLASSES = {"low": 1, "middle": 10, "high": 1000}
TAKES = {"preemption": {"mayPreempt": True}}


@asynccontextmanager
async def plane(*members: str, gates: str = GATE) -> AsyncIterator[Whole]:
    """A plane with priority classes, and members with room for ten large replicas each."""
    async with whole(members, gates=gates) as it:
        await ready_for_priorities(it, len(members))
        yield it


async def ready_for_priorities(it: Whole, members: int) -> None:
    await until(lambda: len([each for each in it.hub.fleet.clusters if each.free]) == members)
    await it.create(PRIORITY_CLASSES)
    await until(lambda: it.hub.plane.directory.find(*PRIORITY_CLASS))
    for name, value in CLASSES.items():
        kind = dict(zip(("apiVersion", "kind"), PRIORITY_CLASS, strict=True))
        await it.create({**kind, "metadata": {"name": name}, "value": value})


async def post(
    it: Whole, name: str, priority: str, replicas: int, *clusters: str, **atoll: Any
) -> None:
    """A Deployment with a policy of its own."""
    asked = {"priorityClassSource": "KubePriorityClass", "priorityClassName": priority}
    wanted = by_room(*clusters, schedulePriority=asked, **({"atoll": atoll} if atoll else {}))
    await it.create(named(wanted, name))
    await it.create(large(name, replicas))


async def healthy(it: Whole, name: str, clusters: int = 1) -> None:
    wanted = ["Healthy"] * clusters
    await until(lambda: health_of(it, f"{name}-deployment") == wanted)


def targets(it: Whole, name: str) -> dict[str, int]:
    spec = (it.hub.plane.find(binding_ref(name)) or {"spec": {}})["spec"]
    return {each["name"]: each["replicas"] for each in spec.get("clusters") or ()}


def notes(it: Whole) -> set[str]:
    """The notes of preemption on any of the bindings."""
    bindings = it.hub.plane.all(binding_ref("").api_version, "ResourceBinding")
    found = {key for each in bindings for key in each["metadata"].get("annotations") or {}}
    return found & {PREEMPTS, GAVE_WAY}


async def others_of(it: Whole, binding: str) -> list[dict[str, Any]]:
    """The other bindings that the explanation of a binding's last decision names, once it does."""
    path = f"/apis/placement.atoll.io/v1alpha1/namespaces/default/explanations/{binding}"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(Missing):
                others = (await it.api.get(path))["decisions"][0].get("others")
                if others:
                    return list(others)
            await asyncio.sleep(0.01)


def test_the_lowest_give_way_as_far_as_needed_and_run_in_full_again_when_there_is_room() -> None:
    async def story() -> None:
        async with plane("m1") as it:
            await post(it, "middle", "middle", 4, "m1")
            await post(it, "low", "low", 6, "m1")
            await healthy(it, "middle")
            await healthy(it, "low")
            await post(it, "high", "high", 3, "m1", **TAKES)
            await until(lambda: targets(it, "high") == {"m1": 3})
            await until(lambda: targets(it, "low") == {"m1": 3})
            await healthy(it, "high")
            await until(lambda: not notes(it))
            await until(lambda: said(it, "low") == "Unschedulable")
            assert targets(it, "middle") == {"m1": 4}
            assert targets(it, "low") == {"m1": 3}
            await until_told(it, "Gave up replicas: 3 in m1, to ResourceBinding high-deployment")
            await until_told(it, "gave way: ResourceBinding low-deployment 3 in m1.")
            (other,) = await others_of(it, "high-deployment")
            assert (other["name"], other["clusters"]) == ("low-deployment", ["m1"])
            await it.delete(it.hub.plane.find(DEPLOYMENT._replace(name="middle")))
            await until(lambda: targets(it, "low") == {"m1": 6})
            assert said(it, "high") == "Success"

    asyncio.run(story())


def test_who_gives_way_is_placed_elsewhere_where_there_is_room() -> None:
    async def story() -> None:
        async with plane("m1", "m2") as it:
            await post(it, "low", "low", 10, "m1", "m2")
            await healthy(it, "low")
            ((here, _),) = targets(it, "low").items()
            (there,) = {"m1", "m2"} - {here}
            await post(it, "high", "high", 3, here, **TAKES)
            await until(lambda: targets(it, "low") == {here: 7, there: 3})
            await healthy(it, "low", 2)
            await healthy(it, "high")
            await until(lambda: not notes(it))
            assert targets(it, "high") == {here: 3}

    asyncio.run(story())


def test_two_that_come_at_once_are_not_given_the_same_room() -> None:
    async def story() -> None:
        async with plane("m1") as it:
            await post(it, "low", "low", 10, "m1")
            await healthy(it, "low")
            names = ("high", "higher", "highest")
            await asyncio.gather(*(post(it, each, "high", 3, "m1", **TAKES) for each in names))
            for each in names:
                await healthy(it, each)
            await until(lambda: not notes(it))
            assert targets(it, "low") == {"m1": 1}

    asyncio.run(story())


def test_nobody_gives_way_who_refuses_or_is_not_below() -> None:
    async def story() -> None:
        async with plane("m1") as it:
            await post(it, "equal", "high", 5, "m1")
            await post(it, "refuses", "low", 5, "m1", preemption={"mayBePreempted": False})
            await healthy(it, "equal")
            await healthy(it, "refuses")
            await post(it, "high", "high", 1, "m1", **TAKES)
            await until_told(it, "Nobody gives way: 0 of 1 missing replicas can be made to fit")
            assert said(it, "high") == "Unschedulable"
            assert (targets(it, "equal"), targets(it, "refuses")) == ({"m1": 5}, {"m1": 5})
            assert not notes(it)

    asyncio.run(story())


@dataclass
class CutAfter:
    """A way to a plane on which nothing is written any more after a first write with a note."""

    transport: Transport
    note: str
    cut: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, request: Request) -> Response:
        if request.method != "GET" and self.cut.is_set():
            await asyncio.Event().wait()
        response = await self.transport.send(request)
        if request.method == "PUT" and self.note.encode() in request.body:
            self.cut.set()
        return response

    async def close(self) -> None:
        await self.transport.close()


@pytest.mark.parametrize(
    "note",
    [
        pytest.param(PREEMPTS, id="nobody has given way yet"),
        pytest.param(GAVE_WAY, id="the first of two has"),
    ],
)
def test_a_plane_that_is_killed_in_the_midst_of_it_takes_no_more_and_no_less(note: str) -> None:
    async def story() -> None:
        effects, log = system_effects(), MemoryLog()
        members = {"m1": build("m1", effects)}
        async with running(*members.values()):
            async with plane_over(members, log, effects, GATE) as it:
                await ready_for_priorities(it, 1)
                for name in ("low-a", "low-b"):
                    await post(it, name, "low", 5, "m1")
                    await healthy(it, name)
            ways: list[CutAfter] = []

            def way(transport: Transport) -> Transport:
                ways.append(CutAfter(transport, note))
                return ways[-1]

            async with plane_over(members, log, effects, GATE, way) as it:
                await post(it, "high", "high", 7, "m1", **TAKES)
                await asyncio.wait_for(ways[-1].cut.wait(), PATIENCE_S)
            async with plane_over(members, log, effects, GATE) as it:
                await healthy(it, "high")
                await until(lambda: not notes(it))
                assert targets(it, "high") == {"m1": 7}
                left = [targets(it, name).get("m1", 0) for name in ("low-a", "low-b")]
                assert sum(left) == 3

    asyncio.run(story())
