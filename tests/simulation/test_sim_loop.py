"""What asyncio offers works on the simulated loop, in virtual time and in a fixed order."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.loop import SimLoop
from simulation.outside import OutsideReached
from simulation.world import simulate


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run the program on a simulated loop, and insist that it leaves nothing behind."""
    return simulate(lambda _world: main(), seed=0).value


def now() -> float:
    return asyncio.get_running_loop().time()


def test_virtual_hours_cost_nothing():
    async def main():
        for _ in range(1000):
            await asyncio.sleep(3600)
        return now()

    assert run(main) == 3_600_000


def test_timers_fire_in_order_of_due_time_then_of_arrival():
    async def main():
        fired: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_later(2, fired.append, "late")
        loop.call_later(1, fired.append, "first of two at once")
        loop.call_at(loop.time() + 1, fired.append, "second of two at once")
        loop.call_later(-5, fired.append, "in the past")
        loop.call_soon(fired.append, "soon")
        await asyncio.sleep(3)
        return fired

    assert run(main) == [
        "in the past",
        "soon",
        "first of two at once",
        "second of two at once",
        "late",
    ]


def test_work_due_now_precedes_later_timers():
    async def main():
        order = []

        async def chain(length):
            for n in range(length):
                await asyncio.sleep(0)
                order.append(n)

        asyncio.get_running_loop().call_later(1e-9, order.append, "timer")
        await chain(100)
        await asyncio.sleep(1)
        return order

    assert run(main) == [*range(100), "timer"]


def test_a_tenth_of_a_second_adds_up_without_drift():
    async def main():
        for _ in range(1000):
            await asyncio.sleep(0.1)
        return now()

    assert run(main) == 100.0


@given(
    start=st.floats(0, 1e7), delay=st.floats(0, 1e5) | st.sampled_from((0.1, 0.2, 0.3, 1e-9, 1e-12))
)
def test_a_timer_is_never_early(start, delay):
    async def main():
        await asyncio.sleep(start)
        when, fired = now() + delay, asyncio.Event()
        asyncio.get_running_loop().call_at(when, fired.set)
        await fired.wait()
        return when, now()

    when, at = run(main)
    assert when <= at <= when + 1e-8


def test_a_cancelled_timer_neither_fires_nor_moves_the_clock():
    async def main():
        fired: list[int] = []
        loop = asyncio.get_running_loop()
        for n in range(1000):
            loop.call_later(10 + n, fired.append, n).cancel()
        await asyncio.sleep(1)
        kept = loop.call_later(5, fired.append, -1)
        await asyncio.sleep(10)
        kept.cancel()
        return fired, now()

    assert run(main) == ([-1], 11.0)


def test_cancelled_deadlines_do_not_pile_up():
    async def main():
        loop = asyncio.get_running_loop()
        most = 0
        for _ in range(5000):
            async with asyncio.timeout(86_400):
                await asyncio.sleep(0.001)
            most = max(most, len(loop._timers))
        return most

    assert run(main) < 300


def test_a_timeout_ends_what_takes_too_long_at_its_time():
    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(60)
        at_timeout = now()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), timeout=2.5)
        return at_timeout, now(), await asyncio.wait_for(asyncio.sleep(1, "done"), timeout=2)

    assert run(main) == (5.0, 7.5, "done")


def test_a_bounded_queue_makes_the_producer_wait():
    async def main():
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=2)
        seen = []

        async def produce():
            for n in range(5):
                await queue.put(n)
                seen.append(f"put {n}")

        async def consume():
            for _ in range(5):
                await asyncio.sleep(1)
                seen.append(f"got {await queue.get()}")

        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            group.create_task(consume())
        return seen

    assert run(main) == [
        *("put 0", "put 1", "got 0", "put 2", "got 1", "put 3", "got 2", "put 4"),
        *("got 3", "got 4"),
    ]


def test_an_event_wakes_its_waiters_in_the_order_they_came():
    async def main():
        event, woken = asyncio.Event(), []

        async def wait(n):
            await event.wait()
            woken.append(n)

        async with asyncio.TaskGroup() as group:
            for n in range(20):
                group.create_task(wait(n))
            await asyncio.sleep(1)
            event.set()
        return woken

    assert run(main) == list(range(20))


def test_a_lock_is_fair():
    async def main():
        lock, order = asyncio.Lock(), []

        async def use(name):
            for _ in range(3):
                async with lock:
                    order.append(name)
                    await asyncio.sleep(1)

        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(use(name))
        return "".join(order), now()

    assert run(main) == ("abcabcabc", 9.0)


def test_gather_keeps_the_order_of_its_arguments():
    async def main():
        return await asyncio.gather(*(asyncio.sleep(10 - n, n) for n in range(5))), now()

    assert run(main) == ([0, 1, 2, 3, 4], 10.0)


def test_wait_returns_what_is_done_when_the_time_is_up():
    async def main():
        tasks = [asyncio.create_task(asyncio.sleep(n, n)) for n in (1, 2, 3)]
        done, pending = await asyncio.wait(tasks, timeout=2.5)
        await asyncio.wait(pending)
        return sorted(task.result() for task in done), now()

    assert run(main) == ([1, 2], 3.0)


def test_a_group_cancels_the_others_when_one_fails_in_order_of_birth():
    async def main():
        order = []

        async def wait(n):
            try:
                await asyncio.Event().wait()
            finally:
                order.append(n)

        async def fail():
            await asyncio.sleep(1)
            raise ValueError("on purpose")

        async def fail_among_others():
            async with asyncio.TaskGroup() as group:
                for n in range(6):
                    group.create_task(wait(n))
                group.create_task(fail())

        with pytest.raises(ExceptionGroup) as caught:
            await fail_among_others()
        return order, [str(error) for error in caught.value.exceptions]

    assert run(main) == ([0, 1, 2, 3, 4, 5], ["on purpose"])


def test_a_generator_under_aclosing_is_closed_where_its_block_ends():
    async def main():
        seen = []

        async def numbers() -> AsyncGenerator[int, None]:
            try:
                for n in range(100):
                    await asyncio.sleep(1)
                    yield n
            finally:
                seen.append("closed")

        async with aclosing(numbers()) as them:
            async for n in them:
                if n == 2:
                    break
        seen.append("after")
        return seen, now()

    assert run(main) == (["closed", "after"], 3.0)


def test_each_task_has_its_own_copy_of_the_context():
    async def main():
        name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")
        seen = []

        async def child(own):
            seen.append(name.get())
            name.set(own)
            await asyncio.sleep(1)
            seen.append(name.get())

        name.set("parent")
        async with asyncio.TaskGroup() as group:
            group.create_task(child("a"))
            group.create_task(child("b"))
        return seen, name.get()

    assert run(main) == (["parent", "parent", "a", "b"], "parent")


def test_unnamed_tasks_are_named_alike_in_every_run_of_a_process():
    async def main():
        task = asyncio.create_task(asyncio.sleep(0))
        await task
        return task.get_name()

    assert run(main) == run(main) == "task-2"


def test_the_standard_runner_can_use_the_loop():
    left = []

    async def linger():
        try:
            await asyncio.Event().wait()
        finally:
            left.append("cancelled")

    async def main():
        asyncio.get_running_loop().lingering = asyncio.create_task(linger())
        await asyncio.sleep(60)
        return now()

    with asyncio.Runner(loop_factory=SimLoop) as runner:
        assert runner.run(main()) == 60.0
    assert left == ["cancelled"]


@pytest.mark.parametrize(
    ("reach", "sentence"),
    [
        pytest.param(
            lambda: asyncio.to_thread(print), "run_in_executor .* a thread runs when", id="thread"
        ),
        pytest.param(
            lambda: asyncio.open_connection("localhost", 1),
            "create_connection .* no network in here",
            id="connection",
        ),
        pytest.param(
            lambda: asyncio.start_server(print, "localhost", 0),
            "create_server .* no network in here",
            id="server",
        ),
        pytest.param(
            lambda: asyncio.create_subprocess_exec("true"),
            "subprocess_exec .* no processes in here",
            id="process",
        ),
    ],
)
def test_reaching_outside_fails_with_a_sentence(reach, sentence):
    async def main():
        with pytest.raises(OutsideReached, match=sentence):
            await reach()
        return "refused"

    assert run(main) == "refused"


def test_every_door_to_the_outside_is_locked():
    inside = {
        *("call_at", "call_exception_handler", "call_later", "call_soon", "call_soon_threadsafe"),
        *("close", "create_future", "create_task", "default_exception_handler", "get_debug"),
        *("get_exception_handler", "get_task_factory", "is_closed", "is_running", "run_forever"),
        *("run_until_complete", "set_debug", "set_exception_handler", "set_task_factory", "stop"),
        *("shutdown_asyncgens", "shutdown_default_executor", "time"),
    }
    offered = {name for name in vars(asyncio.AbstractEventLoop) if not name.startswith("_")}
    assert inside <= offered
    loop = SimLoop()
    for name in sorted(offered - inside):
        with pytest.raises(OutsideReached, match=name):
            getattr(loop, name)()


def test_another_thread_is_turned_away():
    import threading

    loop, caught = SimLoop(), []

    def intrude():
        try:
            loop.call_soon_threadsafe(print)
        except OutsideReached as error:
            caught.append(str(error))

    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join()
    assert caught
    assert "another thread" in caught[0]
