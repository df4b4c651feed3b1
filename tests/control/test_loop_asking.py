"""Rounds that need answers from outside: nobody else waits for them, and they end."""

import asyncio
from collections import Counter
from collections.abc import Callable

from sites import until

from atoll.control.loop import Controller, Loop
from atoll.control.performing import Performer
from atoll.effects import system_effects
from atoll.model.action import NOTHING, Plan
from atoll.runtime.asking import Asking, Question, Reply
from atoll.runtime.children import Children

WORKERS = 4


class Oracle:
    """Answers when it is let, and counts how many wait for it."""

    def __init__(self, *, lasting: bool = True) -> None:
        self.asking = Asking(at_once=100)
        self.lasting = lasting
        self.gate = asyncio.Event()
        self.waiting = 0
        self.calls = 0
        self.again_in: float | None = None

    def answer(self, content: str) -> bytes:
        async def ask() -> Reply:
            self.calls += 1
            self.waiting += 1
            await self.gate.wait()
            self.waiting -= 1
            return Reply(content.encode(), again_in=self.again_in)

        question = Question(content, content.encode(), ask, self.lasting)
        return self.asking.answer(question)


def looking(observe: Callable[[str], object], children: Children) -> tuple[Loop[str], Counter[str]]:
    """A loop whose workers run, and how often each key was planned to the end."""
    effects, done = system_effects(), Counter[str]()

    def plan(seen: str) -> Plan:
        done[seen] += 1
        return NOTHING

    def seen(key: str) -> str:
        observe(key)
        return key

    performer = Performer({}, effects.now, effects.chance)
    loop = Loop(Controller("asking", seen, plan), performer)
    for worker in range(WORKERS):
        children.spawn(loop.run(), f"worker {worker}")
    return loop, done


def test_keys_that_wait_for_an_answer_hold_up_nobody_else() -> None:
    async def story() -> None:
        async with Children("test") as children:
            oracle = Oracle()
            loop, done = looking(
                lambda key: oracle.answer(key) if key.startswith("slow") else None, children
            )
            slow = {f"slow {number}" for number in range(50)}
            for key in sorted(slow):
                loop.wake(key)
            await until(lambda: oracle.waiting)
            loop.wake("quick")
            await until(lambda: done["quick"])
            assert oracle.waiting < WORKERS
            assert not slow & set(done)
            oracle.gate.set()
            await until(lambda: slow <= set(done))
            assert oracle.calls == len(slow)

    asyncio.run(story())


def test_keys_that_wait_for_the_same_answer_all_get_it() -> None:
    async def story() -> None:
        async with Children("test") as children:
            oracle = Oracle()
            loop, done = looking(lambda key: oracle.answer("the same"), children)
            keys = {f"{number}" for number in range(50)}
            for key in sorted(keys):
                loop.wake(key)
            await until(lambda: oracle.waiting)
            oracle.gate.set()
            await until(lambda: keys == set(done))
            assert oracle.calls < WORKERS

    asyncio.run(story())


def test_a_round_that_needs_several_answers_that_do_not_last_ends() -> None:
    async def story() -> None:
        async with Children("test") as children:
            oracle = Oracle(lasting=False)
            oracle.gate.set()
            loop, done = looking(
                lambda key: [oracle.answer(f"{key}{number}") for number in range(10)], children
            )
            loop.wake("a")
            await until(lambda: done["a"] == 1)
            assert oracle.calls == 10
            loop.wake("a")
            await until(lambda: done["a"] == 2)
            assert oracle.calls == 20

    asyncio.run(story())


def test_a_round_asks_only_so_much_and_the_next_goes_on_with_what_lasts() -> None:
    async def story() -> None:
        async with Children("test") as children:
            oracle = Oracle()
            oracle.gate.set()
            loop, done = looking(
                lambda key: [oracle.answer(f"{key}{number}") for number in range(300)], children
            )
            loop.wake("a")
            await until(lambda: done["a"])
            assert oracle.calls == 300

    asyncio.run(story())


def test_what_may_have_another_answer_soon_is_looked_at_again() -> None:
    async def story() -> None:
        async with Children("test") as children:
            oracle = Oracle(lasting=False)
            oracle.gate.set()
            oracle.again_in = 0.01
            loop, done = looking(oracle.answer, children)
            loop.wake("a")
            await until(lambda: done["a"] >= 3)
            assert oracle.calls >= 3

    asyncio.run(story())
