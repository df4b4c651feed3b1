"""All sets of stock in one cluster that cost the same and make the same room.

A ground, what is short and one cheapest set come in; all sets with as many of every priority that
make up for the shortage go out, those with more of the first bindings by name first.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from atoll.scheduling.preemption.fronts import Picks
from atoll.scheduling.preemption.scene import Ground, Vector, plus
from atoll.scheduling.preemption.searching import Purse, leaves


@dataclass(frozen=True, slots=True)
class _State:
    """Stock before `position` is decided; so many of each level and so much is still needed."""

    position: int
    counts: tuple[int, ...]
    short: Vector
    picks: Picks = ()


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What the stock from a position on can still offer, by level."""

    replicas: tuple[int, ...]
    largest: tuple[Vector, ...]

    def suffices(self, counts: tuple[int, ...], short: Vector) -> bool:
        if any(n > have for n, have in zip(counts, self.replicas, strict=True)):
            return False
        for dim, lack in enumerate(short):
            most = sum(n * each[dim] for n, each in zip(counts, self.largest, strict=True))
            if lack > most:
                return False
        return True


def equals(ground: Ground, short: Vector, picks: Picks, purse: Purse) -> Iterator[Picks]:
    """Every set as cheap as the given one, in order of names."""
    wanted = Counter[int]()
    for at, n in picks:
        wanted[ground.stock[at].level] += n
    levels = sorted(wanted)
    positions = [at for at, each in enumerate(ground.stock) if each.level in wanted]
    ahead = _ahead(ground, positions, levels)

    def children(state: _State) -> Iterator[_State] | None:
        purse.spend()
        if state.position == len(positions):
            return None
        at = positions[state.position]
        gives = ground.stock[at].gives
        level = levels.index(ground.stock[at].level)
        return (
            following
            for n in range(min(state.counts[level], ground.stock[at].holding.replicas), -1, -1)
            for following in [
                _State(
                    state.position + 1,
                    (*state.counts[:level], state.counts[level] - n, *state.counts[level + 1 :]),
                    plus(state.short, gives, -n) if n else state.short,
                    (*state.picks, (at, n)) if n else state.picks,
                )
            ]
            if ahead[following.position].suffices(following.counts, following.short)
        )

    root = _State(0, tuple(wanted[level] for level in levels), short)
    for state in leaves(root, children):
        yield state.picks
        if purse.empty:
            return


def _ahead(ground: Ground, positions: list[int], levels: list[int]) -> list[_Ahead]:
    nothing = (0,) * len(ground.free)
    result = [_Ahead((0,) * len(levels), (nothing,) * len(levels))]
    for at in reversed(positions):
        stock, after = ground.stock[at], result[-1]
        replicas, largest = list(after.replicas), list(after.largest)
        level = levels.index(stock.level)
        replicas[level] += stock.holding.replicas
        largest[level] = tuple(map(max, largest[level], stock.gives))
        result.append(_Ahead(tuple(replicas), tuple(largest)))
    result.reverse()
    return result
