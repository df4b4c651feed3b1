"""Look for the best moves: a board and a solver's wish, if any, in; the best ledger found out.

Several plans are made and tidied, and the best is taken. What `solver` wishes is rounded, ordered
and improved by single moves; without a wish there are only the single moves.
"""

import numpy as np

from atoll.scheduling.rebalancing.board import Board
from atoll.scheduling.rebalancing.cheaper import Rank, lower_cost
from atoll.scheduling.rebalancing.evener import even_out
from atoll.scheduling.rebalancing.ledger import Ledger, Step, balance, measure, replay, saving
from atoll.scheduling.rebalancing.ordering import carry_out
from atoll.scheduling.rebalancing.problem import Goal
from atoll.scheduling.rebalancing.solver import Solution


def best_plan(board: Board, goal: Goal, moves_most: int, solution: Solution | None) -> Ledger:
    """The best ledger found: by single moves, and by following a solver's wish if there is one.

    To change nothing is among the plans, so the best is never worse than that.
    """
    nothing = Ledger(board, moves_most)
    if not board.held.size:
        return nothing
    plans = [nothing, *_greedy_plans(board, goal, moves_most)]
    if solution is not None:
        plans.append(_follow(board, goal, moves_most, solution))
    tidied = [_tidied(plan, goal, moves_most) for plan in plans]
    return min(tidied, key=lambda plan: (measure(plan).value(goal), -plan.left, len(plan.steps)))


def _greedy_plans(board: Board, goal: Goal, moves_most: int) -> list[Ledger]:
    plans = []
    for rank in Rank if goal is Goal.COST else [Rank.PER_REPLICA]:
        ledger = Ledger(board, moves_most)
        _improve(ledger, goal, rank)
        plans.append(ledger)
    return plans


def _improve(ledger: Ledger, goal: Goal, rank: Rank) -> None:
    if goal is Goal.COST:
        lower_cost(ledger, rank)
    else:
        even_out(ledger)


def _follow(board: Board, goal: Goal, moves_most: int, solution: Solution) -> Ledger:
    """The solver's wish as far as it can be ordered, then whatever single moves still help."""
    ledger = Ledger(board, moves_most)
    for wish in solution.wishes():
        carry_out(ledger, wish - (ledger.held - board.held))
        ledger = _best_prefix(ledger, goal, moves_most)
    _improve(ledger, goal, Rank.PER_REPLICA)
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
    return replay(board, moves_most, _without_waste(ledger)) or ledger


def _without_waste(ledger: Ledger) -> list[Step]:
    """The steps but those that save nothing and make room that nobody needs."""
    board, free = ledger.board, ledger.free.copy()
    lowest = free.copy()  # of what is free at any time after the step looked at
    kept = []
    for step in reversed(ledger.steps):
        taken = board.demand[step.row] * step.replicas
        is_needed = (lowest[step.source] < taken).any()
        free[step.source] -= taken
        free[step.target] += taken
        if is_needed or (saving(board, step) or 0) > 0:
            kept.append(step)
        else:
            lowest[step.source] -= taken
            lowest[step.target] += taken
        np.minimum(lowest, free, out=lowest)
    return kept[::-1]
