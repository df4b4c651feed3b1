"""Make moves out of a wish: how many replicas each cell should gain or lose, in an order that fits.

A move is made when its target has room. Moves out of clusters that others wait for come first;
a wish is split where only a part fits. What waits for itself in a ring is dropped.
"""

import numpy as np

from atoll.scheduling.rebalancing.board import Counts
from atoll.scheduling.rebalancing.ledger import Ledger, Step


def carry_out(ledger: Ledger, change: Counts) -> None:
    """Play as much of the wished change as can be played; the ledger refuses what does not fit."""
    wants = _by_row(np.maximum(change, 0))
    gives = _by_row(np.maximum(-change, 0))
    while ledger.left > 0:
        while _sweep(ledger, wants, gives, _awaited(ledger, wants)):
            pass
        if not _sweep(ledger, wants, gives, None):
            return


def _by_row(amounts: Counts) -> dict[int, dict[int, int]]:
    cells: dict[int, dict[int, int]] = {}
    for row, column in np.argwhere(amounts > 0).tolist():
        cells.setdefault(row, {})[column] = int(amounts[row, column])
    return cells


def _awaited(ledger: Ledger, wants: dict[int, dict[int, int]]) -> frozenset[int]:
    """Clusters that lack room for all that is still to come in."""
    return frozenset(
        target
        for row, targets in wants.items()
        for target, count in targets.items()
        if count > ledger.fits(row, target)
    )


def _sweep(
    ledger: Ledger,
    wants: dict[int, dict[int, int]],
    gives: dict[int, dict[int, int]],
    sources: frozenset[int] | None,
) -> bool:
    """Try every wish once, out of these sources or of any; say whether anything moved."""
    moved = False
    for row, targets in list(wants.items()):
        for target in list(targets):
            for source in list(gives.get(row, ())):
                if sources is None or source in sources:
                    moved |= _play(ledger, (row, source, target), targets, gives[row])
                if target not in targets:
                    break
    return moved


def _play(
    ledger: Ledger, cell: tuple[int, int, int], wanted: dict[int, int], given: dict[int, int]
) -> bool:
    row, source, target = cell
    count = min(wanted[target], given[source], ledger.room(row, source, target))
    if not ledger.allows(Step(row, source, target, count)):
        return False
    ledger.move(row, source, target, count)
    for left, key in ((wanted, target), (given, source)):
        left[key] -= count
        if not left[key]:
            del left[key]
    return True
