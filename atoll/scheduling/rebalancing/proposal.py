"""Propose moves: a problem, a goal and the most moves in, an ordered list with savings out.

Nothing is applied. The moves can be made in the order given: whatever number of them has been
made, every cluster has room, every bound is kept and no binding lost a replica. A proposal that
improves nothing is empty.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import floor

from atoll.errors import Invalid
from atoll.scheduling.rebalancing.board import Board, make_board
from atoll.scheduling.rebalancing.cheaper import Rank, lower_cost
from atoll.scheduling.rebalancing.evener import even_out
from atoll.scheduling.rebalancing.ledger import (
    MILLION,
    Ledger,
    Measure,
    balance,
    measure,
    replay,
    saving,
)
from atoll.scheduling.rebalancing.ordering import carry_out
from atoll.scheduling.rebalancing.problem import REPLICAS_MAX, Goal, Problem, check
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
    start = measure(Ledger(board, moves_most))
    plans = _greedy_plans(board, goal, moves_most)
    solution = solve(board, goal, moves_most) if solver is Solver.HIGHS else None
    if solution is not None:
        plans.append(_follow(board, goal, moves_most, solution))
    tidied = [_tidied(plan, goal, moves_most) for plan in plans]
    best = min(tidied, key=lambda plan: (measure(plan).value(goal), -plan.left, len(plan.steps)))
    end = measure(best)
    if end.value(goal) >= start.value(goal):
        best, end = Ledger(board, moves_most), start
    return Proposal(
        moves=_moves(best, goal),
        before=start,
        after=end,
        bound=_bound(goal, start, end, solution),
        solver=Solver.GREEDY if solution is None else Solver.HIGHS,
    )


def _greedy_plans(board: Board, goal: Goal, moves_most: int) -> list[Ledger]:
    if goal is Goal.BALANCE:
        ledger = Ledger(board, moves_most)
        even_out(ledger)
        return [ledger]
    plans = []
    for rank in Rank:
        ledger = Ledger(board, moves_most)
        lower_cost(ledger, rank)
        plans.append(ledger)
    return plans


def _follow(board: Board, goal: Goal, moves_most: int, solution: Solution) -> Ledger:
    """The solver's wish as far as it can be ordered, then whatever single moves still help."""
    wished = Ledger(board, moves_most)
    carry_out(wished, solution.change)
    ledger = _best_prefix(wished, goal, moves_most)
    if goal is Goal.COST:
        lower_cost(ledger, Rank.PER_REPLICA)
    else:
        even_out(ledger)
    return ledger


def _best_prefix(played: Ledger, goal: Goal, moves_most: int) -> Ledger:
    """Where some of a wish was dropped, what made room for it may not pay: stop before it."""
    values = _values(played, goal)
    length = values.index(min(values))
    again = replay(played.board, moves_most, played.steps[:length])
    assert again is not None, "a prefix of steps that were made can be made"
    return again


def _values(played: Ledger, goal: Goal) -> list[tuple[int, int]]:
    """What a goal makes of the start and of each step; costs as the difference to the start."""
    ledger = Ledger(played.board, 0)
    saved = 0
    values = [(0, 0) if goal is Goal.COST else balance(ledger)]
    for step in played.steps:
        ledger.move(*step)
        saved += saving(played.board, step) or 0
        values.append((-saved, 0) if goal is Goal.COST else balance(ledger))
    return values


def _tidied(ledger: Ledger, goal: Goal, moves_most: int) -> Ledger:
    """The same result in fewer, larger steps where they fit, without steps that gain nothing."""
    board = ledger.board
    whole = Ledger(board, moves_most)
    carry_out(whole, ledger.held - board.held)
    if (whole.held == ledger.held).all() and len(whole.steps) < len(ledger.steps):
        ledger = whole
    if goal is Goal.BALANCE:
        return ledger
    for index in reversed(range(len(ledger.steps))):
        if (saving(board, ledger.steps[index]) or 0) <= 0:
            rest = ledger.steps[:index] + ledger.steps[index + 1 :]
            ledger = replay(board, moves_most, rest) or ledger
    return ledger


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
