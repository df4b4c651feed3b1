"""Webster's method (Sainte-Laguë): whole seats in proportion to votes.

Seats and votes come in, the seats of each party come out. In scheduling, seats are replicas and
votes are weights or free capacity, in the order of the clusters' names. A party that holds k seats
bids votes/(2k+1) for its next one; the best bid wins, with ties as Karmada breaks them. Why these
votes, and what becomes of the seats, is not known here.
"""

from functools import lru_cache
from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

_FEW = 48
"""Up to so many parties, a heap of Python tuples is faster than calls into NumPy."""

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
    result = np.zeros(len(votes), np.int64)
    result[strong] = _divide(seats, votes[strong], descending=descending)
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
    """Seats that are sure to be won are given at once; about one per party is left to compete for.

    A party of v votes makes v/2t bids of at least t, rounded: a half more or less at most. So for
    all n parties together no more than `seats` bids are above total/(2*seats - n), and no fewer
    than `seats` are above total/(2*seats + n): bids above the first surely win, those below the
    second surely lose.
    """
    if descending:
        return _divide(seats, votes[::-1], descending=False)[::-1]
    parties, few = len(votes), [*map(float, votes.tolist())] if len(votes) <= _FEW else None
    total = float(votes.sum(dtype=np.float64)) if few is None else sum(few)
    if seats <= 0 or total == 0:
        return np.zeros(parties, np.int64)
    sure = max(0.0, (2 * seats - parties) / total * (1 - _MARGIN))
    if few is not None:
        return np.array(_compete(seats, few, sure), np.int64)
    possible = (2 * seats + parties) / total * (1 + _MARGIN)
    many = votes.astype(np.float64)
    won = _bids(many, sure)
    return won + _best(seats - int(won.sum()), many, won, _bids(many, possible))


def _bids(votes: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    """How many bids of each party are at least 1/scale."""
    return (votes * (scale / 2) + 0.5).astype(np.int64)


def _compete(seats: int, votes: list[float], sure: float) -> list[int]:
    """Give what is surely won, then one seat after the other."""
    half = sure / 2
    won = [int(each * half + 0.5) for each in votes]
    bids = [(-each / (2 * k + 1), k, i) for i, (each, k) in enumerate(zip(votes, won, strict=True))]
    heapify(bids)
    for _ in range(seats - sum(won)):
        _, k, i = bids[0]
        won[i] = k + 1
        heapreplace(bids, (-votes[i] / (2 * k + 3), k + 1, i))
    return won


def _best(
    seats: int, votes: NDArray[np.float64], won: NDArray[np.int64], possible: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many of the best `seats` bids each party makes, out of those after `won`, up to
    `possible`."""
    if seats == 0:
        return np.zeros(len(votes), np.int64)
    count = possible - won
    party = np.arange(len(votes)).repeat(count)
    k = np.arange(len(party)) + (won - (count.cumsum() - count)).repeat(count)
    bids = votes[party] / (2 * k + 1)
    last = len(bids) - seats
    bar = np.partition(bids, last)[last]
    winners = party[bids > bar]
    equals = (bids == bar).nonzero()[0]
    fewest_first = equals[k[equals].argsort(kind="stable")]
    winners = np.concatenate((winners, party[fewest_first[: seats - len(winners)]]))
    return np.bincount(winners, minlength=len(votes))
