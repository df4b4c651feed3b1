"""Whole seats in proportion to votes, within bounds: Webster's method where parties have a least
and a most.

Seats, votes and bounds come in, the seats of each party come out, as if they were given one by one
(see `webster`); the work grows with the parties, not with the seats. `usable` says who can take
part where a party gets its least or nothing. What parties and seats stand for is not known here.
"""

import numpy as np
from numpy.typing import NDArray

from atoll.scheduling.columns import Mask, Numbers

_MARGIN = 1e-12
"""Far more than floats lose in a division, far less than two bids of a party differ."""

_HALVINGS = 128

_Reach = list[tuple[int, int]]
"""Numbers of seats that can be given: ranges, ascending, with gaps between them."""


def share(
    seats: int, votes: Numbers, least: Numbers, most: Numbers, *, descending: bool = False
) -> Numbers:
    """Everyone starts with their least; each further seat goes to the best bid of those below
    their most. A party that holds k seats bids votes/(2k+1), as a float64; among equals whoever
    holds fewer seats wins, then the first in order, or the last if `descending`.

    So those without votes come last, and evenly. The leasts must not be more than `seats`; if the
    mosts are fewer, seats are left over.
    """
    if descending:
        return share(seats, votes[::-1], least[::-1], most[::-1])[::-1]
    voted = votes > 0
    full = np.where(voted, most, least)
    rest = seats - int(full.sum())
    if rest < 0:
        return _contested(seats, votes.astype(np.float64), least, full)
    if rest and not voted.all():
        others = ~voted
        ones, left = np.ones(np.count_nonzero(others), np.int64), rest + int(full[others].sum())
        full[others] = share(left, ones, least[others], most[others])
    return full


def _contested(seats: int, votes: NDArray[np.float64], least: Numbers, most: Numbers) -> Numbers:
    """Fewer seats than could be taken. What is above or below all doubt is settled at once.

    Of bids of at least 1/scale a party of v votes makes (v*scale+1)/2, rounded down; the scale at
    which all make just enough is found by halving.
    """

    def held(scale: float) -> Numbers:
        return np.clip((votes * scale + 1) / 2, least, most).astype(np.int64)

    low, high = 0.0, (2 * seats + 1) / float(votes.max())
    while int(held(high).sum()) < seats:
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        given = int(held(middle).sum())
        if given <= seats:
            low = middle
        if given >= seats:
            high = middle
        if high - low <= _MARGIN * high:
            break
    sure, possible = held(low * (1 - _MARGIN)), held(high * (1 + _MARGIN))
    return sure + _best(seats - int(sure.sum()), votes, sure, possible)


def _best(
    seats: int,
    votes: NDArray[np.float64],
    sure: Numbers,
    possible: Numbers,
) -> Numbers:
    """How many of the best `seats` bids each party makes, of those between sure and possible."""
    count = possible - sure
    party = np.repeat(np.arange(len(votes)), count)
    k = np.arange(len(party)) + np.repeat(sure - (np.cumsum(count) - count), count)
    winners = party[np.lexsort((party, k, -votes[party] / (2 * k + 1)))[:seats]]
    return np.bincount(winners, minlength=len(votes))


def usable(seats: int, least: Numbers, most: Numbers) -> tuple[int, Mask]:
    """The most seats that can be given, up to `seats`, if each party gets nothing or something
    from its least to its most; and who takes part: everyone if possible, else the first in order
    that leave a way to give so many.

    Exact. The work grows with the number of gaps between sums that can be reached: a handful,
    unless many parties have bounds so tight that sums of them leave many gaps.
    """
    able = most >= np.maximum(least, 1)
    if int(least[able].sum()) <= seats:
        return min(seats, int(most[able].sum())), able
    parties = np.flatnonzero(able).tolist()
    bounds = [(int(least[each]), int(most[each])) for each in parties]
    reaches = _reaches(seats, bounds)
    reached = reaches[0][-1][1]
    taking = np.zeros(len(least), np.bool_)
    low = high = 0
    for party, (lower, upper), after in zip(parties, bounds, reaches[1:], strict=True):
        fits = (a + low + lower <= reached <= b + high + upper for a, b in after)
        if any(fits):
            taking[party] = True
            low, high = low + lower, high + upper
    return reached, taking


def _reaches(seats: int, bounds: list[tuple[int, int]]) -> list[_Reach]:
    """For every place in order, what those from there on can be given in all."""
    reaches: list[_Reach] = [[(0, 0)]]
    for lower, upper in reversed(bounds):
        after = reaches[-1]
        # Whoever gets nothing or at least one gets any number up to the most.
        ranges = [(a if lower <= 1 else a + lower, min(b + upper, seats)) for a, b in after]
        reaches.append(_merged(sorted(after + [each for each in ranges if each[0] <= seats])))
    return reaches[::-1]


def _merged(ranges: _Reach) -> _Reach:
    merged: _Reach = []
    for start, end in ranges:
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
