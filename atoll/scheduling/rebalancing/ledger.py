"""Moves played one after the other on a board: what may move now, and what it all comes to.

A ledger starts at the board as it is. It refuses what does not fit at that moment, so every
prefix of its steps fits. No replica moves twice: nothing leaves a cell that received, nor enters
one that gave.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from atoll.scheduling.prices import UNKNOWN
from atoll.scheduling.rebalancing.board import Board, Counts
from atoll.scheduling.rebalancing.problem import Goal

MILLION = 1_000_000


class Step(NamedTuple):
    """So many replicas of a placement from one cluster to another, by row and column."""

    row: int
    source: int
    target: int
    replicas: int


class Measure(NamedTuple):
    """What an assignment costs and how evenly it lies on the clusters.

    `cost` is per hour, in billionths of the currency, of all replicas but the `unpriced`. A
    cluster's share is the fullest of its resources: held by the placements, out of that and what
    was free, in millionths. `largest` is the largest share, `squares` the sum of all, squared.
    """

    cost: int
    unpriced: int
    largest: int
    squares: int

    def value(self, goal: Goal) -> tuple[int, int]:
        """The pair of numbers a goal makes smaller, the first before the second."""
        return (self.cost, 0) if goal is Goal.COST else (self.largest, self.squares)


class Ledger:
    """A board in play."""

    def __init__(self, board: Board, moves_most: int) -> None:
        self.board = board
        self.held = board.held.copy()
        self.free = board.free.copy()
        self.left = moves_most
        self.steps: list[Step] = []

    def room(self, row: int, source: int, target: int) -> int:
        """How many replicas can move now from one cluster to the other."""
        board, held = self.board, self.held[row]
        if held[source] > board.held[row, source] or held[target] < board.held[row, target]:
            return 0
        count = min(
            int(held[source] - board.fewest[row, source]),
            int(board.most[row, target] - held[target]),
            self.fits(row, target),
            self.left,
        )
        return count if count > 0 and held[target] + count >= board.least[row, target] else 0

    def allows(self, step: Step) -> bool:
        """Whether this step can be made now."""
        reached = self.held[step.row, step.target] + step.replicas
        return (
            0 < step.replicas <= self.room(step.row, step.source, step.target)
            and reached >= self.board.least[step.row, step.target]
        )

    def fits(self, row: int, target: int) -> int:
        """How many replicas a cluster has capacity for."""
        demand = self.board.demand[row]
        asked = demand > 0
        return int((self.free[target, asked] // demand[asked]).min())

    def move(self, row: int, source: int, target: int, count: int) -> None:
        taken = self.board.demand[row] * count
        self.held[row, source] -= count
        self.held[row, target] += count
        self.free[source] += taken
        self.free[target] -= taken
        self.left -= count
        self.steps.append(Step(row, source, target, count))

    def shares(self) -> Counts:
        return shares(self.board, self.free)


def replay(board: Board, moves_most: int, steps: list[Step]) -> Ledger | None:
    """The ledger after these steps; None if one of them does not fit when it is its turn."""
    ledger = Ledger(board, moves_most)
    for step in steps:
        if not ledger.allows(step):
            return None
        ledger.move(*step)
    return ledger


def shares(board: Board, free: Counts) -> Counts:
    """The share of each cluster, in millionths; 0 where what is free is not known."""
    used = board.capacity - free
    parts = used / np.maximum(board.capacity, 1)
    return np.where(board.known, to_millionths(parts.max(axis=1, initial=0.0)), 0)


def to_millionths(parts: NDArray[np.float64]) -> Counts:
    return np.rint(parts * MILLION).astype(np.int64)


def saving(board: Board, step: Step) -> int | None:
    """What a step saves per hour; None where either cost is not known."""
    before, after = board.cost[step.row, [step.source, step.target]].tolist()
    return None if UNKNOWN in (before, after) else (before - after) * step.replicas


def measure(ledger: Ledger) -> Measure:
    """What the assignment comes to after the ledger's steps, in whole numbers."""
    board, held = ledger.board, ledger.held
    running = np.nonzero(held)
    cost = unpriced = 0
    for count, each in zip(held[running].tolist(), board.cost[running].tolist(), strict=True):
        if each == UNKNOWN:
            unpriced += count
        else:
            cost += count * each
    return Measure(cost, unpriced, *balance(ledger))


def balance(ledger: Ledger) -> tuple[int, int]:
    """The largest share and the sum of squares."""
    levels = ledger.shares()
    return int(levels.max(initial=0)), int((levels * levels).sum())
