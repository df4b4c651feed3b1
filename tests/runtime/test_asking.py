"""Answers of others, for those who may not wait."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from atoll.interpreting.asking import Known, Unanswered
from atoll.runtime.asking import LONGEST_PAUSE_S, Asking, Question, Reply
from simulation.loop import SimLoop


class Oracle:
    """Answers with how often it was asked; fails as long as it is told to, and takes its time."""

    def __init__(self) -> None:
        self.calls = 0
        self.busy = 0
        self.busiest = 0
        self.fails = False
        self.takes_s = 0.0

    def question(self, content: bytes = b"?", *, lasting: bool = True) -> Question:
        async def ask() -> Reply:
            self.calls += 1
            self.busy += 1
            self.busiest = max(self.busy, self.busiest)
            await asyncio.sleep(self.takes_s)
            self.busy -= 1
            return Reply(b"stopped" if self.fails else str(self.calls).encode(), self.fails)

        return Question("oracle", content, ask, lasting)


def find_out(asking: Asking, question: Question) -> Awaitable[Known]:
    with pytest.raises(Unanswered) as unanswered:
        asking.answer(question)
    return unanswered.value.find_out()


def in_virtual_time(story: Callable[[], Awaitable[None]]) -> None:
    loop = SimLoop()
    try:
        loop.run_until_complete(story())
    finally:
        loop.close()


def test_what_lasts_is_remembered_and_other_answers_are_known_while_they_are_held() -> None:
    async def story() -> None:
        oracle, asking = Oracle(), Asking(at_once=1)
        await find_out(asking, oracle.question())
        assert asking.answer(oracle.question()) == b"1"
        passing = oracle.question(b"time", lasting=False)
        held = [await find_out(asking, passing)]
        assert asking.answer(passing) == held[0].answer == b"2"
        held.clear()
        gc.collect()
        await find_out(asking, passing)
        assert oracle.calls == 3

    in_virtual_time(story)


def test_memory_for_answers_is_bounded() -> None:
    async def story() -> None:
        oracle, asking = Oracle(), Asking(at_once=1, bytes_max=100)
        for number in range(20):
            await find_out(asking, oracle.question(b"%d" % number))
        assert asking.answer(oracle.question(b"19")) == b"20"
        await find_out(asking, oracle.question(b"0"))

    in_virtual_time(story)


def test_one_who_fails_is_asked_after_a_pause_by_one_and_the_others_are_told_at_once() -> None:
    async def story() -> None:
        oracle, asking = Oracle(), Asking(at_once=1)
        oracle.fails, oracle.takes_s = True, 1.0
        clock = asyncio.get_running_loop().time
        many = [find_out(asking, oracle.question(b"%d" % number)) for number in range(10)]
        found = await asyncio.gather(*many)
        assert {each.answer for each in found} == {b"stopped"}
        assert all(each.again_in for each in found)
        assert (oracle.calls, oracle.busiest) == (1, 1)
        begun = clock()
        while clock() < begun + 600:
            pause_s = (await find_out(asking, oracle.question())).again_in
            assert pause_s is not None
            assert pause_s <= LONGEST_PAUSE_S
            await asyncio.sleep(pause_s)
        assert oracle.calls < 20, "pauses grow"
        oracle.fails = False
        assert (await find_out(asking, oracle.question())).again_in is None
        assert asking.answer(oracle.question()) == str(oracle.calls).encode()

    in_virtual_time(story)


def test_so_many_are_asked_at_once() -> None:
    async def story() -> None:
        oracle, asking = Oracle(), Asking(at_once=3)
        oracle.takes_s = 0.1
        many = [find_out(asking, oracle.question(b"%d" % number)) for number in range(10)]
        await asyncio.gather(*many)
        assert (oracle.calls, oracle.busiest) == (10, 3)

    in_virtual_time(story)
