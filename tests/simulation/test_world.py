"""A run ends with a result or with a report that says who is to blame."""

import asyncio
import gc
from contextlib import aclosing
from datetime import UTC, datetime

import pytest

from simulation.loop import CallbackFailed, Deadlock, HotLoop
from simulation.world import Leaked, simulate


def test_a_run_reports_its_value_its_steps_and_its_virtual_time():
    async def main(world):
        await asyncio.sleep(90)
        return "done"

    result = simulate(main, seed=1)
    assert (result.value, result.virtual_s) == ("done", 90.0)
    assert result.steps >= 2
    assert len(result.trace) == 16


def test_waiting_for_what_can_never_happen_names_those_who_wait_and_where():
    async def stuck():
        await asyncio.Event().wait()

    async def main(world):
        async with asyncio.TaskGroup() as group:
            await asyncio.sleep(5)
            group.create_task(stuck(), name="forlorn")

    with pytest.raises(Deadlock, match=r"t=5\.000s.*main at .*; forlorn at .*locks\.py") as caught:
        simulate(main, seed=42)
    assert any("SEED=42" in note for note in caught.value.__notes__)


def test_a_loop_that_takes_no_time_is_reported_and_not_hung():
    async def spin():
        while True:
            await asyncio.sleep(0)

    async def main(world):
        async with asyncio.TaskGroup() as group:
            group.create_task(spin(), name="spinner")

    with pytest.raises(HotLoop, match=r"100000 steps and time stands still.*spinner#\d+ \(\d+\)"):
        simulate(main, seed=0)


def test_a_hot_generator_is_reported_and_closed_where_it_is_used():
    closed = []

    async def spin():
        try:
            while True:
                await asyncio.sleep(0)
                yield None
        finally:
            closed.append("yes")

    async def main(world):
        async with aclosing(spin()) as ticks:
            async for _ in ticks:
                pass

    with pytest.raises(HotLoop, match="main"):
        simulate(main, seed=0)
    assert closed == ["yes"]


def test_many_steps_are_fine_as_long_as_time_passes():
    async def main(world):
        for _ in range(150):
            for _ in range(1000):
                await asyncio.sleep(0)
            await asyncio.sleep(1e-6)

    assert simulate(main, seed=0).steps > 150_000


def test_a_task_left_behind_is_reported_by_name_and_still_gets_to_clean_up():
    cleaned = []

    async def linger():
        try:
            await asyncio.sleep(1000)
        finally:
            cleaned.append("yes")

    async def main(world):
        world.lingering = asyncio.create_task(linger(), name="straggler")
        await asyncio.sleep(1)

    with pytest.raises(Leaked, match=r"straggler at .*tasks\.py"):
        simulate(main, seed=0)
    assert cleaned == ["yes"]


def test_a_task_that_refuses_to_end_does_not_hang_the_report():
    async def immortal():
        while True:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                await asyncio.sleep(10)

    async def main(world):
        world.immortal = asyncio.create_task(immortal(), name="immortal")
        await asyncio.sleep(1)

    with pytest.raises(Leaked, match="immortal"):
        simulate(main, seed=0)


def test_a_generator_dropped_before_its_end_is_reported():
    async def numbers():
        yield 1
        yield 2

    async def main(world):
        async for _ in numbers():
            break
        await asyncio.sleep(1)

    with pytest.raises(Leaked, match="numbers"):
        simulate(main, seed=0)


def test_a_failing_callback_ends_the_run():
    def fail():
        raise ValueError("on purpose")

    async def main(world):
        asyncio.get_running_loop().call_later(3, fail)
        await asyncio.sleep(10)

    with pytest.raises(CallbackFailed) as caught:
        simulate(main, seed=0)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_failed_task_that_nobody_looked_at_ends_the_run():
    async def fail():
        raise ValueError("on purpose")

    async def main(world):
        task = asyncio.create_task(fail())
        await asyncio.wait([task])
        del task

    with pytest.raises(CallbackFailed, match="never retrieved"):
        simulate(main, seed=0)


def test_a_failure_of_the_program_comes_out_as_it_is_with_its_seed():
    async def main(world):
        await asyncio.sleep(2)
        raise KeyError("on purpose")

    with pytest.raises(KeyError, match="on purpose") as caught:
        simulate(main, seed=7)
    assert caught.value.__notes__ == ["SEED=7 after 3 steps, t=2.000000s"]


def test_the_wall_clock_follows_the_loop_and_each_node_has_its_own_skew():
    async def main(world):
        hub, member = world.effects("hub"), world.effects("m1", skew_s=-2.5)
        await asyncio.sleep(3600)
        return hub.now(), member.now()

    assert simulate(main, seed=0).value == (
        datetime(2026, 1, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 59, 57, 500_000, tzinfo=UTC),
    )


def test_chance_depends_on_the_seed_and_the_node_and_nothing_else():
    async def main(world):
        return [world.effects(node).chance.uuid("uids") for node in ("hub", "m1", "hub")]

    hub, member, hub_again = simulate(main, seed=1).value
    assert hub == hub_again
    assert len({hub, member, *simulate(main, seed=2).value}) == 4


def test_the_collector_is_off_during_a_run_and_back_afterwards():
    async def main(world):
        return gc.isenabled()

    assert gc.isenabled()
    assert simulate(main, seed=0).value is False
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_notes_and_steps_are_written_as_readable_lines():
    lines = []

    async def main(world):
        await asyncio.sleep(1.5)
        world.note("half past one")

    simulate(main, seed=0, write=lines.append)
    assert lines == ["      1.500000  main                  half past one"]
    simulate(main, seed=0, write=lines.append, each_step=True)
    assert any(line.endswith("main#1") for line in lines)
