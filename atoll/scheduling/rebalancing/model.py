"""The board as a linear programme: columns, rows and coefficients, in plain arrays.

A column for each cell that can gain and one for each that can lose; for balance also the largest
share and, for each cluster, its share cut into slices that cost more the higher they lie, which
stands for the sum of squares. It does not know who solves it.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from atoll.scheduling.rebalancing.board import Board, Counts
from atoll.scheduling.rebalancing.problem import Goal

Numbers = NDArray[np.float64]

SLICES = 20
MOVE_PRICE = 1e-6
"""What a move costs by itself, in units of the objective, so that none is made for nothing."""


@dataclass(frozen=True, slots=True)
class Model:
    """Minimise `objectives` in turn: each optimum bounds the next. Matrix by (row, column)."""

    objectives: tuple[Numbers, ...]
    unit: float
    """What 1 of the first objective stands for."""
    slack: float
    """By how much the first objective may exceed what it stands for: the price of moves."""
    least: Numbers  # by column: 0, or what a cell must gain if it gains at all
    most: Numbers  # by column
    upper: Numbers  # by row; conservation rows are equal to 0, all others have no lower bound
    equalities: int
    rows: Counts
    columns: Counts
    values: Numbers
    gains: Counts  # cells (placement, cluster) of the first columns
    losses: Counts  # cells of the columns after them

    def change(self, solution: Numbers) -> Numbers:
        """A solution as what each cell gains or loses; placement and cluster follow `gains`."""
        cells = len(self.gains) + len(self.losses)
        return solution[:cells] * np.where(np.arange(cells) < len(self.gains), 1.0, -1.0)


@dataclass(slots=True)
class _Matrix:
    upper: list[Numbers] = field(default_factory=list)
    rows: list[Counts] = field(default_factory=list)
    columns: list[Counts] = field(default_factory=list)
    values: list[Numbers] = field(default_factory=list)
    height: int = 0

    def extend(self, upper: Numbers) -> int:
        """Add rows with these upper bounds; the number of the first."""
        first = self.height
        self.upper.append(upper)
        self.height += len(upper)
        return first

    def put(self, rows: Counts, columns: Counts, values: Numbers) -> None:
        self.rows.append(rows)
        self.columns.append(columns)
        self.values.append(np.asarray(values, np.float64))


def make_model(board: Board, goal: Goal, moves_most: int) -> Model | None:
    """The board's linear programme for a goal; None where nothing can move."""
    gains, losses = _moving_cells(board)
    if not len(gains):
        return None
    cells = np.concatenate([gains, losses])
    signs = np.repeat([1.0, -1.0], [len(gains), len(losses)])
    matrix = _Matrix()
    _conserve_replicas(matrix, cells, signs)
    equalities = matrix.height
    budget = matrix.extend(np.array([float(moves_most)]))
    at = np.arange(len(gains))
    matrix.put(np.full(len(gains), budget), at, np.ones(len(gains)))
    loads = _Loads(board, cells, signs)
    _respect_capacity(matrix, loads)
    row, cluster = cells.T
    most = np.where(
        signs > 0,
        (board.most - board.held)[row, cluster],
        (board.held - board.fewest)[row, cluster],
    )
    least = np.where(signs > 0, np.maximum(board.least - board.held, 0)[row, cluster], 0)
    if goal is Goal.COST:
        costs = board.cost[row, cluster] * signs
        unit = max(float(np.abs(costs).max()), 1.0)
        objectives: tuple[Numbers, ...] = (costs / unit + MOVE_PRICE * (signs > 0),)
        slack = MOVE_PRICE * min(moves_most, int(most[signs < 0].sum()))
        extra = np.zeros(0)
    else:
        objectives = _balance(matrix, loads, len(cells))
        objectives[1][: len(gains)] = MOVE_PRICE
        unit, slack = 1.0, 0.0
        extra = np.full(len(objectives[0]) - len(cells), 1.0 / SLICES)
        extra[0] = 1.0
    return Model(
        objectives=objectives,
        unit=unit,
        slack=slack,
        least=np.concatenate([least.astype(np.float64), np.zeros(len(extra))]),
        most=np.concatenate([np.minimum(most, moves_most).astype(np.float64), extra]),
        upper=np.concatenate(matrix.upper),
        equalities=equalities,
        rows=np.concatenate(matrix.rows),
        columns=np.concatenate(matrix.columns),
        values=np.concatenate(matrix.values),
        gains=gains,
        losses=losses,
    )


def _moving_cells(board: Board) -> tuple[Counts, Counts]:
    """Cells that can gain and cells that can lose, of placements that have both."""
    gains, losses = board.most > board.held, board.held > board.fewest
    both = gains.any(axis=1, keepdims=True) & losses.any(axis=1, keepdims=True)
    return np.argwhere(gains & both), np.argwhere(losses & both)


def _conserve_replicas(matrix: _Matrix, cells: Counts, signs: Numbers) -> None:
    rows, index = np.unique(cells[:, 0], return_inverse=True)
    first = matrix.extend(np.zeros(len(rows)))
    matrix.put(first + index, np.arange(len(cells)), signs)


@dataclass(frozen=True, slots=True)
class _Loads:
    """What each cell's column adds to each resource of its cluster, in parts of its capacity."""

    board: Board
    cells: Counts
    signs: Numbers

    def of(self, resource: int) -> tuple[Counts, Counts, Numbers]:
        """Clusters, columns and values of the cells that use a resource."""
        row, cluster = self.cells.T
        capacity = np.maximum(self.board.capacity[:, resource], 1)
        values = self.signs * self.board.demand[row, resource] / capacity[cluster]
        used = np.nonzero(values)[0]
        return cluster[used], used, values[used]


def _respect_capacity(matrix: _Matrix, loads: _Loads) -> None:
    board = loads.board
    for resource in range(board.demand.shape[1]):
        capacity = np.maximum(board.capacity[:, resource], 1)
        # What is free where nothing is known bounds nothing: such a cluster only gives.
        free = np.where(board.known, board.free[:, resource] / capacity, np.inf)
        first = matrix.extend(free)
        clusters, columns, values = loads.of(resource)
        matrix.put(first + clusters, columns, values)


def _balance(matrix: _Matrix, loads: _Loads, width: int) -> tuple[Numbers, Numbers]:
    """Rows that keep each share below the largest, and below the sum of its slices."""
    board = loads.board
    clusters = np.arange(len(board.clusters))
    for resource in range(board.demand.shape[1]):
        capacity = np.maximum(board.capacity[:, resource], 1)
        used = (board.capacity - board.free)[:, resource] / capacity
        bound = np.where(board.known, -used, np.inf)
        where, columns, values = loads.of(resource)
        below_largest = matrix.extend(bound)
        matrix.put(below_largest + where, columns, values)
        matrix.put(below_largest + clusters, np.full(len(clusters), width), -np.ones(len(clusters)))
        below_slices = matrix.extend(bound)
        matrix.put(below_slices + where, columns, values)
        for height in range(SLICES):
            columns = width + 1 + clusters * SLICES + height
            matrix.put(below_slices + clusters, columns, -np.ones(len(clusters)))
    total = width + 1 + len(clusters) * SLICES
    largest, squares = np.zeros(total), np.zeros(total)
    largest[width] = 1.0
    squares[width + 1 :] = np.tile((2 * np.arange(SLICES) + 1) / SLICES, len(clusters))
    return largest, squares
