"""Ask HiGHS for the best assignment: a board in, a wish of changes and a bound out.

HiGHS is an optional extra (`atoll[rebalance]`) and only loaded here, when first asked. Small
problems are solved in whole numbers, others as a linear programme whose answer is rounded down.
Limits count iterations and nodes, never seconds, so that the answer is the same everywhere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from atoll.scheduling.rebalancing.board import Board, Counts
from atoll.scheduling.rebalancing.model import Model, Numbers, make_model
from atoll.scheduling.rebalancing.problem import Goal

WHOLE_COLUMNS_MAX = 400
NODES_MAX = 500
ITERATIONS_MAX = 300_000
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Solution:
    """What each cell should gain or lose, and the best value there can be, if that is known."""

    change: Numbers
    bound: float | None
    """By how much the cost can change at best, or the least that the largest share can be."""

    def wishes(self) -> tuple[Counts, Counts]:
        """The change in whole numbers: first as much as is surely meant, then to the nearest.

        Losses are rounded up, so that every gain finds a source.
        """
        losses = np.minimum(np.floor(self.change + ROUNDING), 0)
        gains = np.maximum(self.change, 0)
        surely, nearest = np.floor(gains + ROUNDING), np.rint(gains)
        return (losses + surely).astype(np.int64), (losses + nearest).astype(np.int64)


def solve(board: Board, goal: Goal, moves_most: int) -> Solution | None:
    """The best change of a board in at most so many moves; None without HiGHS or an answer."""
    try:
        import highspy
    except ImportError:
        return None
    model = make_model(board, goal, moves_most)
    if model is None:
        return Solution(np.zeros(board.held.shape), None)
    whole = len(model.gains) + len(model.losses) <= WHOLE_COLUMNS_MAX
    highs = _load(highspy, model, whole=whole)
    bound, answer = None, None
    for turn, objective in enumerate(model.objectives):
        columns = np.arange(len(objective), dtype=np.int32)
        highs.changeColsCost(len(objective), columns, objective)
        highs.run()
        found = _answer(highspy, highs)
        if found is None:
            break
        answer = found
        if turn == 0:
            bound = _bound(highspy, highs, whole=whole)
        if turn + 1 < len(model.objectives):
            _keep_optimum(highs, objective, answer)
    if answer is None:
        return None
    change = _changes(board, model, answer)
    return Solution(change, None if bound is None else (bound - model.slack) * model.unit)


def _load(highspy: Any, model: Model, *, whole: bool) -> Any:
    highs = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("parallel", "off"),
        ("random_seed", 0),
        # Primal: no change at all is a feasible start, and so is wherever the limit ends it.
        ("simplex_strategy", int(highspy.simplex_constants.SimplexStrategy.kSimplexStrategyPrimal)),
        ("simplex_iteration_limit", ITERATIONS_MAX),
        ("mip_max_nodes", NODES_MAX),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
    ):
        highs.setOptionValue(option, value)
    width, height = len(model.most), len(model.upper)
    order = np.lexsort((model.rows, model.columns))
    starts = np.searchsorted(model.columns[order], np.arange(width))
    lower = np.where(np.arange(height) < model.equalities, 0.0, -highspy.kHighsInf)
    by_column, minimise = 1, 1
    highs.passModel(
        *(width, height, len(order), by_column, minimise, 0.0),
        *(model.objectives[0], model.least * whole, model.most, lower, model.upper),
        *(starts.astype(np.int32), model.rows[order].astype(np.int32), model.values[order]),
        _kinds(highspy, model) * whole,
    )
    return highs


def _kinds(highspy: Any, model: Model) -> Counts:
    """Cells are whole; a cell that must gain several at once gains those or nothing."""
    kinds = np.where(
        model.least > 0,
        int(highspy.HighsVarType.kSemiInteger),
        int(highspy.HighsVarType.kInteger),
    )
    kinds[len(model.gains) + len(model.losses) :] = int(highspy.HighsVarType.kContinuous)
    return kinds.astype(np.int32)


def _answer(highspy: Any, highs: Any) -> Numbers | None:
    solution = highs.getSolution()
    if not solution.value_valid:
        return None
    return np.asarray(solution.col_value, np.float64)


def _bound(highspy: Any, highs: Any, *, whole: bool) -> float | None:
    if whole:
        bound = float(highs.getInfo().mip_dual_bound)
        return bound if np.isfinite(bound) else None
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return float(highs.getInfo().objective_function_value)


def _keep_optimum(highs: Any, objective: Numbers, answer: Numbers) -> None:
    """From now on the first objective's one column stays at what it came to."""
    column = int(objective.argmax())
    highs.changeColBounds(column, 0.0, float(answer[column]) + 1e-9)


def _changes(board: Board, model: Model, answer: Numbers) -> Numbers:
    cells = np.concatenate([model.gains, model.losses])
    change = np.zeros(board.held.shape)
    np.add.at(change, (cells[:, 0], cells[:, 1]), model.change(answer))
    return change
