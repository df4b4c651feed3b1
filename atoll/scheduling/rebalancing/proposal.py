"""Propose moves: a problem, a goal and the most moves in, an ordered list with savings out.

Nothing is applied. The moves can be made in the order given: whatever number of them has been
made, every cluster has room, every bound is kept and no binding lost a replica. A proposal that
improves nothing is empty.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import floor

from atoll.errors import Invalid
from atoll.scheduling.rebalancing.board import make_board
from atoll.scheduling.rebalancing.ledger import MILLION, Ledger, Measure, measure, saving
from atoll.scheduling.rebalancing.problem import REPLICAS_MAX, Goal, Problem, check
from atoll.scheduling.rebalancing.search import best_plan
from atoll.scheduling.rebalancing.solver import Solution, solve


class Solver(StrEnum):
    """Who looked for the moves."""

    HIGHS = "highs"
    GREEDY = "greedy"


class Reason(StrEnum):
    """Why a move is in the list."""

    CHEAPER = "is cheaper there"
    EVENER = "leaves a fuller cluster"
    ROOM = "makes room for another move"


@dataclass(frozen=True, slots=True)
class Move:
    """So many replicas of a binding from one cluster to another."""

    binding: tuple[str, str]
    source: str
    target: str
    replicas: int
    saving: int | None
    """Per hour, in billionths of the currency; negative if dearer, None if not known."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class Proposal:
    """Moves to make in this order, and what they would come to."""

    moves: tuple[Move, ...]
    before: Measure
    after: Measure
    bound: int | None
    """No assignment within the constraints has a lower cost, or largest share; None: not known."""
    solver: Solver


def rebalance(
    problem: Problem, goal: Goal, moves_most: int, *, solver: Solver = Solver.HIGHS
) -> Proposal:
    """Propose at most so many moved replicas that lower the cost or even the clusters out.

    Without HiGHS installed the greedy search answers, and the proposal says so.
    """
    if not 0 <= moves_most <= REPLICAS_MAX:
        raise Invalid("moves_most", moves_most, f"must be between 0 and {REPLICAS_MAX}")
    check(problem)
    board = make_board(problem, goal)
    solution = solve(board, goal, moves_most) if solver is Solver.HIGHS else None
    best = best_plan(board, goal, moves_most, solution)
    start, end = measure(Ledger(board, 0)), measure(best)
    return Proposal(
        moves=_moves(best, goal),
        before=start,
        after=end,
        bound=_bound(goal, start, end, solution),
        solver=Solver.GREEDY if solution is None else Solver.HIGHS,
    )


def _moves(ledger: Ledger, goal: Goal) -> tuple[Move, ...]:
    board = ledger.board
    replayed = Ledger(board, 0)
    moves = []
    for step in ledger.steps:
        saved = saving(board, step)
        levels = replayed.shares()
        if goal is Goal.COST:
            helps, why = (saved or 0) > 0, Reason.CHEAPER
        else:
            helps, why = levels[step.source] > levels[step.target], Reason.EVENER
        reason = why if helps else Reason.ROOM
        source, target = board.clusters[step.source], board.clusters[step.target]
        moves.append(Move(board.keys[step.row], source, target, step.replicas, saved, reason))
        replayed.move(*step)
    return tuple(moves)


def _bound(goal: Goal, start: Measure, end: Measure, solution: Solution | None) -> int | None:
    """The solver's bound as a whole number, on the safe side of its rounding errors."""
    if solution is None or solution.bound is None:
        return None
    if goal is Goal.BALANCE:
        return min(end.largest, floor((solution.bound - 1e-6) * MILLION))
    return min(end.cost, start.cost + floor(solution.bound - 1e-6 * abs(solution.bound)) - 1)
