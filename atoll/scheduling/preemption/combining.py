"""Which cluster takes how many of the missing replicas, at the least cost in all.

The covers of every ground come in; for each suffix of the grounds the least cost of placing so
many replicas in them goes out (`Ways`). Costs add up, so this is a shortest path over bounds from
below; covers that it meets are proven, until it meets proven ones only. Grounds that cannot be
needed are left out. In the last resort replicas are placed one by one where it is cheapest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, nsmallest

from atoll.scheduling.preemption.covering import Covers, radix
from atoll.scheduling.preemption.scene import Scene
from atoll.scheduling.preemption.terms import Limits

Options = tuple[tuple[int, ...], ...]
"""For each ground the numbers it may take, beside none; most first."""
Prices = Sequence[Sequence[int]]
"""For each ground what 0, 1, ... replicas cost, and, as lower digits, what ranks equals."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The numbers each ground may take, and the least cost of `left` in the grounds from `at` on.

    `whole` if no number that could be part of a cheapest way was cut.
    """

    options: Options
    least: tuple[dict[int, int], ...]
    path: tuple[int, ...]
    """One cheapest way, likely a good one: how many each ground takes."""
    whole: bool


def ways(scene: Scene, covers: Covers, limits: Limits) -> Ways | None:
    """All cheapest ways, or None if they could not be found within the limits."""
    unit = radix(scene) ** 2
    options, whole = _needed(scene, covers, limits)
    steps = _steps(scene, options)
    left = limits.steps
    while steps <= left:
        left -= steps
        prices = [[each.least * unit + each.aside for each in row] for row in covers.table]
        suffixes = _suffixes(scene, prices, options)
        path = _path(scene.missing, prices, options, suffixes)
        unproven = [at for at, n in enumerate(path) if not covers.table[at][n].proven]
        if not unproven:
            least = tuple({n: price // unit for n, price in each.items()} for each in suffixes)
            return Ways(options, least, path, whole)
        proven = [covers.prove(at, path[at]).proven for at in unproven]
        if not all(proven):
            return None
    return None


def one_by_one(scene: Scene, covers: Covers) -> list[int]:
    """How many each ground takes if every replica goes where it is cheapest next."""
    takes = [ground.least for ground in scene.grounds]
    heap: list[tuple[int, int]] = []

    def offer(at: int) -> None:
        if takes[at] < scene.grounds[at].most:
            row = covers.table[at]
            heappush(heap, (row[takes[at] + 1].cost - row[takes[at]].cost, at))

    for at in range(len(takes)):
        offer(at)
    for _ in range(scene.missing - sum(takes)):
        _, at = heappop(heap)
        takes[at] += 1
        offer(at)
    return takes


def _needed(scene: Scene, covers: Covers, limits: Limits) -> tuple[Options, bool]:
    """The numbers that could be part of a cheapest way; of too many equals only the first."""
    if any(ground.least for ground in scene.grounds):
        return tuple((ground.least,) for ground in scene.grounds), True
    every = _cheap_enough(scene, covers, equals=True)
    if _steps(scene, every) <= limits.steps:
        return every, True
    return _cheap_enough(scene, covers, equals=False), False


def _cheap_enough(scene: Scene, covers: Covers, *, equals: bool) -> Options:
    """For each number only the cheapest grounds, as many as could be in use at once.

    A way that gives one ground `n` uses at most `missing - n` others. Of `missing - n + 1` grounds
    that are cheaper at `n` one is therefore idle, and could stand in.
    """
    keep: list[list[int]] = [[] for _ in covers.table]
    for number in range(scene.missing, 0, -1):
        able = [at for at, row in enumerate(covers.table) if number < len(row)]
        costs = {at: covers.table[at][number].cost for at in able}
        first = nsmallest(scene.missing - number + 1, able, key=costs.__getitem__)
        bar = costs[first[-1]] if len(first) > scene.missing - number else None
        chosen = set(first)
        for at in able:
            least = covers.table[at][number].least
            if bar is None or at in chosen or least < bar or (equals and least == bar):
                keep[at].append(number)
    return tuple(map(tuple, keep))


def _steps(scene: Scene, options: Options) -> int:
    return sum(
        len(numbers) * (1 if ground.least else scene.missing)
        for numbers, ground in zip(options, scene.grounds, strict=True)
    )


def _suffixes(scene: Scene, prices: Prices, options: Options) -> list[dict[int, int]]:
    """Per ground, the least price of placing each number of replicas in it and those after it."""
    suffixes: list[dict[int, int]] = [{0: 0}]
    for at in range(len(prices) - 1, -1, -1):
        after = suffixes[-1]
        best = {} if scene.grounds[at].least else dict(after)
        for number in options[at]:
            price = prices[at][number]
            for placed, rest in after.items():
                total = placed + number
                if total <= scene.missing:
                    known = best.get(total)
                    if known is None or rest + price < known:
                        best[total] = rest + price
        suffixes.append(best)
    suffixes.reverse()
    return suffixes


def _path(
    missing: int, prices: Prices, options: Options, suffixes: Sequence[dict[int, int]]
) -> tuple[int, ...]:
    """How many each ground takes on a way of the least price; the first grounds take most."""
    path = []
    for at, numbers in enumerate(options):
        price, after = suffixes[at][missing], suffixes[at + 1]
        fitting = (n for n in numbers if after.get(missing - n, price + 1) + prices[at][n] == price)
        path.append(next(fitting, 0))
        missing -= path[-1]
    return tuple(path)
