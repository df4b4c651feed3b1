"""Even the clusters out move by move: a ledger in, the same ledger with more steps out.

Each turn looks for the move out of the fullest cluster that helps most, then out of the next.
Better means: the largest share is smaller, or it is the same and the sum of squares is smaller.
"""

from typing import NamedTuple

import numpy as np

from atoll.scheduling.rebalancing.board import Counts, Mask
from atoll.scheduling.rebalancing.cheaper import open_cells
from atoll.scheduling.rebalancing.ledger import Ledger, Step, to_millionths


class _Effect(NamedTuple):
    """The largest share after a move, and by how much the sum of squares grows."""

    largest: int
    squares: int


def even_out(ledger: Ledger) -> None:
    """Move replicas from fuller to emptier clusters until no single move helps."""
    stuck = np.zeros(len(ledger.free), np.bool_)
    asked_at = -1  # the number of steps when all clusters were last asked anew
    while ledger.left > 0:
        step = _best_step(ledger, stuck)
        if step is not None:
            ledger.move(*step)
        elif asked_at == len(ledger.steps):
            return
        else:
            # What was stuck before the last moves may no longer be.
            stuck[:] = False
            asked_at = len(ledger.steps)


def _best_step(ledger: Ledger, stuck: Mask) -> Step | None:
    """The best step out of the fullest cluster that has one; those without get stuck."""
    levels = ledger.shares()
    for place, source in enumerate(np.argsort(-levels, kind="stable").tolist()):
        # The fullest is always asked: it alone can lower the largest share.
        if place > 0 and stuck[source]:
            continue
        step = _best_step_from(ledger, source, levels)
        if step is not None:
            return _lengthened(ledger, step, levels)
        stuck[source] = True
    return None


def _best_step_from(ledger: Ledger, source: int, levels: Counts) -> Step | None:
    board, held = ledger.board, ledger.held
    spare = held[:, source] - board.fewest[:, source]
    rows = np.nonzero((spare > 0) & (held[:, source] <= board.held[:, source]))[0]
    if not len(rows):
        return None
    block = np.maximum(board.least[rows] - held[rows], 1)
    allowed = open_cells(ledger, rows) & (block <= np.minimum(spare[rows], ledger.left)[:, None])
    allowed[:, source] = False
    block = np.where(allowed, block, 0)
    falls, rises = _levels_after(ledger, rows, source, block)
    others = np.delete(levels, source).max(initial=0)
    largest = np.maximum(np.maximum(falls, rises), others)
    squares = falls**2 - levels[source] ** 2 + rises**2 - levels**2
    peak = levels.max()
    better = allowed & ((largest < peak) | ((largest == peak) & (squares < 0)))
    places = np.argwhere(better)
    if not len(places):
        return None
    at = np.lexsort((squares[better], largest[better]))[0]
    row, target = places[at].tolist()
    return Step(int(rows[row]), source, target, int(block[row, target]))


def _levels_after(
    ledger: Ledger, rows: Counts, source: int, block: Counts
) -> tuple[Counts, Counts]:
    """The shares of the source and of each target after moving so many of each placement."""
    board = ledger.board
    used = board.capacity - ledger.free
    falls = np.zeros(block.shape)
    rises = np.zeros(block.shape)
    for resource in range(board.demand.shape[1]):
        taken = board.demand[rows, resource, None] * block
        capacity = np.maximum(board.capacity[:, resource], 1)
        np.maximum(falls, (used[source, resource] - taken) / capacity[source], out=falls)
        np.maximum(rises, (used[None, :, resource] + taken) / capacity, out=rises)
    return to_millionths(falls), to_millionths(rises)


def _lengthened(ledger: Ledger, step: Step, levels: Counts) -> Step:
    """The step with its count doubled for as long as that helps and the source stays fullest."""
    others = int(np.delete(levels, step.source).max(initial=0))
    room = ledger.room(*step[:3])
    best, best_effect = step, _effect(ledger, step, levels, others)
    while 2 * best.replicas <= room:
        longer = step._replace(replicas=2 * best.replicas)
        effect = _effect(ledger, longer, levels, others)
        if effect >= best_effect or effect.largest == others:
            break
        best, best_effect = longer, effect
    return best


def _effect(ledger: Ledger, step: Step, levels: Counts, others: int) -> _Effect:
    block = np.zeros((1, len(levels)), np.int64)
    block[0, step.target] = step.replicas
    rows = np.array([step.row])
    falls, rises = _levels_after(ledger, rows, step.source, block)
    fall, rise = int(falls[0, step.target]), int(rises[0, step.target])
    grows = fall**2 - int(levels[step.source]) ** 2 + rise**2 - int(levels[step.target]) ** 2
    return _Effect(max(fall, rise, others), grows)
