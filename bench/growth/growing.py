"""What one change costs at each size: the sizes by turns, round by round."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from bench.growth.apart import Apart, planes
from bench.growth.cases import ALIKE, COMPARED, SHAPES
from bench.growth.plane import Bench
from bench.growth.slopes import Round

K = TypeVar("K", bound=Hashable)


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
    filled: Mapping[int, float]
    changes: dict[str, list[Round[int]]] = field(default_factory=dict)


def grow(shape: str, sizes: Sequence[int], rounds: int) -> Grown:
    """Fill a plane of each size, and have each change in each of them, once per round."""
    with _filled({size: Built(shape, size) for size in sizes}) as (there, filled):
        found = Grown(shape, filled)
        for change in SHAPES[shape].changes:
            todo = {size: partial(Changed, shape, change, size) for size in sizes}
            found.changes[change] = _changed(there, todo, rounds)
        return found


def compare(size: int, rounds: int) -> dict[str, list[Round[str]]]:
    """What a change costs where things have much in common and where not, all of one size: the
    changes that all these shapes know, by shape and round.
    """
    shapes = (ALIKE, *COMPARED)
    with _filled({shape: Built(shape, size) for shape in shapes}) as (there, _):
        common = [
            each
            for each in SHAPES[ALIKE].changes
            if all(each in SHAPES[shape].changes for shape in shapes)
        ]
        return {
            change: _changed(
                there, {shape: partial(Changed, shape, change, size) for shape in shapes}, rounds
            )
            for change in common
        }


@contextmanager
def _filled(wanted: Mapping[K, Built]) -> Iterator[tuple[Mapping[K, Apart], Mapping[K, float]]]:
    """Planes that were filled, and what it cost for each thing in them."""
    with planes(len(wanted)) as found:
        there = dict(zip(wanted, found, strict=True))
        for key, build in wanted.items():
            there[key].begin(build)
        yield there, {key: each.result() for key, each in there.items()}


def _changed(
    there: Mapping[K, Apart], todo: Mapping[K, Callable[[int], Changed]], rounds: int
) -> list[Round[K]]:
    """A change in every plane, once per round, one after the other and back."""
    found = list[Round[K]]()
    for turn in range(rounds + 1):
        order = list(there)[:: -1 if turn % 2 else 1]
        costs = {key: there[key].do(todo[key](turn)) for key in order}
        found.append({key: costs[key] for key in there})
    return found[1:]  # what is loaded and filed on first use is no cost
