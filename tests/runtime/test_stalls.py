"""What holds the event loop is counted by cause. The test has its own clock."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Iterator

import pytest

from atoll.effects import Chance
from atoll.runtime.children import Children
from atoll.runtime.stalls import Stalls, doing, doing_meanwhile, measured
from atoll.runtime.supervisor import Supervisor
from atoll.runtime.worklist import Worklist

Story = Callable[[Children], Awaitable[None]]


class Clock:
    """A stopwatch that only goes on when it is told to."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def clock() -> Iterator[Clock]:
    was_enabled = gc.isenabled()
    gc.disable()
    yield Clock()
    if was_enabled:
        gc.enable()


def counted(stalls: Stalls) -> dict[tuple[str, str], float]:
    """Counts and sums of the histogram, by cause."""
    ((name, kind, _, samples),) = stalls.numbers()
    assert (name, kind) == ("atoll_event_loop_stall_seconds", "histogram")
    return {
        (dict(labels)["cause"], what): value
        for what, labels, value in samples
        if what in ("_count", "_sum")
    }


def told(story: Story, clock: Clock) -> dict[tuple[str, str], float]:
    """What was counted while children of "owner" told a story."""
    stalls = Stalls(clock)

    async def main() -> None:
        with stalls.watching():
            async with Children("owner") as children:
                await story(children)

    asyncio.run(main())
    return counted(stalls)


def test_a_long_step_counts_for_its_owner_and_a_short_one_does_not(clock: Clock) -> None:
    async def steps() -> None:
        clock.s += 0.009
        await asyncio.sleep(0)
        clock.s += 0.009  # not with the step before
        await asyncio.sleep(0)
        clock.s += 0.25

    async def story(children: Children) -> None:
        await children.spawn(steps(), "one")

    assert told(story, clock) == {("owner", "_count"): 1, ("owner", "_sum"): 0.25}


def test_time_that_a_task_waits_is_nobody_s_stall(clock: Clock) -> None:
    async def waiting() -> None:
        await asyncio.sleep(0.001)

    async def story(children: Children) -> None:
        task = children.spawn(waiting(), "one")
        await asyncio.sleep(0)
        clock.s += 5.0  # by somebody who is not measured
        await task

    assert told(story, clock) == {}


def test_a_task_that_says_what_it_does_is_counted_for_that_until_it_is_done(clock: Clock) -> None:
    async def one() -> None:
        doing("detector", "default/web")
        clock.s += 0.02
        await asyncio.sleep(0)
        with doing_meanwhile(lambda: ("request: list pods", "/api/v1/pods")):
            clock.s += 0.03
            await asyncio.sleep(0)
        clock.s += 0.05
        await asyncio.sleep(0)

    async def story(children: Children) -> None:
        await children.spawn(one(), "one")

    sums = {cause: value for (cause, what), value in told(story, clock).items() if what == "_sum"}
    assert sums == pytest.approx({"detector": 0.07, "request: list pods": 0.03})


def test_what_a_task_starts_is_not_counted_for_what_that_task_does(clock: Clock) -> None:
    async def long() -> None:
        clock.s += 0.5

    async def starts(children: Children) -> None:
        doing("detector", "default/web")
        await children.spawn(long(), "inner")

    async def story(children: Children) -> None:
        await children.spawn(starts(children), "outer")

    assert told(story, clock) == {("owner", "_count"): 1, ("owner", "_sum"): 0.5}


def test_keys_of_a_worklist_count_for_the_list_and_workers_by_name_without_number(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    stalls = Stalls(clock)

    async def work(_: str) -> None:
        clock.s += 2.0

    async def main() -> None:
        keys: Worklist[str] = Worklist("works")
        keys.add("default/web")

        async def other() -> None:
            clock.s += 0.1

        with stalls.watching():
            async with Supervisor("test", Chance("test")) as it:
                it.start("works 0", lambda: keys.run(work))
                await it.start("other 12", other)
                await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING, "atoll.runtime"):
        asyncio.run(main())
    assert counted(stalls)[("works", "_sum")] == 2.0
    assert counted(stalls)[("other", "_count")] == 1
    assert caplog.messages == ["works held the event loop for 2.00 s at default/web"]


def test_collecting_garbage_is_a_cause_of_its_own_and_no_part_of_the_step_it_interrupts(
    clock: Clock,
) -> None:
    def slow(phase: str, _: object) -> None:
        clock.s += 0.4 if phase == "start" else 0.0

    async def one() -> None:
        clock.s += 0.1
        gc.callbacks.append(slow)  # after ours: what it takes is time of the collection
        gc.collect()
        gc.callbacks.remove(slow)

    async def story(children: Children) -> None:
        await children.spawn(one(), "one")

    sums = {cause: value for (cause, what), value in told(story, clock).items() if what == "_sum"}
    assert sums == pytest.approx({"gc": 0.4, "owner": 0.1})


def test_very_long_ones_are_logged_once_a_minute(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    stalls = Stalls(clock)
    with caplog.at_level(logging.WARNING, "atoll.runtime"):
        for begun, seconds in ((0.0, 0.9), (10.0, 1.5), (60.0, 3.0), (70.1, 1.0)):
            stalls.note(begun, seconds, "status", "default/web")
    shown = [each.split("for ")[1].split(" s")[0] for each in caplog.messages]
    assert shown == ["1.50", "1.00"]


def test_a_measured_task_is_cancelled_fails_and_returns_like_any_other(clock: Clock) -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned up")

    async def fails() -> None:
        try:
            await asyncio.wait_for(asyncio.sleep(60), 0.001)
        except TimeoutError:
            raise ValueError("no") from None

    async def returns() -> int:
        await asyncio.sleep(0)
        return 7

    async def story(children: Children) -> None:
        waiting = children.spawn(waits(), "waits")
        never_begun = children.spawn(waits(), "never begun")
        never_begun.cancel()
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(ValueError, match="no"):
            await children.spawn(fails(), "fails")
        assert await children.spawn(returns(), "returns") == 7

    told(story, clock)
    assert ended == ["cleaned up"]


def test_where_nobody_counts_nothing_is_put_in_between() -> None:
    async def nothing() -> None:
        pass

    coro = nothing()
    assert measured(coro, "any") is coro
    coro.close()
