"""Long-running tasks: one failure ends all, in order and in time, unless it may be retried."""

import asyncio
import itertools
import logging

import pytest

from atoll.effects import Chance
from atoll.runtime.supervisor import Forsaken, Restart, Supervisor, TaskFailed
from simulation.world import simulate


def now() -> float:
    return asyncio.get_running_loop().time()


def service(ended, name, *, clean_up_s=0.0):
    """A task that runs until it is cancelled, and takes a while to end."""

    async def run():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(clean_up_s)
            ended.append((name, now()))

    return run


def failing_after(seconds, error):
    async def run():
        await asyncio.sleep(seconds)
        raise error

    return run


def test_tasks_stop_in_reverse_order_each_after_the_one_before_has_ended():
    ended = []

    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            for name in ("store", "api", "http"):
                plane.start(name, service(ended, name, clean_up_s=1))
            asyncio.get_running_loop().call_later(10, plane.stop)
            await plane.until_stopped()
        return now()

    assert simulate(main, seed=0).value == 13.0
    assert ended == [("http", 11.0), ("api", 12.0), ("store", 13.0)]


def test_a_task_that_fails_interrupts_the_body_and_ends_the_others(caplog):
    ended = []

    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            plane.start("store", service(ended, "store"))
            plane.start("api", failing_after(3, ValueError("no port left")))
            await asyncio.Event().wait()

    with pytest.raises(TaskFailed, match="plane: api failed: ValueError: no port left") as caught:
        simulate(main, seed=0)
    assert caught.value.task == "plane: api"
    assert isinstance(caught.value.__cause__, ValueError)
    assert ended == [("store", 3.0)]
    assert len(caplog.messages) == 1


def test_an_interrupted_body_leaves_its_task_uncancelled():
    async def main(world):
        with pytest.raises(TaskFailed):
            await doomed(world)
        await asyncio.sleep(5)
        task = asyncio.current_task()
        return task is not None and task.cancelling()

    async def doomed(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            plane.start("api", failing_after(3, ValueError()))
            await plane.until_stopped()

    assert simulate(main, seed=0).value == 0


def test_a_cancellation_from_outside_stops_everything_and_goes_on():
    ended = []

    async def main(world):
        async def body():
            async with Supervisor("plane", world.effects("hub").chance) as plane:
                plane.start("store", service(ended, "store"))
                await plane.until_stopped()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(body(), timeout=7)

    simulate(main, seed=0)
    assert ended == [("store", 7.0)]


def test_an_error_of_the_body_stops_everything_and_goes_on():
    ended = []

    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            plane.start("store", service(ended, "store"))
            await asyncio.sleep(1)
            raise KeyError("of the body")

    with pytest.raises(KeyError, match="of the body"):
        simulate(main, seed=0)
    assert ended == [("store", 1.0)]


def test_a_task_may_return():
    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            plane.start("once", lambda: asyncio.sleep(1))
            await asyncio.sleep(5)
        return now()

    assert simulate(main, seed=0).value == 5.0


def test_a_task_cancelled_behind_its_owners_back_is_a_failure():
    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            task = plane.start("store", asyncio.Event().wait)
            await asyncio.sleep(1)
            task.cancel()
            await plane.until_stopped()

    with pytest.raises(TaskFailed, match="cancelled by someone else") as caught:
        simulate(main, seed=0)
    assert isinstance(caught.value.__cause__, Forsaken)


def test_a_restartable_task_is_retried_after_growing_waits(caplog):
    starts = []

    async def main(world):
        async def flaky():
            starts.append(now())
            if len(starts) < 6:
                raise ConnectionError("refused")

        restart = Restart(first_s=1, longest_s=4, calm_s=60)
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            await plane.start("link", flaky, restart=restart)

    with caplog.at_level(logging.ERROR, logger="atoll.runtime"):
        simulate(main, seed=0)
    waits = [after - before for before, after in itertools.pairwise(starts)]
    assert len(waits) == 5
    for wait, longest in zip(waits, (1, 2, 4, 4, 4), strict=True):
        assert longest / 2 <= wait <= longest
    assert len(caplog.messages) == 5
    assert caplog.messages[0].startswith("plane: link failed: ConnectionError: refused")


def test_after_a_calm_time_the_waits_begin_anew():
    starts = []

    async def main(world):
        async def flaky():
            starts.append(now())
            if len(starts) == 4:
                await asyncio.sleep(100)
            if len(starts) <= 4:
                raise ConnectionError

        restart = Restart(first_s=1, longest_s=64, calm_s=60)
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            await plane.start("link", flaky, restart=restart)

    simulate(main, seed=0)
    assert starts[4] - starts[3] - 100 <= 1


def test_a_task_that_waits_to_be_retried_can_be_stopped():
    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            restart = Restart(first_s=1000, longest_s=1000)
            plane.start("link", failing_after(1, ConnectionError()), restart=restart)
            await asyncio.sleep(10)
        return now()

    assert simulate(main, seed=0).value == 10.0


def test_a_task_that_can_be_asked_ends_in_its_own_time():
    async def main(world):
        asked = asyncio.Event()

        async def serve():
            await asked.wait()
            await asyncio.sleep(3)

        async with Supervisor("plane", world.effects("hub").chance, stop_within_s=10) as plane:
            task = plane.start("http", serve, ask_to_stop=asked.set)
            await asyncio.sleep(1)
        return now(), task.cancelled()

    assert simulate(main, seed=0).value == (4.0, False)


def test_a_task_that_was_asked_in_vain_is_cancelled_after_half_the_time():
    async def main(world):
        async with Supervisor("plane", world.effects("hub").chance, stop_within_s=10) as plane:
            task = plane.start("http", asyncio.Event().wait, ask_to_stop=lambda: None)
            await asyncio.sleep(1)
        return now(), task.cancelled()

    assert simulate(main, seed=0).value == (6.0, True)


def test_stopping_takes_no_longer_than_promised_and_names_who_would_not_end(caplog):
    ended = []

    async def main(world):
        chance = world.effects("hub").chance
        async with Supervisor("plane", chance, stop_within_s=10) as plane:
            plane.start("store", service(ended, "store"))
            stubborn = plane.start("http", service(ended, "http", clean_up_s=60))
            await asyncio.sleep(1)
        stopped = now()
        await asyncio.wait([stubborn])
        return stopped

    assert simulate(main, seed=0).value == 11.0
    assert ended[0] == ("store", 11.0)
    assert caplog.messages == [
        "plane: http was cancelled and still runs after 10 s; it is left behind"
    ]


def test_a_task_that_ends_at_the_moment_of_stopping_is_not_said_to_run_on(caplog):
    async def main(world):
        over = asyncio.Event()
        async with Supervisor("plane", world.effects("hub").chance) as plane:
            task = plane.start("briefly", over.wait)
            await asyncio.sleep(1)
            over.set()
            while not task.done():
                await asyncio.sleep(0)

    simulate(main, seed=0)
    assert not caplog.records


def test_a_failure_while_stopping_is_not_lost():
    async def main(world):
        async def fail_at_the_end():
            try:
                await asyncio.Event().wait()
            finally:
                raise OSError("disk full")

        async with Supervisor("plane", world.effects("hub").chance) as plane:
            plane.start("store", fail_at_the_end)
            await asyncio.sleep(1)

    with pytest.raises(TaskFailed, match="plane: store failed: OSError: disk full"):
        simulate(main, seed=0)


def test_a_supervisor_works_on_the_real_loop():
    async def main():
        async with Supervisor("plane", Chance("1")) as plane:
            plane.start("api", failing_after(0.01, ValueError("no port left")))
            await plane.until_stopped()

    with pytest.raises(TaskFailed, match="no port left"):
        asyncio.run(main())
