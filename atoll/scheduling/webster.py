"""Webster's method (Sainte-Laguë): whole seats in proportion to votes.

Seats and votes come in, the seats of each party come out. In scheduling, seats are replicas and
votes are weights or free capacity, in the order of the clusters' names. A party that holds k seats
bids votes/(2k+1) for its next one; the best bid wins, with ties as Karmada breaks them. Why these
votes, and what becomes of the seats, is not known here.
"""

from functools import lru_cache
from heapq import heapify, heapreplace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

_FEW = 12
"""Up to so many parties, a heap of Python tuples is faster than calls into NumPy."""

_ROUNDS = 8
"""So often at most are the next best bids looked for all at once."""

_MARGIN = 1e-12
"""Far more than floats lose in a division or a sum of votes, far less than two seats differ."""


def divide(
    seats: int,
    votes: NDArray[np.int64],
    *,
    descending: bool = False,
    by_strength: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Give each seat to the best bid as a float64; among equals to whoever holds fewer seats, then
    to the first in order, or the last if `descending`. Without any votes nobody gets a seat.

    `by_strength` says what `strongest_first` does, if that is known already.
    """
    if not 0 < seats < len(votes) or len(votes) <= _FEW:
        return _divide(seats, votes, descending=descending)
    # All others lose to `seats` parties even with their first bid.
    if by_strength is None:
        strong = _strongest(seats, votes, descending=descending)
    else:
        strong = np.sort(by_strength[:seats])
    theirs, result = votes[strong], np.zeros(len(votes), np.int64)
    # Where nobody's second bid is ahead of anybody's first, that is one seat each.
    most, least = float(theirs[theirs.argmax()]), float(theirs[theirs.argmin()])
    one_each = most / 3 <= least and most > 0
    result[strong] = 1 if one_each else _divide(seats, theirs, descending=descending)
    return result


def strongest_first(votes: NDArray[np.int64], *, descending: bool) -> NDArray[np.int64]:
    """The places of the parties from the most votes to the fewest, equals as their ties go."""
    if descending:
        return len(votes) - 1 - strongest_first(votes[::-1], descending=False)
    order: NDArray[np.int64] = (-votes).argsort(kind="stable")
    return order


@lru_cache(maxsize=4096)
def descends(uid: str) -> bool:
    """Whether ties go to the last name: Karmada asks if the FNV-1a-32 hash of the uid is odd."""
    if not uid:
        return False
    # Each byte is XORed in, then multiplied by an odd prime: the lowest bit is the bytes' parity.
    # The offset that the hash starts from is odd as well.
    return (1 + sum(uid.encode())) % 2 == 1


def _strongest(seats: int, votes: NDArray[np.int64], *, descending: bool) -> NDArray[np.int64]:
    """The places of so many parties with the most votes, in order."""
    weakest = len(votes) - seats
    bar = np.partition(votes, weakest)[weakest]
    strong = votes > bar
    # A first bid of the bar itself beats any later bid that equals it; among first bids order does.
    equals, missing = (votes == bar).nonzero()[0], seats - np.count_nonzero(strong)
    strong[equals[-missing:] if descending else equals[:missing]] = True
    places: NDArray[np.int64] = strong.nonzero()[0]
    return places


def _divide(seats: int, votes: NDArray[np.int64], *, descending: bool) -> NDArray[np.int64]:
    """Seats that are sure to be won are given at once; the rest is competed for."""
    if descending:
        return _divide(seats, votes[::-1], descending=False)[::-1]
    parties = len(votes)
    if parties > _FEW:
        return _among_many(seats, votes.astype(np.float64))
    if parties == 1 and seats > 0 and votes[0] > 0:
        return np.array([seats], np.int64)
    few = [*map(float, votes.tolist())]
    total = sum(few)
    if seats <= 0 or total == 0:
        return np.zeros(parties, np.int64)
    # A party of v votes makes v/2t bids of at least t, rounded: a half more or less at most. So
    # all of them together make no more than `seats` bids above total/(2*seats - parties).
    half = max(0.0, (2 * seats - parties) / total * (0.5 - _MARGIN))
    won = [int(each * half + 0.5) for each in few]
    return np.array(_compete(seats - sum(won), few, won)[0], np.int64)


def _among_many(seats: int, votes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give all bids above a bar at once, where that leaves a few seats; the next best get those.

    The bar is right if the last of those was below it, or the next to be given one would be; or
    else it is set higher.
    """
    total, left_over = float(votes.sum()), sqrt(len(votes))
    if seats <= 0 or total == 0:
        return np.zeros(len(votes), np.int64)
    while True:
        half = max(0.0, seats - left_over) / total
        won = (votes * half + 0.5).astype(np.int64)
        left = seats - int(won.sum())
        if left >= 0 and _step(left, votes, won) * half < 0.5 - _MARGIN:
            return won
        left_over *= 2


def _step(left: int, votes: NDArray[np.float64], won: NDArray[np.int64]) -> float:
    """Give the seats that are left to the next best bids, in `won`; what the last was worth, or
    the next would be if none is left."""
    if not left:
        return float((votes / (2 * won + 1)).max())
    for _ in range(_ROUNDS):
        bids = votes / (2 * won + 1)
        best = np.lexsort((won, -bids))[:left]
        given = bids[best]
        won[best] += 1
        again = votes[best] / (2 * won[best] + 1)
        # Whoever is behind another's second bid has to wait for it.
        sure = int(np.count_nonzero(given > again[again.argmax()]))
        won[best[sure:]] -= 1
        last, left = float(given[sure - 1]), left - sure
        if not left:
            return last
    won[:], last = _compete(left, votes.tolist(), won.tolist())
    return last


def _compete(left: int, votes: list[float], won: list[int]) -> tuple[list[int], float]:
    """Give one seat after the other to the best bid; what the last was worth."""
    bids = [(-each / (2 * k + 1), k, i) for i, (each, k) in enumerate(zip(votes, won, strict=True))]
    heapify(bids)
    bid = 0.0
    for _ in range(left):
        bid, k, i = bids[0]
        won[i] = k + 1
        heapreplace(bids, (-votes[i] / (2 * k + 3), k + 1, i))
    return won, -bid
