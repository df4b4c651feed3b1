"""The cheapest stock to take in one cluster, for each number of the preemptor's replicas.

A scene comes in; `Covers` for 0, 1, ... replicas of each ground go out. Cheapest is: fewest
replicas of the highest priority, then of the next, and so on, as one number in a radix that no
count exceeds. With one resource short, each level's largest are taken. With several, each of them
alone, and their shares of the goal added up, are bounds from below; a set that meets the bound is
proven to be cheapest, any other one only when asked for (`prove`), by the exact search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from atoll.scheduling.preemption import fronts
from atoll.scheduling.preemption.fronts import Picks
from atoll.scheduling.preemption.scene import Ground, Scene, Vector, fits, plus, shortage
from atoll.scheduling.preemption.searching import Purse
from atoll.scheduling.preemption.terms import Limits

SHARE = 10**6
"""A whole goal, when what is given of several resources is added up as shares of what is short."""


@dataclass(frozen=True, slots=True)
class Cover:
    """A set that will do, what it costs, and what any set costs at least."""

    cost: int = 0
    least: int = 0
    aside: int = 0
    """Ranks equals: replicas that cannot go elsewhere, then holdings touched."""
    picks: Picks = ()

    @property
    def proven(self) -> bool:
        return self.cost == self.least


NOTHING = Cover()


@dataclass(frozen=True, slots=True)
class Shelves:
    """A ground's stock by level, highest first, and what all lower levels give together."""

    ground: Ground
    rows: tuple[tuple[int, ...], ...]
    below: tuple[Vector, ...]
    sorted_rows: dict[int, tuple[tuple[int, ...], ...]]
    """For a resource, the rows with those first that give most of it."""
    all: Vector
    """What the whole stock gives."""
    weights: Sequence[int]

    def cover(self, picks: Picks, least: int) -> Cover:
        stuck = sum(n for at, n in picks if not self.ground.stock[at].holding.elsewhere)
        aside = stuck * self.weights[1] + len(picks)
        return Cover(self.cost(picks), least, aside, picks)

    def cost(self, picks: Picks) -> int:
        return sum(n * self.weights[self.ground.stock[at].level] for at, n in picks)


@dataclass(slots=True)
class Covers:
    """The covers of every ground for 0, 1, ... replicas, and what may be spent on proving them."""

    demand: Vector
    shelves: list[Shelves]
    table: list[list[Cover]]
    purse: Purse
    each: int

    def prove(self, at: int, number: int) -> Cover:
        """The cheapest cover; unproven if that could not be found within the limits."""
        known = self.table[at][number]
        if known.proven or self.purse.empty:
            return known
        own = Purse(min(self.each, self.purse.left))
        allowed = own.left
        shelves = self.shelves[at]
        picks = _exact(shelves, shortage(shelves.ground.free, self.demand, number), own)
        self.purse.spend(allowed - own.left)
        if picks is not None:
            self.table[at][number] = shelves.cover(picks, shelves.cost(picks))
        return self.table[at][number]


def radix(scene: Scene) -> int:
    """More than there are replicas in stock, so that one of a digit outweighs all below it."""
    return 2 + sum(s.holding.replicas for ground in scene.grounds for s in ground.stock)


def covers(scene: Scene, limits: Limits) -> Covers:
    """For each ground the covers up to the most it can be made to take."""
    base = radix(scene)
    weights = tuple(base**level for level in range(max(2, len(scene.levels))))
    dims = [dim for dim, amount in enumerate(scene.demand) if amount]
    shelves = [_shelves(ground, weights, dims) for ground in scene.grounds]
    table = [_table(each, scene.demand) for each in shelves]
    return Covers(scene.demand, shelves, table, Purse(limits.covers), limits.cover)


def given(ground: Ground, picks: Picks) -> Vector:
    """What becomes free when the picks leave."""
    total: Vector = (0,) * len(ground.free)
    for at, n in picks:
        total = plus(total, ground.stock[at].gives, n)
    return total


def _shelves(ground: Ground, weights: Sequence[int], dims: list[int]) -> Shelves:
    stock = ground.stock
    by_level: dict[int, list[int]] = {}
    for at, each in enumerate(stock):
        by_level.setdefault(each.level, []).append(at)
    below = []
    total: Vector = (0,) * len(ground.free)
    for level in sorted(by_level):
        below.append(total)
        everything = tuple((at, stock[at].holding.replicas) for at in by_level[level])
        total = plus(total, given(ground, everything))
    rows = tuple(tuple(by_level[level]) for level in sorted(by_level, reverse=True))
    # Of those that give the same, the ones that could go elsewhere are the better victims.
    rank = {dim: [(-s.gives[dim], not s.holding.elsewhere) for s in stock] for dim in dims}
    ranked = {
        dim: tuple(tuple(sorted(row, key=rank[dim].__getitem__)) for row in rows) for dim in dims
    }
    return Shelves(ground, rows, tuple(reversed(below)), ranked, total, weights)


def _table(shelves: Shelves, demand: Vector) -> list[Cover]:
    ground = shelves.ground
    at_once = min(ground.most, fits(ground.free, demand))
    shorts = (shortage(ground.free, demand, n) for n in range(at_once + 1, ground.most + 1))
    return [NOTHING] * (at_once + 1) + [_cover(shelves, short) for short in shorts]


def _cover(shelves: Shelves, short: Vector) -> Cover:
    """A cover at once: proven if it meets a bound."""
    dims = [dim for dim, amount in enumerate(short) if amount > 0]
    alone = max((_along(shelves, dim, short[dim]) for dim in dims), key=shelves.cost)
    least = shelves.cost(alone)
    if len(dims) == 1 or _enough(given(shelves.ground, alone), short):
        return shelves.cover(alone, least)
    shares = [_share(each.gives, short, dims) for each in shelves.ground.stock]
    together = _in_shares(shelves, shares, SHARE * len(dims))
    least = max(least, shelves.cost(together))
    if shelves.cost(together) == least and _enough(given(shelves.ground, together), short):
        return shelves.cover(together, least)
    return shelves.cover(_greedy(shelves, short, dims, shares), least)


def _enough(have: Vector, short: Vector) -> bool:
    return all(h >= s for h, s in zip(have, short, strict=True))


def _along(shelves: Shelves, dim: int, short: int) -> Picks:
    """The cheapest picks if only one resource were short."""
    stock = shelves.ground.stock
    gives = [each.gives[dim] for each in stock]
    below = [total[dim] for total in shelves.below]
    return _largest(shelves, shelves.sorted_rows[dim], gives, below, short)


def _share(gives: Vector, short: Vector, dims: list[int]) -> int:
    """What a replica gives of each goal, in shares rounded up."""
    total = 0
    for dim in dims:
        if gives[dim]:
            total += SHARE if gives[dim] >= short[dim] else -(-SHARE * gives[dim] // short[dim])
    return total


def _in_shares(shelves: Shelves, shares: list[int], goal: int) -> Picks:
    """The cheapest picks whose shares of all that is short add up: no set can do with less."""
    stock = shelves.ground.stock
    below, total = [], 0
    for row in reversed(shelves.rows):
        below.append(total)
        total += sum(shares[at] * stock[at].holding.replicas for at in row)
    rank = [(-share, not s.holding.elsewhere) for share, s in zip(shares, stock, strict=True)]
    rows = [sorted(row, key=rank.__getitem__) for row in shelves.rows]
    return _largest(shelves, rows, shares, below[::-1], goal)


def _largest(
    shelves: Shelves,
    rows: Sequence[Sequence[int]],
    gives: Sequence[int],
    below: Sequence[int],
    short: int,
) -> Picks:
    """Of each level the largest, and no more of them than the levels below leave to be given."""
    stock = shelves.ground.stock
    picks = []
    for row, rest in zip(rows, below, strict=True):
        if short <= rest:
            continue
        for at in row:
            n = min(stock[at].holding.replicas, -(-(short - rest) // gives[at]))
            picks.append((at, n))
            short -= n * gives[at]
            if short <= rest:
                break
    picks.sort()
    return tuple(picks)


def _greedy(shelves: Shelves, short: Vector, dims: list[int], shares: list[int]) -> Picks:
    """Take everything, then give back what is not needed: highest level and least useful first."""
    stock = shelves.ground.stock
    have = plus(shelves.all, short, -1)
    spare = [have[dim] for dim in dims]
    picks = []
    for at in sorted(range(len(stock)), key=lambda at: (-stock[at].level, shares[at])):
        gives = [stock[at].gives[dim] for dim in dims]
        n = back = stock[at].holding.replicas
        for left, g in zip(spare, gives, strict=True):
            if g and left < back * g:
                back = left // g
        if back:
            spare = [left - back * g for left, g in zip(spare, gives, strict=True)]
        if n > back:
            picks.append((at, n - back))
    picks.sort()
    return tuple(picks)


def _exact(shelves: Shelves, short: Vector, purse: Purse) -> Picks | None:
    dims = [dim for dim, amount in enumerate(short) if amount > 0]
    stock = shelves.ground.stock
    only = partial(_only, dims)
    rows = [
        [fronts.Item(at, stock[at].holding.replicas, only(stock[at].gives)) for at in row]
        for row in shelves.rows
    ]
    return fronts.cheapest(rows, list(map(only, shelves.below)), only(short), purse)


def _only(dims: list[int], vector: Vector) -> Vector:
    return tuple(vector[dim] for dim in dims)
