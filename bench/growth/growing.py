"""What one change costs at each size: the sizes by turns, round by round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.growth.apart import Apart, planes
from bench.growth.cases import SHAPES
from bench.growth.plane import Bench
from bench.growth.slopes import Round


@dataclass(frozen=True, slots=True)
class Built:
    """Fill a plane; the CPU seconds of it for each thing."""

    shape: str
    size: int

    async def __call__(self, bench: Bench) -> float:
        return await bench.cost(SHAPES[self.shape].build(bench, self.size)) / self.size


@dataclass(frozen=True, slots=True)
class Changed:
    """Change a little in a plane; the CPU seconds for each thing that was changed."""

    shape: str
    change: str
    size: int
    turn: int

    async def __call__(self, bench: Bench) -> float:
        do, counted = SHAPES[self.shape].changes[self.change], list[int]()

        async def work() -> None:
            counted.append(await do(bench, self.size, self.turn))

        return await bench.cost(work()) / counted[0]


@dataclass(frozen=True, slots=True)
class Grown:
    """What changes of one shape cost, by change and round; and what it cost to fill the plane."""

    shape: str
    filled: Round
    changes: dict[str, list[Round]] = field(default_factory=dict)


def grow(shape: str, sizes: Sequence[int], rounds: int) -> Grown:
    """Fill a plane of each size, and have each change in each of them, once per round."""
    with planes(len(sizes)) as there:
        by_size = dict(zip(sizes, there, strict=True))
        for size, each in by_size.items():
            each.begin(Built(shape, size))
        found = Grown(shape, {size: each.result() for size, each in by_size.items()})
        for change in SHAPES[shape].changes:
            _once(by_size, shape, change, 0)  # what is loaded and filed on first use is no cost
            found.changes[change] = [
                _once(by_size, shape, change, turn) for turn in range(1, rounds + 1)
            ]
        return found


def _once(there: Mapping[int, Apart], shape: str, change: str, turn: int) -> Round:
    order = sorted(there, reverse=bool(turn % 2))
    costs = {size: there[size].do(Changed(shape, change, size, turn)) for size in order}
    return {size: costs[size] for size in there}
