"""Equal seeds give equal traces, whatever else is different about the process."""

import asyncio
import os
import random
import subprocess
import sys
from functools import partial

import pytest

from simulation.birth import SimTask
from simulation.exercise import exercise
from simulation.loop import SimLoop
from simulation.world import simulate

# Allocations of random size and number, some kept and some freed, move every later object.
PADDING = """
import random, sys
dice = random.SystemRandom()
kept = [bytearray(dice.randint(1, 4096)) for _ in range(dice.randint(0, 20000))]
kept = [object() for _ in range(dice.randint(0, 50000))], kept[::dice.randint(1, 5)]
sys.argv[0] = "simulation"
import runpy
runpy.run_module("simulation", run_name="__main__")
"""


def last_line(options: list[str], hash_seed: int) -> str:
    """Run the seed in a process of its own, with its own hash seed and a padded heap."""
    ran = subprocess.run(
        [sys.executable, "-c", PADDING, "--quiet", *options],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["exercise", "--seed=7", "--virtual-s=1200"], id="of asyncio itself"),
        pytest.param(["store", "--seed=7", "--virtual-s=60"], id="of the store"),
        pytest.param(["api", "--seed=7", "--virtual-s=30"], id="of the API server"),
        pytest.param(["pipeline", "--seed=7", "--virtual-s=8"], id="of the pipeline"),
    ],
)
def test_equal_seeds_give_equal_traces_in_different_processes(options):
    lines = {last_line(options, hash_seed) for hash_seed in range(1, 5)}
    assert len(lines) == 1
    assert lines.pop().startswith("SEED=7 TRACE=")


def test_equal_seeds_give_equal_traces_within_one_process():
    first, second = (simulate(exercise, seed=3) for _ in range(2))
    assert first == second


def test_different_seeds_give_different_traces():
    program = partial(exercise, virtual_s=60)
    assert len({simulate(program, seed=seed).trace for seed in range(20)}) == 20


class AddressLoop(SimLoop):
    """The simulated loop without its answer to asyncio's sets: tasks hash by address."""

    def create_task(self, coro, *, name=None, context=None, eager_start=None):
        return asyncio.Task(coro, loop=self, name=name, context=context)


def cancellation_order(loop: SimLoop) -> tuple[int, ...]:
    """In which order a group cancels its tasks, made between allocations of random size."""
    order: list[int] = []
    dice = random.SystemRandom()

    async def wait(n: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append(n)

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError

    async def main() -> None:
        padding = []
        try:
            async with asyncio.TaskGroup() as group:
                for n in range(12):
                    padding.append([bytearray(dice.randint(1, 900)) for _ in range(200)])
                    group.create_task(wait(n))
                group.create_task(fail())
        except* ValueError:
            pass

    loop.run_until_complete(main())
    loop.close()
    return tuple(order)


def test_the_order_in_which_a_group_cancels_does_not_depend_on_addresses():
    assert {cancellation_order(SimLoop()) for _ in range(20)} == {tuple(range(12))}


def test_without_birth_numbers_the_order_does_depend_on_addresses():
    # The control: if asyncio stops doing this, SimTask can go.
    assert len({cancellation_order(AddressLoop()) for _ in range(20)}) > 1


def test_tasks_and_futures_hash_by_birth_and_equal_only_themselves():
    loop = SimLoop()
    future, task = loop.create_future(), loop.create_task(asyncio.sleep(0))
    assert isinstance(task, SimTask)
    assert (hash(future), hash(task)) == (1, 2)
    assert future == future
    assert task != future
    loop.run_until_complete(task)
    loop.close()
