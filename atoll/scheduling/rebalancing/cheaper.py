"""Lower the cost move by move: a ledger in, the same ledger with more steps out.

Each pass takes the best move of every placement, best first. It never looks back, so it is fast
and not the best there is; `solver` sees the whole.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from atoll.scheduling.rebalancing.board import Counts, Mask
from atoll.scheduling.rebalancing.ledger import Ledger


class Rank(StrEnum):
    """Which saving comes first."""

    PER_REPLICA = "per replica"  # best while the number of moves is what limits
    PER_CAPACITY = "per capacity"  # best while room in cheap clusters is what limits


def lower_cost(ledger: Ledger, rank: Rank) -> None:
    """Move replicas to cheaper clusters until no single move saves anything."""
    weight = _weight(ledger) if rank is Rank.PER_CAPACITY else np.ones(len(ledger.held))
    barred = np.zeros(ledger.held.shape, np.bool_)
    while ledger.left > 0:
        rows, sources, targets, gains = _best_moves(ledger, barred)
        if not len(rows):
            return
        moved = False
        for at in np.argsort(-gains / weight[rows], kind="stable"):
            row, source, target = int(rows[at]), int(sources[at]), int(targets[at])
            if count := ledger.room(row, source, target):
                ledger.move(row, source, target, count)
                moved = True
        if not moved:
            barred[rows, targets] = True


def _best_moves(ledger: Ledger, barred: Mask) -> tuple[Counts, Counts, Counts, Counts]:
    """For each placement that can save: from its dearest cluster to the cheapest with room."""
    board = ledger.board
    leaves = (ledger.held > board.fewest) & (ledger.held <= board.held)
    dearest = np.where(leaves, board.cost, -1)
    sources = dearest.argmax(axis=1)
    rows = np.arange(len(sources))
    gains = np.where(
        open_cells(ledger, rows) & ~barred, dearest[rows, sources][:, None] - board.cost, 0
    )
    targets = gains.argmax(axis=1)
    best = gains[rows, targets]
    saves = best > 0
    return rows[saves], sources[saves], targets[saves], best[saves]


def open_cells(ledger: Ledger, rows: Counts) -> Mask:
    """Cells that can receive what they must at least, as far as bounds and capacity go."""
    board, held = ledger.board, ledger.held[rows]
    is_open = (held < board.most[rows]) & (held >= board.held[rows])
    # Compared as a quotient: a large least times a large demand may overflow.
    block = np.maximum(board.least[rows] - held, 1)
    is_single = not (block > 1).any()
    for resource in range(board.demand.shape[1]):
        asked = board.demand[rows, resource, None]
        free = ledger.free[None, :, resource]
        if is_single:
            is_open &= free >= asked
        else:
            is_open &= (free // np.maximum(asked, 1) >= block) | (asked == 0)
    return is_open


def _weight(ledger: Ledger) -> NDArray[np.float64]:
    """How much of what the fleet has in all one replica takes, by its scarcest resource."""
    fleet = np.maximum(ledger.board.capacity.sum(axis=0, dtype=np.float64), 1.0)
    return np.asarray((ledger.board.demand / fleet).max(axis=1, initial=1e-300), np.float64)
