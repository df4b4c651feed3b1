"""Which cluster takes how many of the missing replicas, at the least cost in all.

The covers of every ground come in; for each suffix of the grounds the least cost of placing so
many replicas in them goes out (`Ways`). Costs add up, so this is a shortest path. Where it would
be too long, clusters that cannot be needed are cut, which keeps the least cost, and in the last
resort replicas are placed one by one where the next one is cheapest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from atoll.scheduling.preemption.covering import Cover, radix
from atoll.scheduling.preemption.scene import Scene
from atoll.scheduling.preemption.terms import Limits

Table = Sequence[Cover]
Options = tuple[tuple[int, ...], ...]
"""For each ground the numbers it may take, beside none; most first."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The numbers each ground may take, and the least cost of `left` in the grounds from `at` on.

    `whole` if no number that could be part of a cheapest way was cut.
    """

    options: Options
    least: tuple[dict[int, int], ...]
    path: tuple[int, ...]
    """One cheapest way, likely a good one: how many each ground takes."""
    whole: bool = True


def ways(scene: Scene, tables: Sequence[Table], limits: Limits) -> Ways | None:
    """All cheapest ways, or None if they are too many to look at."""
    options = tuple(
        tuple(range(ground.most, max(0, ground.least - 1), -1)) for ground in scene.grounds
    )
    if _steps(scene, options) <= limits.steps:
        return _ways(scene, tables, options)
    cut = _cut(scene, tables)
    if _steps(scene, cut) <= limits.steps:
        return replace(_ways(scene, tables, cut), whole=False)
    return None


def one_by_one(scene: Scene, tables: Sequence[Table]) -> list[int]:
    """How many each ground takes if every replica goes where it is cheapest next."""
    takes = [ground.least for ground in scene.grounds]
    heap: list[tuple[int, int]] = []

    def offer(at: int) -> None:
        if takes[at] < scene.grounds[at].most:
            table = tables[at]
            heappush(heap, (table[takes[at] + 1].cost - table[takes[at]].cost, at))

    for at in range(len(takes)):
        offer(at)
    for _ in range(scene.missing - sum(takes)):
        _, at = heappop(heap)
        takes[at] += 1
        offer(at)
    return takes


def _steps(scene: Scene, options: Options) -> int:
    return sum(
        len(numbers) * (1 if ground.least else scene.missing)
        for numbers, ground in zip(options, scene.grounds, strict=True)
    )


def _ways(scene: Scene, tables: Sequence[Table], options: Options) -> Ways:
    unit = radix(scene) ** 2
    prices = tuple(tuple(each.cost * unit + each.aside for each in table) for table in tables)
    suffixes = _suffixes(scene, prices, options)
    least = tuple({left: price // unit for left, price in each.items()} for each in suffixes)
    return Ways(options, least, _path(scene.missing, prices, options, suffixes))


def _suffixes(
    scene: Scene, prices: Sequence[Sequence[int]], options: Options
) -> list[dict[int, int]]:
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
    missing: int,
    prices: Sequence[Sequence[int]],
    options: Options,
    suffixes: Sequence[dict[int, int]],
) -> tuple[int, ...]:
    """How many each ground takes on a way of the least price; the first grounds take most."""
    path = []
    for at, numbers in enumerate(options):
        price, after = suffixes[at][missing], suffixes[at + 1]
        fitting = (n for n in numbers if after.get(missing - n, price + 1) + prices[at][n] == price)
        path.append(next(fitting, 0))
        missing -= path[-1]
    return tuple(path)


def _cut(scene: Scene, tables: Sequence[Table]) -> Options:
    """For each number only the cheapest grounds, as many as could be in use at once.

    A way that gives one ground `n` uses at most `missing - n` others. Of `missing - n + 1` grounds
    that are cheaper at `n` one is therefore idle, and could stand in.
    """
    keep: list[list[int]] = [[] for _ in tables]
    for number in range(scene.missing, 0, -1):
        able = (at for at, table in enumerate(tables) if number < len(table))
        ranked = sorted(able, key=lambda at: tables[at][number].cost)
        for at in ranked[: scene.missing - number + 1]:
            keep[at].append(number)
    return tuple(map(tuple, keep))
