"""The few numbers that measurements come down to. Pure: lists of numbers in, one number out."""

from collections.abc import Sequence
from math import ceil
from statistics import median


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of all values does not exceed (nearest rank)."""
    assert values, "there is no percentile of nothing"
    assert 0 < share <= 1, "a share of the whole"
    # 0.99 * 100 is a little more than 99 in floating point, and would count one too many.
    rank = ceil(round(share * len(values), 9))
    return sorted(values)[rank - 1]


def rate(count: float, seconds: float) -> float:
    """How many per second; 0 where nothing was long enough to be seen by the clock."""
    return count / seconds if seconds > 0 else 0.0


def ratio(ours: float, theirs: float) -> float | None:
    """How many times theirs is ours; None if that cannot be said."""
    return ours / theirs if theirs > 0 else None


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The median of the ratios of each round, so that what slows down a whole round cancels out."""
    ratios = [ratio(one, other) for one, other in zip(ours, theirs, strict=True)]
    known = [one for one in ratios if one is not None]
    return median(known) if known else None
