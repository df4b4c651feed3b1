"""The cheapest stock to take in one cluster, for each number of the preemptor's replicas.

A cluster's ground and what a replica demands come in; a `Cover` for 0, 1, ... replicas goes out.
Cheapest is: fewest replicas of the highest priority, then of the next, and so on, as one number
(`weights`). A single resource that is short answers greedily, largest first, and is a lower bound
when several are; where that bound is not met, fronts of best vectors are kept per count.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from atoll.scheduling.preemption.scene import Ground, Scene, Vector, fits, plus, shortage
from atoll.scheduling.preemption.searching import Purse
from atoll.scheduling.preemption.terms import Limits

Picks = tuple[tuple[int, int], ...]
"""Positions in a ground's stock and how many replicas of each are taken, by position."""


@dataclass(frozen=True, slots=True)
class Cover:
    """What is taken and what it costs; `proven` if nothing cheaper would do.

    `aside` ranks equals: replicas that cannot go elsewhere, then holdings touched.
    """

    cost: int
    aside: int = 0
    picks: Picks = ()
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Shelves:
    """A ground's stock by level, highest first, and what all lower levels give together."""

    ground: Ground
    rows: tuple[tuple[int, ...], ...]
    below: tuple[Vector, ...]
    radix: int

    def cost(self, picks: Picks) -> int:
        return sum(n * self.radix ** self.ground.stock[at].level for at, n in picks)

    def cover(self, picks: Picks, *, proven: bool = True) -> Cover:
        stuck = sum(n for at, n in picks if not self.ground.stock[at].holding.elsewhere)
        return Cover(self.cost(picks), stuck * self.radix + len(picks), picks, proven)

    def covers(self, picks: Picks, short: Vector) -> bool:
        return all(g >= s for g, s in zip(given(self.ground, picks), short, strict=True))


class _Exhausted(Exception):
    """The front grew beyond what was allowed."""


def given(ground: Ground, picks: Picks) -> Vector:
    """What becomes free when the picks leave."""
    total: Vector = (0,) * len(ground.free)
    for at, n in picks:
        total = plus(total, ground.stock[at].gives, n)
    return total


def radix(scene: Scene) -> int:
    """More than there are replicas in stock, so that one of a digit outweighs all below it."""
    return 1 + sum(s.holding.replicas for ground in scene.grounds for s in ground.stock)


def tables(scene: Scene, limits: Limits) -> tuple[tuple[Cover, ...], ...]:
    """For each ground the covers of 0, 1, ... replicas, up to the most it can be made to take."""
    purse, each = Purse(limits.covers), limits.cover
    base = radix(scene)
    return tuple(
        _table(_shelves(ground, base), scene.demand, purse, each) for ground in scene.grounds
    )


def _table(shelves: Shelves, demand: Vector, purse: Purse, each: int) -> tuple[Cover, ...]:
    ground = shelves.ground
    at_once = min(ground.most, fits(ground.free, demand))
    nothing = [Cover(0)] * (at_once + 1)
    shorts = (
        shortage(ground.free, demand, replicas) for replicas in range(at_once + 1, ground.most + 1)
    )
    return (*nothing, *(_cover(shelves, short, purse, each) for short in shorts))


def _shelves(ground: Ground, base: int) -> Shelves:
    by_level: dict[int, list[int]] = {}
    for at, stock in enumerate(ground.stock):
        by_level.setdefault(stock.level, []).append(at)
    rows, below = [], []
    total: Vector = (0,) * len(ground.free)
    for level in sorted(by_level):
        rows.append(tuple(by_level[level]))
        below.append(total)
        everything = tuple((at, ground.stock[at].holding.replicas) for at in by_level[level])
        total = plus(total, given(ground, everything))
    return Shelves(ground, tuple(reversed(rows)), tuple(reversed(below)), base)


def _cover(shelves: Shelves, short: Vector, purse: Purse, each: int) -> Cover:
    dims = [dim for dim, amount in enumerate(short) if amount > 0]
    bounds = [_along(shelves, dim, short[dim]) for dim in dims]
    least = max(map(shelves.cost, bounds))
    greedy = _greedy(shelves, short)
    for picks in (*bounds, greedy):
        if shelves.cost(picks) == least and shelves.covers(picks, short):
            return shelves.cover(picks)
    own = Purse(min(each, purse.left))
    allowed = own.left
    try:
        picks = _by_fronts(shelves, short, dims, own)
    except _Exhausted:
        return shelves.cover(greedy, proven=False)
    finally:
        purse.spend(allowed - own.left)
    return shelves.cover(picks)


def _along(shelves: Shelves, dim: int, short: int) -> Picks:
    """The cheapest picks if only one resource were short: each level's largest, and no more."""
    stock = shelves.ground.stock
    picks = []
    for row, below in zip(shelves.rows, shelves.below, strict=True):
        if short <= below[dim]:
            continue
        # Of equals, those that could go elsewhere are the better victims.
        for at in sorted(
            row, key=lambda at: (-stock[at].gives[dim], not stock[at].holding.elsewhere)
        ):
            gives = stock[at].gives[dim]
            if short <= below[dim] or not gives:
                break
            n = min(stock[at].holding.replicas, -(-(short - below[dim]) // gives))
            picks.append((at, n))
            short -= n * gives
    return tuple(sorted(picks))


def _greedy(shelves: Shelves, short: Vector) -> Picks:
    """Take everything, then give back what is not needed: highest level and least useful first."""
    stock = shelves.ground.stock

    def use(at: int) -> int:
        return sum(10**6 * min(g, s) // s for g, s in zip(stock[at].gives, short, strict=True) if s)

    everything = tuple((at, each.holding.replicas) for at, each in enumerate(stock))
    spare = [g - s for g, s in zip(given(shelves.ground, everything), short, strict=True)]
    picks = []
    for at, n in sorted(everything, key=lambda pick: (-stock[pick[0]].level, use(pick[0]))):
        gives = stock[at].gives
        slack = [spare[d] // g for d, g in enumerate(gives) if g and short[d]]
        back = min(n, *slack) if slack else n
        spare = [left - back * g for left, g in zip(spare, gives, strict=True)]
        if n > back:
            picks.append((at, n - back))
    return tuple(sorted(picks))


Front = dict[Vector, Picks]
"""What can be given, cut off at the goal, and the picks that give it."""


def _by_fronts(shelves: Shelves, short: Vector, dims: list[int], purse: Purse) -> Picks:
    """The cheapest picks when several resources are short at once."""
    goal = tuple(short[dim] for dim in dims)
    stock = shelves.ground.stock
    front: Front = {(0,) * len(dims): ()}
    for row, below in zip(shelves.rows, shelves.below, strict=True):
        rest = tuple(below[dim] for dim in dims)
        items = [
            (at, stock[at].holding.replicas, tuple(stock[at].gives[dim] for dim in dims))
            for at in row
        ]
        front = _level(front, items, rest, goal, purse)
    return tuple(sorted(front[goal]))


def _level(
    front: Front,
    items: list[tuple[int, int, Vector]],
    rest: Vector,
    goal: Vector,
    purse: Purse,
) -> Front:
    """The front after the fewest replicas of a level with which the rest can reach the goal."""
    largest = [max(1, *(gives[dim] for _, _, gives in items)) for dim in range(len(goal))]
    lacking = (tuple(g - v - r for g, v, r in zip(goal, v, rest, strict=True)) for v in front)
    count = min(
        max(0, *(-(-lack // most) for lack, most in zip(each, largest, strict=True)))
        for each in lacking
    )
    while True:
        reached = _exactly(front, items, count, goal, purse)
        able = {
            v: picks
            for v, picks in reached.items()
            if all(a + b >= g for a, b, g in zip(v, rest, goal, strict=True))
        }
        if able:
            return _pareto(able)
        count += 1


def _exactly(
    front: Front, items: list[tuple[int, int, Vector]], count: int, goal: Vector, purse: Purse
) -> Front:
    """What so many replicas of a level, beyond the front, can give."""
    layers: list[Front] = [front, *({} for _ in range(count))]
    for at, replicas, gives in items if count else ():
        for taken in range(count, -1, -1):
            for v, picks in tuple(layers[taken].items()):
                for n in range(1, min(replicas, count - taken) + 1):
                    purse.spend()
                    sums = (min(a + n * b, g) for a, b, g in zip(v, gives, goal, strict=True))
                    layers[taken + n].setdefault(tuple(sums), (*picks, (at, n)))
            if purse.empty:
                raise _Exhausted
        layers = [_pareto(layer) for layer in layers]
    return layers[count]


def _pareto(front: Front) -> Front:
    """Only vectors that no other one equals or exceeds everywhere."""
    kept: Front = {}
    for v in sorted(front, reverse=True):
        if not _dominated(v, kept):
            kept[v] = front[v]
    return kept


def _dominated(vector: Vector, others: Iterable[Vector]) -> bool:
    return any(all(a <= b for a, b in zip(vector, o, strict=True)) for o in others)
