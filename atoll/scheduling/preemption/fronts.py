"""The cheapest stock when several resources are short at once, exactly.

Items by level, highest first, and a goal come in; the picks go out that reach it with the fewest
of the highest level, then of the next. Per count only those vectors are kept that no other one
exceeds, which are few; how many may be looked at is bounded all the same.
"""

from collections.abc import Sequence
from typing import NamedTuple

from atoll.scheduling.preemption.scene import Vector
from atoll.scheduling.preemption.searching import Purse

Picks = tuple[tuple[int, int], ...]
"""Positions in a ground's stock and how many replicas of each are taken, by position."""

Front = dict[Vector, Picks]
"""What can be given, cut off at the goal, and the picks that give it."""


class Item(NamedTuple):
    """A position in stock: how many replicas there are, and what one gives towards the goal."""

    at: int
    replicas: int
    gives: Vector


def cheapest(
    rows: Sequence[Sequence[Item]], below: Sequence[Vector], goal: Vector, purse: Purse
) -> Picks | None:
    """The cheapest picks that reach the goal; None if the purse did not suffice to find them.

    `below` is what all levels under a row give together: with all rows, enough for the goal.
    """
    front: Front | None = {(0,) * len(goal): ()}
    for row, rest in zip(rows, below, strict=True):
        if front is not None:
            front = _level(front, row, rest, goal, purse)
    return None if front is None else tuple(sorted(front[goal]))


def _level(
    front: Front, row: Sequence[Item], rest: Vector, goal: Vector, purse: Purse
) -> Front | None:
    """The front after the fewest replicas of a row with which the rest can reach the goal."""
    largest = [max(1, *(item.gives[dim] for item in row)) for dim in range(len(goal))]
    count = min(
        max(
            0,
            *(
                -(-(g - v - r) // most)
                for g, v, r, most in zip(goal, vector, rest, largest, strict=True)
            ),
        )
        for vector in front
    )
    while True:
        reached = _exactly(front, row, count, goal, purse)
        if purse.empty:
            return None
        able = {
            vector: picks
            for vector, picks in reached.items()
            if all(v + r >= g for v, r, g in zip(vector, rest, goal, strict=True))
        }
        if able:
            return _pareto(able)
        count += 1


def _exactly(front: Front, row: Sequence[Item], count: int, goal: Vector, purse: Purse) -> Front:
    """What so many replicas of a row, beyond the front, can give."""
    layers: list[Front] = [front, *({} for _ in range(count))]
    for item in row if count else ():
        # From the top, so that what this item adds is not added to again.
        for taken in range(count - 1, -1, -1):
            for vector, picks in layers[taken].items():
                most = min(item.replicas, count - taken)
                purse.spend(most)
                for n in range(1, most + 1):
                    sums = _towards(goal, vector, item.gives, n)
                    layers[taken + n].setdefault(sums, (*picks, (item.at, n)))
            if purse.empty:
                return {}
        layers = [_pareto(layer) for layer in layers]
    return layers[count]


def _towards(goal: Vector, vector: Vector, gives: Vector, times: int) -> Vector:
    return tuple(min(g, v + times * more) for g, v, more in zip(goal, vector, gives, strict=True))


def _pareto(front: Front) -> Front:
    """Only vectors that no other one equals or exceeds everywhere."""
    if len(front) < 2:
        return front
    kept: Front = {}
    for vector in sorted(front, reverse=True):
        if not any(all(a <= b for a, b in zip(vector, o, strict=True)) for o in kept):
            kept[vector] = front[vector]
    return kept
