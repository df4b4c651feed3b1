"""A busy program that checks the simulation itself, not the product.

A world comes in; producers, consumers, a lossy link, deadlines, groups that are cancelled and tasks
that fail run for the time asked for. Whatever asyncio offers that could depend on an address, on
hash order or on the real clock is used here, so that equal traces mean something.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from random import Random

from simulation.world import World


@dataclass
class Tally:
    """What the program did; the same for every run of a seed."""

    produced: int = 0
    consumed: int = 0
    late: int = 0
    lost: int = 0
    order: list[str] = field(default_factory=list)


class LinkLost(Exception):
    """The imagined link dropped a message."""


async def exercise(world: World, virtual_s: float = 600.0) -> Tally:
    """Keep every part busy for this long, then stop them all and return the tally."""
    tally = Tally()
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=8)
    try:
        async with asyncio.timeout(virtual_s), asyncio.TaskGroup() as group:
            for n in range(3):
                draws = world.effects(f"producer-{n}").chance.of("work")
                group.create_task(_produce(queue, tally, draws), name=f"producer-{n}")
            for n in range(4):
                draws = world.effects(f"consumer-{n}").chance.of("link")
                group.create_task(_consume(world, queue, tally, draws), name=f"consumer-{n}")
            draws = world.effects("disturber").chance.of("squalls")
            group.create_task(_disturb(world, tally, draws), name="disturber")
    except TimeoutError:
        world.note(f"time is up: {tally.produced} produced, {tally.consumed} consumed")
    return tally


async def _ticks(draws: Random) -> AsyncGenerator[int, None]:
    n = 0
    while True:
        await asyncio.sleep(draws.expovariate(1.0))
        yield n
        n += 1


async def _produce(queue: asyncio.Queue[int], tally: Tally, draws: Random) -> None:
    async with aclosing(_ticks(draws)) as ticks:
        async for n in ticks:
            await queue.put(n)
            tally.produced += 1


async def _consume(world: World, queue: asyncio.Queue[int], tally: Tally, draws: Random) -> None:
    while True:
        n = await queue.get()
        try:
            async with asyncio.timeout(1.0):
                await _send(draws)
            tally.consumed += 1
        except TimeoutError:
            tally.late += 1
            world.note(f"message {n} was late")
        except LinkLost:
            tally.lost += 1
            world.note(f"message {n} was lost")


async def _send(draws: Random) -> None:
    await asyncio.sleep(draws.uniform(0.0, 1.1))
    if draws.random() < 0.1:
        raise LinkLost


async def _disturb(world: World, tally: Tally, draws: Random) -> None:
    """Start groups in which one task fails, and note in which order the others are cancelled."""
    while True:
        await asyncio.sleep(draws.uniform(5.0, 30.0))
        try:
            async with asyncio.TaskGroup() as group:
                for n in range(draws.randint(2, 12)):
                    # The padding gives each task another neighbourhood in memory.
                    padding = bytearray(draws.randint(1, 5000))
                    group.create_task(_wait_for_the_end(f"waiter-{n}", tally, padding))
                group.create_task(_fail())
        except* LinkLost:
            world.note(f"a squall ended; the last to go was {tally.order[-1]}")


async def _wait_for_the_end(name: str, tally: Tally, padding: bytearray) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        tally.order.append(f"{name}/{len(padding)}")


async def _fail() -> None:
    await asyncio.sleep(0.001)
    raise LinkLost
