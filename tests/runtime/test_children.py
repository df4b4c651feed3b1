"""Short-lived tasks: their failures are reported, and their owner sees their end."""

import asyncio
import logging

from atoll.runtime.children import Children
from simulation.world import simulate


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_child_can_be_awaited_for_its_result():
    async def main(world):
        children = Children("server")
        return await children.spawn(asyncio.sleep(3, "served"), "request"), len(children)

    assert simulate(main, seed=0).value == ("served", 0)


def test_a_child_that_fails_is_reported_in_one_line_and_disturbs_nobody(caplog):
    async def fail():
        await asyncio.sleep(1)
        raise ValueError("bad bytes")

    async def main(world):
        async with Children("server") as children:
            children.spawn(fail(), "connection 1")
            other = children.spawn(asyncio.sleep(5, "served"), "connection 2")
            await asyncio.sleep(2)
            left = len(children)
            return left, await other

    with caplog.at_level(logging.INFO, logger="atoll.runtime"):
        assert simulate(main, seed=0).value == (1, "served")
    (line,) = caplog.messages
    assert line.startswith("server: connection 1 failed: ValueError: bad bytes (")
    assert "test_children.py:" in line


def test_leaving_the_block_cancels_the_children_youngest_first_and_awaits_them():
    ended = []

    async def serve(n):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(n)

    async def main(world):
        async with Children("server") as children:
            for n in range(5):
                children.spawn(serve(n), f"connection {n}")
            await asyncio.sleep(1)
        return list(ended), now()

    assert simulate(main, seed=0).value == ([4, 3, 2, 1, 0], 1.0)


def test_a_child_that_does_not_end_is_named_and_does_not_hold_up_its_owner(caplog):
    async def stubborn():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)

    async def main(world):
        children = Children("server", stop_within_s=5)
        task = children.spawn(stubborn(), "connection 1")
        await asyncio.sleep(1)
        await children.cancel()
        waited = now()
        await asyncio.wait([task])
        return waited

    with caplog.at_level(logging.ERROR, logger="atoll.runtime"):
        assert simulate(main, seed=0).value == 6.0
    assert caplog.messages == [
        "server: connection 1 was cancelled and still runs after 5 s; it is left behind"
    ]


def test_children_work_on_the_real_loop():
    async def main():
        async with Children("server") as children:
            waiting = children.spawn(asyncio.Event().wait(), "for ever")
            first = await children.spawn(asyncio.sleep(0, "served"), "request")
        return first, waiting.cancelled()

    assert asyncio.run(main()) == ("served", True)
