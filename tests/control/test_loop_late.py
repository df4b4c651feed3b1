"""A loop whose mirror lags: every try is in vain until that has caught up, so they become fewer."""

import asyncio
from typing import Any

from sites import Scene, scene

from atoll.control.loop import Controller, Loop
from atoll.model.action import NOTHING, Plan, Ref, Update
from atoll.runtime.children import Children
from simulation.world import World, simulate

REF = Ref("v1", "ConfigMap", "default", "x")


def marked(seen: tuple[dict[str, Any], str]) -> Plan:
    wire, mark = seen
    if wire.get("data") == {"mark": mark}:
        return NOTHING
    return Plan((Update({**wire, "data": {"mark": mark}}),))


async def outdated(it: Scene) -> dict[str, Any]:
    """Have someone write the object while no watch tells the mirror of it."""
    site = it.sites[""]
    return await site.api.replace(
        site.collection("v1", "ConfigMap"), {**(site.find(REF) or {}), "data": {"by": "another"}}
    )


def test_while_a_mirror_lags_pauses_double_up_to_a_second_and_begin_anew_once_it_does_not() -> None:
    async def main(world: World) -> list[list[float]]:
        tries, marks = list[float](), list[str]()
        clock = asyncio.get_running_loop().time
        async with scene(effects=world.effects("hub")) as it, Children("test") as children:
            site = it.sites[""]

            def observe(_key: str) -> tuple[dict[str, Any], str]:
                tries.append(clock())
                return site.find(REF) or {}, marks[-1]

            metadata = {"namespace": "default", "name": "x"}
            wire = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            await site.api.create(site.collection("v1", "ConfigMap"), wire)
            mirror = await site.follow("v1", "ConfigMap")
            await it.children.cancel()
            loop = Loop(Controller("marking", observe, marked), it.performer)
            worker = children.spawn(loop.run(), "worker")
            found = []
            for mark in ("first", "second"):
                marks.append(mark)
                newest, begun = await outdated(it), clock()
                loop.wake("x")
                await asyncio.sleep(5)
                mirror.learn(newest)
                found.append([round(each - begun, 2) for each in tries])
                await asyncio.sleep(5)
                assert (site.find(REF) or {})["data"] == {"mark": mark}
                tries.clear()
            worker.cancel()
        return found

    late = [0.0, 0.02, 0.06, 0.14, 0.3, 0.62, 1.26, 2.26, 3.26, 4.26]
    assert simulate(main, seed=0).value == [late, late]
